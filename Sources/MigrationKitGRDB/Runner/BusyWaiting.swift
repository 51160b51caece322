import Foundation
import GRDB
import GRDBSQLite

/// Waits for SQLite's own locks, while a run lasts, as long as for the lock between processes.
///
/// Another process has the database for itself while it commits, or as long as a step takes that
/// changes more than fits its cache. A connection whose configuration says nothing of it would give
/// up at once, and none gives up waiting because the run was cancelled.
final class BusyWaiting {
    private let options: MigrationOptions
    private let limit: Duration
    private var start = ContinuousClock.now

    /// Runs a block while the writer's connection waits. Where the configuration has a busy handler
    /// of the host's own, it is left to that.
    static func during<Value>(
        _ options: MigrationOptions,
        on writer: any DatabaseWriter,
        _ body: () throws -> Value
    ) throws -> Value {
        let ownTimeout: TimeInterval
        switch writer.configuration.busyMode {
        case .callback: return try body()
        case .timeout(let seconds): ownTimeout = seconds
        case .immediateError: ownTimeout = 0
        }

        let waiting = BusyWaiting(options: options, ownTimeout: ownTimeout)
        writer.writeWithoutTransaction { waiting.start(on: $0) }
        defer {
            // > Setting a new busy handler clears any previously set handler.
            // <https://www.sqlite.org/c3ref/busy_handler.html>
            writer.writeWithoutTransaction { db in
                let milliseconds = Int32(ownTimeout > 0 ? min(ownTimeout, 2_000_000) * 1000 : 0)
                _ = sqlite3_busy_timeout(db.sqliteConnection, milliseconds)
            }
            withExtendedLifetime(waiting) {}
        }
        do {
            return try body()
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
            try options.cancellation?.check()
            throw error
        }
    }

    private init(options: MigrationOptions, ownTimeout: TimeInterval) {
        self.options = options
        // Of a timeout without an end, a century is enough.
        let seconds = max(ownTimeout, options.lockTimeout)
        limit = .seconds(seconds > 0 ? min(seconds, 3e9) : 0)
    }

    private func start(on db: Database) {
        sqlite3_busy_handler(
            db.sqliteConnection,
            { context, attempt in
                guard let context else { return 0 }
                let waiting = Unmanaged<BusyWaiting>.fromOpaque(context).takeUnretainedValue()
                return waiting.waits(attempt) ? 1 : 0
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }

    /// Waits a little.
    ///
    /// - Parameter attempt: How often SQLite has asked before, for the same lock.
    /// - Returns: Whether SQLite is to try again.
    private func waits(_ attempt: Int32) -> Bool {
        if attempt == 0 { start = .now }
        guard options.cancellation?.isCancelled != true, .now - start < limit else { return false }
        // A commit takes some milliseconds. Longer waits are reported.
        if attempt == 10 { options.observer?(.waiting(holder: nil)) }
        usleep(attempt < 5 ? 1000 << useconds_t(attempt) : 25_000)
        return true
    }
}
