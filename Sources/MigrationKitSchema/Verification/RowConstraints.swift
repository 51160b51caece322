import GRDB
import MigrationKitGRDB

/// The rows that break their table's constraints: NOT NULL, CHECK, or the types of a STRICT table.
/// They may be older than the constraint, come from a program that turned it off, or from a bad
/// disk.
struct RowConstraints {
    /// The tables that have such rows.
    private(set) var suspects: [Suspect] = []

    /// Whether SQLite could read all tables.
    var isComplete = true

    /// Adds a table, once.
    mutating func suspect(_ suspect: Suspect) {
        guard !suspects.contains(where: { $0.table == suspect.table }) else { return }
        suspects.append(suspect)
    }

    /// A table that has such rows according to `integrity_check`, which doesn't say which.
    struct Suspect {
        let table: String
        let message: String

        /// - Parameters:
        ///   - message: A line of `integrity_check`, such as `CHECK constraint failed in note` or
        ///     `NULL value in note.title`.
        ///   - tables: The names of all tables.
        init?(_ message: String, tables: Set<String>) {
            guard
                let place = message.firstMatch(
                    of: /^(?:CHECK constraint failed|\S+ value) in (.+)$/
                )?.1
            else { return nil }
            // Names may contain a dot.
            let candidates =
                [String(place)]
                + place.indices.filter { place[$0] == "." }.map { String(place[..<$0]) }
            guard let table = candidates.first(where: tables.contains) else { return nil }
            self.table = table
            self.message = message
        }
    }

    /// A condition for wrong rows, and the text about them.
    private struct Rule {
        let condition: String
        let fault: String
    }

    /// Finds the rows.
    func check(in db: Database) throws -> VerificationOutcome {
        var outcome = VerificationOutcome(
            note: isComplete ? nil : "only as far as integrity_check could read"
        )
        for suspect in suspects {
            let before = outcome.count
            let rows = try RowAddress(suspect.table, db)
            for rule in try Self.rules(of: suspect.table, db) {
                let addresses = try Int64.fetchCursor(db, sql: rows.query(where: rule.condition))
                while let address = try addresses.next() {
                    outcome.add(rows.finding(address, rule.fault))
                }
            }
            // For example, text in a numeric column of a table that isn't STRICT.
            if outcome.count == before {
                outcome.add(VerificationFinding(suspect.message, table: suspect.table))
            }
        }
        if outcome.count > 0 {
            let count = outcome.count
            outcome.detail =
                "\(count) \(count == 1 ? "row breaks a constraint" : "rows break constraints")"
        }
        return outcome
    }

    private static func rules(of table: String, _ db: Database) throws -> [Rule] {
        let isStrict = try Bool.fetchOne(
            db,
            sql: "SELECT strict FROM pragma_table_list WHERE schema = 'main' AND name = ?",
            arguments: [table]
        )
        let columns = try Row.fetchAll(
            db,
            sql: "SELECT name, type, \"notnull\" FROM pragma_table_xinfo(?, 'main')",
            arguments: [table]
        )
        var rules: [Rule] = []
        for column in columns {
            let name: String = column[0]
            let declared: String = column[1]
            let isRequired: Bool = column[2]
            // Not `IS NULL`: SQLite takes that for false if the column is NOT NULL.
            let type = "typeof(\(GRDBMigrationSQLHelpers.quoted(name)))"
            if isRequired {
                rules.append(
                    Rule(condition: "\(type) = 'null'", fault: "has no value in '\(name)'")
                )
            }
            if isStrict ?? false, let stored = storageClass(ofStrict: declared) {
                rules.append(
                    Rule(
                        condition: "\(type) NOT IN ('null', '\(stored)')",
                        fault: "has a value in '\(name)' that is not \(declared)"
                    )
                )
            }
        }
        let sql = try String.fetchOne(
            db,
            sql: "SELECT sql FROM main.sqlite_master WHERE type = 'table' AND name = ?",
            arguments: [table]
        )
        for expression in (try? TableText(sql ?? ""))?.checks ?? [] {
            let shown = expression.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            rules.append(
                // The line feed ends a comment.
                Rule(condition: "NOT (\(expression)\n)", fault: "violates CHECK (\(shown))")
            )
        }
        return rules
    }

    /// <https://www.sqlite.org/stricttables.html>
    private static func storageClass(ofStrict type: String) -> String? {
        switch type.uppercased() {
        case "INT", "INTEGER": "integer"
        case "REAL": "real"
        case "TEXT": "text"
        case "BLOB": "blob"
        default: nil
        }
    }
}

// MARK: - Row Address

/// Identifies the rows of a table without their values: by `rowid` or, if there is none, by their
/// position in the order of the primary key.
struct RowAddress {
    let table: String
    private let rowID: String?

    /// - Parameter table: The name of a table of the main database.
    init(_ table: String, _ db: Database) throws {
        self.table = table
        let columns = try String.fetchAll(
            db,
            sql: "SELECT name FROM pragma_table_xinfo(?, 'main')",
            arguments: [table]
        )
        let isWithout = try Bool.fetchOne(
            db,
            sql: "SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = ?",
            arguments: [table]
        )
        rowID = isWithout ?? false ? nil : rowidName(besides: columns)
    }

    /// A query for the addresses of the rows that meet a condition.
    func query(where condition: String) -> String {
        let name = "main." + GRDBMigrationSQLHelpers.quoted(table)
        guard let rowID else {
            return """
                SELECT place FROM (SELECT row_number() OVER () AS place, (\(condition)) AS holds
                FROM \(name) NOT INDEXED) WHERE holds
                """
        }
        return "SELECT \(rowID) FROM \(name) NOT INDEXED WHERE \(condition)"
    }

    /// The address of the row at a position, from 1, in the order of the table's b-tree.
    func address(atPlace place: Int64, _ db: Database) throws -> Int64? {
        guard rowID != nil else { return place }
        return try Int64.fetchOne(
            db,
            sql: "\(query(where: "1")) LIMIT 1 OFFSET ?",
            arguments: [place - 1]
        )
    }

    /// - Parameters:
    ///   - address: The query's result.
    ///   - fault: What is wrong with the row. It follows the row's name.
    func finding(_ address: Int64, _ fault: String) -> VerificationFinding {
        VerificationFinding(
            rowID == nil
                ? "row \(address) of '\(table)', in primary key order, \(fault)"
                : "row \(address) of '\(table)' \(fault)",
            table: table,
            rowID: rowID == nil ? nil : address
        )
    }
}
