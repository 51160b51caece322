import GRDB
import MigrationKit
import MigrationKitCommon

/// Allows only one process at a time to migrate a database.
///
/// The lock is a file beside the database, `NAME-migration.lock`, which the kernel unlocks when its
/// holder ends. Programs that migrate with GRDB alone don't use it. What they do meanwhile is
/// detected under SQLite's own lock.
enum MigrationLock {
    /// Runs a block under the lock.
    ///
    /// - Parameter operation: Whose progress those see who wait for the lock; `nil` to show none.
    static func hold<Value>(
        for writer: any DatabaseWriter,
        options: MigrationOptions,
        operation: LongOperation<MigrationEvent>? = nil,
        _ body: () throws -> Value
    ) throws -> Value {
        guard !writer.configuration.readonly else { throw MigrationKitError.readOnlyDatabase }
        guard !options.isUnderLock else { return try body() }
        // The path as SQLite has resolved it, so that all programs use the same one; empty for a
        // database in memory. <https://www.sqlite.org/pragma.html#pragma_database_list>
        let path = try writer.writeWithoutTransaction { db in
            try String.fetchOne(
                db,
                sql: "SELECT file FROM pragma_database_list WHERE name = 'main'"
            )
        }
        guard let path, !path.isEmpty else { return try body() }

        let lock = FileLock(beside: path, suffix: FileLock.migrationSuffix)
        do {
            return try (operation ?? options.operation).holding(
                lock,
                waitsForProgress: options.waitsForProgress,
                reporting: { .waiting(holder: $0) },
                body
            )
        } catch FileLock.Failure.held(let holder) {
            let seconds = options.lockTimeout
            throw options.waitsForProgress && seconds > 0
                ? MigrationKitError.stalled(path: path, holder: holder, seconds: seconds)
                : MigrationKitError.locked(path: path, holder: holder, seconds: seconds)
        } catch FileLock.Failure.refused(let code) {
            throw MigrationKitError.cannotLock(path: lock.path, code: code)
        }
    }
}
