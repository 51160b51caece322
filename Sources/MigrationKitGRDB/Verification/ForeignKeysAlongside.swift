import Dispatch
import Foundation
import GRDB
import GRDBSQLite

/// `foreign_key_check` on a connection of its own, while the caller's connection is at
/// `quick_check`: each takes a processor for itself, most of all to decrypt pages.
///
/// It only ever saves time. Whatever keeps it from a result, such as a lock, a damaged page, or a
/// function that only the caller's connection has, is left to the check on the caller's connection,
/// which then finds it out itself.
final class ForeignKeysAlongside: @unchecked Sendable {
    // `@unchecked`: `isStopped` is used under the lock; `outcome` is written before `end` is left,
    // and read after that was waited for.
    private let lock = NSLock()
    private let end = DispatchGroup()
    private var isStopped = false
    private var outcome: VerificationOutcome?

    private let writer: any DatabaseWriter
    private let cancellation: MigrationCancellation?
    private let cacheLimit: Int

    /// Where two connections cost more time than they save.
    private static let smallByteCount = 4 << 20
    private static let largestCache = 64 << 20

    /// Begins; not for a database that is small, or that no second connection can be opened to.
    init?(in writer: any DatabaseWriter, _ options: VerificationOptions) {
        switch writer {
        case is DatabasePool: break
        // In a URI there may be more than a name.
        case let queue as DatabaseQueue where !queue.path.hasPrefix("file:"): break
        default: return nil
        }
        let file = try? writer.unsafeRead { db in
            // Others don't see what isn't committed.
            db.isInsideTransaction ? nil : try db.filePath.map { ($0, try db.byteCount()) }
        }
        guard let (path, byteCount) = file ?? nil, byteCount >= Self.smallByteCount else {
            return nil
        }
        self.writer = writer
        cancellation = options.cancellation
        // It reads each table once, and beside it of the parents what is referred to.
        cacheLimit = min(options.pageCacheLimit / 4, Self.largestCache)
        // A thread of its own: those of the global queues may all be waiting, such as for this.
        DispatchQueue(label: "MigrationKit.foreignKeys").async(group: end) { [self] in
            outcome = try? reading(path) { db in
                try db.withPageCache(of: cacheLimit) {
                    try db.withProgressHandler(every: 20_000, { self.continues }) {
                        try GRDBMigrationVerifier.foreignKeys(in: db)
                    }
                }
            }
        }
    }

    /// Waits for the outcome.
    ///
    /// - Parameter sign: Is called while it goes on, again and again.
    /// - Returns: `nil` if there is none.
    func result(_ sign: () -> Void) throws -> VerificationOutcome? {
        while end.wait(timeout: .now() + .milliseconds(100)) == .timedOut { sign() }
        try cancellation?.check()
        // By that name there may have been another file by then.
        guard try writer.unsafeRead({ $0.hasFile }) else { return nil }
        return outcome
    }

    /// Ends it, and returns once its connection is free.
    func stop() {
        lock.withLock { isStopped = true }
        end.wait()
    }

    /// A pool has further connections. For a queue another one is opened as it was, so that whatever
    /// knows the key gives it: the configuration.
    private func reading<Value>(_ path: String, _ body: (Database) throws -> Value) throws -> Value
    {
        guard writer is DatabaseQueue else { return try writer.read(body) }
        var configuration = writer.configuration
        configuration.readonly = true
        configuration.busyMode = .immediateError
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        let value = try queue.read(body)
        try queue.close()
        return value
    }

    private var continues: Bool {
        lock.withLock { !isStopped } && cancellation?.isCancelled != true
    }
}

extension Database {
    /// The absolute path of the file; `nil` for a database that is in memory.
    fileprivate var filePath: String? {
        let name = sqlite3_db_filename(sqliteConnection, "main").map { String(cString: $0) }
        return name?.hasPrefix("/") == true ? name : nil
    }

    /// Whether the file still has the name by which it was opened.
    /// <https://www.sqlite.org/c3ref/c_fcntl_begin_atomic_write.html>
    fileprivate var hasFile: Bool {
        var hasMoved: Int32 = 0
        let code = sqlite3_file_control(
            sqliteConnection,
            "main",
            SQLITE_FCNTL_HAS_MOVED,
            &hasMoved
        )
        return code == SQLITE_OK && hasMoved == 0
    }
}
