import Foundation
import GRDB
import GRDBSQLite
import MigrationKit
import MigrationKitCommon

/// During a run, waits for SQLite's own locks as long as for the lock between processes.
///
/// Another process has exclusive access while it commits, or for a whole step that changes more
/// than fits its cache. By default, a connection would give up at once, and would not stop waiting
/// if the run is cancelled.
final class BusyWaiting {
    private let operation: LongOperation<MigrationEvent>
    private let limit: Duration
    private var start = ContinuousClock.now
    /// The lock of a migration whose progress is waited for.
    private let lock: FileLock?
    private var sign: FileLock.SignOfProgress?

    /// Runs a block during which the writer's connection waits. If the host's configuration has a
    /// busy handler of its own, that one is used.
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

        let operation = options.operation
        let limit = Duration(timeout: max(ownTimeout, options.lockTimeout))
        let path = options.waitsForProgress ? writer.writeWithoutTransaction(\.filePath) : nil
        let lock = path.map { FileLock(beside: $0, suffix: FileLock.migrationSuffix) }
        let waiting = BusyWaiting(operation, limit: limit, lock)
        writer.writeWithoutTransaction { waiting.start(on: $0) }
        defer {
            // > Setting a new busy handler clears any previously set handler.
            // <https://www.sqlite.org/c3ref/busy_handler.html>
            writer.writeWithoutTransaction { db in
                // As GRDB has set it when it opened the connection.
                _ = sqlite3_busy_timeout(db.sqliteConnection, Int32(ownTimeout * 1000))
            }
            withExtendedLifetime(waiting) {}
        }
        do {
            return try body()
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
            try operation.checkCancellation()
            throw error
        }
    }

    private init(
        _ operation: LongOperation<MigrationEvent>,
        limit: Duration,
        _ lock: FileLock?
    ) {
        self.operation = operation
        self.limit = limit
        self.lock = lock
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

    /// Waits a moment.
    ///
    /// - Parameter attempt: How often SQLite has already asked for the same lock.
    /// - Returns: Whether SQLite should try again.
    private func waits(_ attempt: Int32) -> Bool {
        if attempt == 0 {
            start = .now
            sign = lock?.lastSign
        }
        guard !operation.isCancelled else { return false }
        if .now - start >= limit {
            guard limit > .zero, lock?.hasSign(since: &sign) == true else { return false }
            start = .now
        }
        // A commit takes some milliseconds. Longer waits are reported.
        if attempt == 10 { operation.report(.waiting(holder: nil)) }
        usleep(attempt < 5 ? 1000 << useconds_t(attempt) : 25_000)
        return true
    }
}
