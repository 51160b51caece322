import MigrationKitCommon
import Foundation
import GRDB
import MigrationKit

/// Allows only one process at a time to migrate a database.
///
/// The lock is a file beside the database, `NAME-migration.lock`, which the kernel unlocks when its
/// holder ends. Programs that migrate with GRDB alone don't use it. What they do meanwhile is
/// detected under SQLite's own lock.
enum MigrationLock {
    static func hold<Value>(
        for writer: any DatabaseWriter,
        options: MigrationOptions,
        _ body: () throws -> Value
    ) throws -> Value {
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
            return try options.operation.holding(
                lock,
                reporting: { .waiting(holder: $0) },
                body
            )
        } catch FileLock.Failure.held(let holder) {
            throw MigrationKitError.locked(
                path: path,
                holder: holder,
                seconds: options.lockTimeout
            )
        } catch FileLock.Failure.refused(let code) {
            throw MigrationKitError.cannotLock(
                path: lock.path,
                reason: FileLock.Failure.reason(for: code)
            )
        }
    }
}
