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

    /// Reads every row of every table that has a foreign key.
    package init(_ db: Database) throws {
        let tables = try String.fetchAll(
            db,
            sql: """
                SELECT name FROM main.sqlite_master AS child
                WHERE type = 'table' AND rootpage > 0
                    AND EXISTS (SELECT 1 FROM pragma_foreign_key_list(child.name, 'main'))
                """
        )
        for table in tables {
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
