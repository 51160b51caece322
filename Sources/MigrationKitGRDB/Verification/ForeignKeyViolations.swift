import GRDB

/// The rows that violate foreign keys, as they can be compared before and after a run: a rowid may
/// change.
package struct ForeignKeyViolations: Equatable, Sendable {
    private struct Reference: Hashable {
        let table: String
        let parent: String
    }

    private var rows: [Reference: Int] = [:]

    /// Tables whose foreign keys SQLite can't check: the parent's columns aren't unique.
    /// <https://www.sqlite.org/foreignkeys.html#fk_indexes>
    private var mismatched: Set<String> = []

    /// Reads every row of the tables that have a foreign key.
    ///
    /// - Parameter tables: Their names; `nil` for all.
    package init(_ db: Database, of tables: [String]? = nil) throws {
        for table in try tables ?? db.tablesWithForeignKeys() {
            do {
                let counts = try Row.fetchAll(
                    db,
                    sql: """
                        SELECT parent, count(*) FROM pragma_foreign_key_check(?, 'main') GROUP BY 1
                        """,
                    arguments: [table]
                )
                for count in counts { rows[Reference(table: table, parent: count[0])] = count[1] }
            } catch let error as DatabaseError where error.isForeignKeyMismatch {
                mismatched.insert(table)
            }
        }
    }

    /// Whether all of these were among others.
    func areAmong(_ others: ForeignKeyViolations) -> Bool {
        mismatched.isSubset(of: others.mismatched)
            && rows.allSatisfy { reference, count in
                others.mismatched.contains(reference.table)
                    || count <= others.rows[reference] ?? 0
            }
    }

    /// The tables with such rows, and their parents.
    package var tables: Set<String> {
        mismatched.union(rows.keys.flatMap { [$0.table, $0.parent] })
    }

    /// What there is, in words; `nil` if nothing is violated.
    package var phrase: String? {
        let count = rows.values.reduce(0, +)
        let parts = [
            count == 0
                ? nil : "\(count) \(count == 1 ? "row violates" : "rows violate") foreign keys",
            mismatched.isEmpty
                ? nil
                : "the foreign keys of \(mismatched.sorted().joined(separator: ", ")) can't be checked",
        ].compactMap { $0 }
        return parts.isEmpty ? nil : parts.joined(separator: ", and ")
    }
}

extension Database {
    /// The part of a query that gives each table, as `child`, with each of its foreign keys, as `key`.
    static let fromForeignKeys = """
        FROM main.sqlite_master AS child, pragma_foreign_key_list(child.name, 'main') AS key
        WHERE child.type = 'table' AND child.rootpage > 0
            AND instr(upper(child.sql), 'REFERENCES') > 0
        """

    /// The tables that have a foreign key.
    ///
    /// - Parameter touched: If given, only those with one of these names, folded, or with a key that refers
    ///   to one.
    func tablesWithForeignKeys(touching touched: Set<String>? = nil) throws -> [String] {
        if touched?.isEmpty == true { return [] }
        let keys = try Row.fetchAll(
            self,
            sql: "SELECT child.name, key.\"table\" \(Self.fromForeignKeys) ORDER BY child.rowid"
        ).map { (child: $0[0] as String, parent: $0[1] as String) }
        var tables: [String] = []
        for (child, parent) in keys where tables.last != child {
            let names = [child.foldedName, parent.foldedName]
            if touched?.isDisjoint(with: names) != true { tables.append(child) }
        }
        return tables
    }
}

extension DatabaseError {
    /// Whether a foreign key's parent has no primary key or unique index on exactly its columns.
    package var isForeignKeyMismatch: Bool {
        resultCode == .SQLITE_ERROR && message?.hasPrefix("foreign key mismatch") == true
    }

    /// Whether the error comes from a check of all foreign keys, and not from a statement.
    package var isOfForeignKeyCheck: Bool {
        isForeignKeyMismatch
            || extendedResultCode == .SQLITE_CONSTRAINT_FOREIGNKEY
                && message?.hasPrefix("FOREIGN KEY constraint violation") == true
    }
}
