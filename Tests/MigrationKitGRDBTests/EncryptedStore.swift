import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitSQLCipher
import TestSupport
import Testing

/// An encrypted database file of a test's own, with a random raw key.
final class EncryptedStore: Sendable {
    let folder: TemporaryFolder
    let key: DatabaseKey

    /// The file, which is made when it is first opened.
    let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.path("store.db")
        let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max) }
        key = try .rawKey(bytes: bytes.withUnsafeBytes { Secret(copying: $0) })
    }

    func open(busyTimeout: TimeInterval = 20) throws -> DatabaseQueue {
        try EncryptedDatabase.open(
            path,
            key: key,
            options: .init(createsFile: true, busyTimeout: busyTimeout)
        )
    }

    func openPool() throws -> DatabasePool {
        try EncryptedDatabase.openPool(path, key: key, options: .init(createsFile: true))
    }

    /// For those tests that need what only a `Configuration` can say.
    func open(_ configure: (inout Configuration) -> Void) throws -> DatabaseQueue {
        var configuration = EncryptedDatabase.configuration(key: key)
        configure(&configuration)
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    /// Another process that holds the lock under which the store is migrated, and has signed it,
    /// until its input ends.
    func holdMigrationLock() throws -> ChildProcess {
        let lock = path + "-migration.lock"
        let script = #"echo $$ > "$0"; echo locked; read line; exit 0"#
        let holder = try ChildProcess("flock", ["--no-fork", lock, "/bin/sh", "-c", script, lock])
        try #require(holder.readLine() == "locked")
        return holder
    }

    /// Whether the file exists and doesn't begin as a plaintext database does.
    var isEncrypted: Bool {
        get throws { try !folder.data("store.db").starts(with: "SQLite format 3".utf8) }
    }
}

/// The two kinds of database that GRDB opens.
enum WriterKind: CaseIterable {
    case queue, pool

    func open(_ store: EncryptedStore) throws -> any DatabaseWriter {
        switch self {
        case .queue: try store.open()
        case .pool: try store.openPool()
        }
    }
}

/// Schema, rows and ledger: what a run that fails must leave as it was.
struct Everything: Equatable {
    var schema: [String]
    var rows: [String: [[DatabaseValue]]]

    /// The ledger's identifiers.
    var ledger: [String] {
        (rows["grdb_migrations"] ?? []).flatMap { $0 }.compactMap(String.fromDatabaseValue).sorted()
    }

    init(of reader: any DatabaseReader) throws {
        (schema, rows) = try reader.read { db in
            let tables = try String.fetchAll(
                db,
                sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0"
            )
            return (
                try String.fetchAll(
                    db,
                    sql: "SELECT type || name || ifnull(sql, '') FROM sqlite_master ORDER BY 1"
                ),
                try tables.reduce(into: [:]) { rows, table in
                    // Two runs that do the same don't do it at the same time.
                    let columns =
                        table == "grdb_migrationkit_journal"
                        ? "id, identifier, event, checksum" : "*"
                    rows[table] = try Row.fetchAll(
                        db,
                        sql: "SELECT \(columns) FROM \(table.quoted)"
                    )
                    .map { Array($0.databaseValues) }
                }
            )
        }
    }
}

extension DatabaseReader {
    /// The first column of what a query answers, as text.
    func strings(_ sql: String) throws -> [String] {
        try read { try String.fetchAll($0, sql: sql) }
    }

    /// The one number that a query answers.
    func number(_ sql: String) throws -> Int? {
        try read { try Int.fetchOne($0, sql: sql) }
    }

    /// The names of the tables of the app.
    func tables() throws -> [String] {
        try strings(
            """
            SELECT name FROM sqlite_master
            WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'grdb%'
            ORDER BY name
            """
        )
    }
}
