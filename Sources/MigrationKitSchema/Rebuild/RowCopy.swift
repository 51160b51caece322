import GRDB
import MigrationKitGRDB

/// Copies the rows of a table into its new definition, and compares both.
struct RowCopy: Sendable {
    /// The statement that fills the new table.
    let statement: String

    private let table: String
    private let newTable: String
    /// The columns whose values must be the same afterwards.
    private let pairs: [Pair]
    /// Where the row of an old row is found; `nil` if no key is kept.
    private let keys: [(new: String, old: String)]?

    private struct Pair {
        let name: String
        let old: String
        let new: String
        let isConverted: Bool
    }

    init(
        from old: (name: String, shape: SchemaModel.Table),
        to new: (name: String, shape: SchemaModel.Table),
        expressions: [String: String],
        renames: ColumnRenames
    ) throws {
        table = old.name
        newTable = new.name
        for name in expressions.keys.sorted() {
            guard let column = new.shape.column(name), !column.isGenerated else {
                throw TableRebuildError.unknownColumn(table: old.name, column: name)
            }
        }
        func expression(for column: SchemaModel.Column) -> String? {
            guard !renames.renames(to: column.name) else { return nil }
            return expressions.first { $0.key.isSameName(as: column.name) }?.value
        }

        var values: [(column: String, value: String)] = []
        /// The old columns that are copied as they are, by new ones in lower case.
        var sources: [String: String] = [:]
        for column in new.shape.columns where !column.isGenerated {
            if let expression = expression(for: column) {
                values.append((column.name.quotedName, expression))
            } else if let source = old.shape.column(renames.oldName(of: column.name)) {
                values.append((column.name.quotedName, source.name.quotedName))
                sources[column.name.foldedName] = source.name.quotedName
            } else if column.isNotNull, column.defaultValue == nil,
                column.name != new.shape.rowIDAlias
            {
                throw TableRebuildError.missingValue(table: old.name, column: column.name)
            }
        }
        let givesRowID = new.shape.rowIDAlias.map { alias in
            values.contains { $0.column == alias.quotedName }
        }
        var rowIDs: (new: String, old: String)?
        if let rowID = new.shape.rowID, let oldRowID = old.shape.rowID {
            rowIDs = (rowID, oldRowID)
            if givesRowID != true { values.insert((rowID, oldRowID), at: 0) }
        }
        guard !values.isEmpty else {
            throw TableRebuildError.unusableDefinition(
                table: old.name,
                reason: "it has no column of the present one"
            )
        }
        // ABORT: a constraint of the table may ask for rows to be replaced or ignored instead.
        // NOT INDEXED: the table itself has the values, not an index of it.
        statement = """
            INSERT OR ABORT INTO \(new.name.quotedName)
              (\(values.map(\.column).joined(separator: ", ")))
              SELECT \(values.map(\.value).joined(separator: ", "))
              FROM \(old.name.quotedName) NOT INDEXED
            """

        pairs = new.shape.columns.compactMap { column in
            guard expression(for: column) == nil,
                let source = old.shape.column(renames.oldName(of: column.name))
            else { return nil }
            return Pair(
                name: column.name,
                old: source.name.quotedName,
                new: column.name.quotedName,
                isConverted: source.affinity != column.affinity
            )
        }
        if new.shape.isWithoutRowID {
            let keys = new.shape.primaryKey.compactMap { column in
                sources[column.foldedName].map { (column.quotedName, $0) }
            }
            self.keys = keys.count == new.shape.primaryKey.count ? keys : nil
        } else if let alias = new.shape.rowIDAlias, givesRowID == true {
            keys = sources[alias.foldedName].map { [(alias.quotedName, $0)] }
        } else {
            keys = rowIDs.map { [$0] }
        }
    }

    /// Compares the old and the new table, while both exist.
    ///
    /// - Throws: ``TableRebuildError/rowsDiffer(table:before:after:)`` or
    ///   ``TableRebuildError/valuesChange(table:column:rows:)``.
    func check(in db: Database) throws {
        let before = try count(table, db)
        let after = try count(newTable, db)
        guard before == after else {
            throw TableRebuildError.rowsDiffer(table: table, before: before, after: after)
        }
        guard let keys else { return try checkUnordered(db) }
        guard
            let row = try Row.fetchOne(db, sql: comparison(keys)),
            let matched = row[0] as Int?
        else { return }
        guard matched == before else {
            throw TableRebuildError.rowsDiffer(table: table, before: before, after: matched)
        }
        for (index, pair) in pairs.enumerated() {
            let changed: Int = row[index + 1]
            guard changed == 0 else {
                throw TableRebuildError.valuesChange(table: table, column: pair.name, rows: changed)
            }
        }
    }

    /// A query for the number of rows that are found again, and how many values of each column
    /// differ.
    private func comparison(_ keys: [(new: String, old: String)]) -> String {
        let olds =
            pairs.enumerated().map { "\($1.old) AS c\($0)" }
            + keys.enumerated().map { "\($1.old) AS k\($0)" }
        let differences = pairs.enumerated().map { index, pair in
            "ifnull(sum(NOT (\(Self.same("n.\(pair.new)", "o.c\(index)", pair.isConverted)))), 0)"
        }
        let join = keys.enumerated().map { "n.\($1.new) = o.k\($0)" }
        return """
            SELECT \((["count(*)"] + differences).joined(separator: ", "))
            FROM (SELECT \(olds.joined(separator: ", ")) FROM \(table.quotedName) NOT INDEXED) AS o
            CROSS JOIN \(newTable.quotedName) AS n ON \(join.joined(separator: " AND "))
            """
    }

    /// An expression that is true if the new value is the old one, or can be converted back to it.
    private static func same(_ new: String, _ old: String, _ isConverted: Bool) -> String {
        let exact = "typeof(\(new)) = typeof(\(old)) AND \(new) COLLATE BINARY IS \(old)"
        guard isConverted else { return exact }
        let back = ["text", "integer", "real"].map {
            "WHEN '\($0)' THEN CAST(\(new) AS \($0)) COLLATE BINARY IS \(old)"
        }
        return """
            CASE WHEN typeof(\(new)) = typeof(\(old)) THEN \(exact) \
            ELSE CASE typeof(\(old)) \(back.joined(separator: " ")) ELSE 0 END END
            """
    }

    /// Statements that fail if the copy has changed a value of a column, for use where nothing but SQL
    /// runs: between the copy and the end of the old table.
    ///
    /// - Parameters:
    ///   - columns: The new names of the columns.
    ///   - name: A name for a table that is created and dropped.
    /// - Returns: No statements if there is nothing to compare, or no key says which row is which.
    func guardStatements(of columns: [String], name: String) -> [String] {
        let guarded = pairs.filter { pair in columns.contains { $0.isSameName(as: pair.name) } }
        guard let keys, !guarded.isEmpty else { return [] }
        let checks = guarded.map { pair in
            let message = "the new type of \(table).\(pair.name) changes its value"
            return "\(pair.new) CONSTRAINT \(message.quotedName) CHECK (\(pair.new) = 0)"
        }
        let join = keys.map { "n.\($0.new) = o.\($0.old)" }.joined(separator: " AND ")
        let counts = guarded.map { pair in
            let isSame = Self.same("n.\(pair.new)", "o.\(pair.old)", pair.isConverted)
            return "ifnull(sum(NOT (\(isSame))), 0)"
        }
        return [
            "CREATE TABLE \(name.quotedName) (\(checks.joined(separator: ", ")))",
            """
            INSERT INTO \(name.quotedName)
              SELECT \(counts.joined(separator: ", "))
              FROM \(table.quotedName) AS o NOT INDEXED
              CROSS JOIN \(newTable.quotedName) AS n ON \(join)
            """,
            "DROP TABLE \(name.quotedName)",
        ]
    }

    /// Compares the tables if no key says which row is which. Converted columns are left out.
    private func checkUnordered(_ db: Database) throws {
        for pair in pairs where !pair.isConverted {
            func values(_ column: String, _ table: String) -> String {
                """
                SELECT typeof(\(column)), \(column) COLLATE BINARY, count(*) \
                FROM \(table.quotedName) NOT INDEXED GROUP BY 1, 2
                """
            }
            let changed = try Int.fetchOne(
                db,
                sql: """
                    SELECT count(*) FROM (
                    \(values(pair.old, table)) EXCEPT \(values(pair.new, newTable)))
                    """
            )
            guard changed == 0 else {
                throw TableRebuildError.valuesChange(
                    table: table,
                    column: pair.name,
                    rows: changed ?? 0
                )
            }
        }
    }

    private func count(_ table: String, _ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table.quotedName) NOT INDEXED") ?? 0
    }
}
