import Foundation
import GRDB
import MigrationKitSQLCipher
import TestSupport
import Testing

/// Rows that break a rule of their columns: a backup finds them by their pages, and asks SQLite only
/// where there may be some. `quick_check` reads every row.
@Suite struct ColumnRuleTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private static let types = [
        "", "INT", "INTEGER", "BIGINT", "TEXT", "VARCHAR(20)", "CLOB", "BLOB", "REAL", "DOUBLE",
        "NUMERIC", "DATETIME", "BOOLEAN", "ANY",
        // To SQLite the first is TEXT, and the second isn't INT.
        "TEXT\u{301}", "\u{131}NT",
    ]
    private static let strictTypes = ["INT", "INTEGER", "TEXT", "BLOB", "REAL", "ANY"]
    private static let values = [
        "NULL", "0", "1", "-7", "5000000000", "0.5", "2.0", "9e999", "'a'", "'12'", "' 3.5 '",
        "'2026-11-23'", "''", "x'00'", "x''", "zeroblob(5000)", "hex(zeroblob(4000))",
    ]

    /// A table whose rows are written before it has rules.
    private struct Table {
        let plain: String
        let ruled: String
        /// How many columns have values of their own.
        let width: Int
        let isLateAdded: Bool

        init(_ name: String, _ generator: inout SeededGenerator) {
            func happens(oneIn count: UInt64) -> Bool { generator.next() % count == 0 }
            let isStrict = happens(oneIn: 4)
            let types = isStrict ? strictTypes : types
            var computed = ""
            if happens(oneIn: 3) { computed = happens(oneIn: 2) ? " AS (c0) STORED" : " AS (c0)" }
            let key =
                [
                    "", ", id INTEGER PRIMARY KEY", ", id INTEGER NOT NULL PRIMARY KEY",
                    ", PRIMARY KEY (c0)",
                ].randomElement(using: &generator) ?? ""
            let names = ["c0", "c1", "c2", "c3" + computed]
            let ruled = ["c0", "c1", "c2", "c3"].map { name in
                var type = types.randomElement(using: &generator) ?? "INT"
                // It would be the rowid, and its index not be needed.
                if name == "c0", type == "INTEGER", key.contains("(c0)") { type = "INT" }
                return "\(name) \(type)" + (name == "c3" ? computed : "")
                    + (happens(oneIn: 3) ? " NOT NULL" : "")
            }
            isLateAdded = !key.contains("(c0)") && happens(oneIn: 2)
            let late = isLateAdded ? ", late TEXT NOT NULL DEFAULT 'x'" : ""
            plain = "CREATE TABLE \(name) (\(names.joined(separator: ", "))\(key))"
            self.ruled =
                "CREATE TABLE \(name) (\(ruled.joined(separator: ", "))\(key)\(late))"
                + (isStrict ? " STRICT" : "")
            width = computed.isEmpty ? 4 : 3
        }
    }

    @Test(arguments: 0..<20)
    func backupFindsWhatSQLiteFinds(round: Int) throws {
        let seed = SeededGenerator.seed
        var generator = SeededGenerator(seed: seed)
        let queue = try DatabaseQueue(path: folder.path("notes.db"))
        try queue.writeWithoutTransaction { db in
            for number in 0..<6 {
                try Self.fill(Table("t\(number)", &generator), "t\(number)", db, &generator)
            }
        }
        try queue.close()
        let source = try DatabaseQueue(path: folder.path("notes.db"))
        let known = try source.read { db in
            try String.fetchAll(db, sql: "PRAGMA quick_check(1000)").filter { $0 != "ok" }
        }
        try source.close()
        let report = try DatabaseBackup(
            folder.path("notes.db"),
            to: folder.path("copy.db"),
            form: .plaintext()
        ).run()
        #expect(report.findings.count == min(known.count, 20), "seed \(seed)")
        #expect(Set(report.findings).isSubset(of: known), "seed \(seed)")
    }

    /// A column has few different values, so that some tables keep their rules.
    private static func fill(
        _ table: Table,
        _ name: String,
        _ db: Database,
        _ generator: inout SeededGenerator
    ) throws {
        try db.execute(sql: table.plain)
        let choices = (0..<table.width).map { _ in
            (0..<2).compactMap { _ in values.randomElement(using: &generator) }
        }
        let columns = (0..<table.width).map { "c\($0)" }.joined(separator: ", ")
        for row in 0..<8 {
            let values = choices.compactMap { $0.randomElement(using: &generator) }
            try db.execute(
                sql: """
                    INSERT OR IGNORE INTO \(name) (\(columns))
                    VALUES (\(values.joined(separator: ", ")))
                    """
            )
            if row == 3, table.isLateAdded {
                try db.execute(sql: "ALTER TABLE \(name) ADD COLUMN late DEFAULT 'x'")
            }
        }
        try db.execute(sql: "PRAGMA writable_schema = 1")
        try db.execute(
            sql: "UPDATE sqlite_schema SET sql = ? WHERE type = 'table' AND name = ?",
            arguments: [table.ruled, name]
        )
        try db.execute(sql: "PRAGMA writable_schema = RESET")
    }
}
