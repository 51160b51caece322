import GRDB

extension GRDBMigrationVerifier {
    /// References to tables that don't exist, and `PRAGMA foreign_key_check`, with each row. <https://www.sqlite.org/pragma.html#pragma_foreign_key_check>
    static func foreignKeys(in db: Database) throws -> VerificationOutcome {
        var outcome = VerificationOutcome()
        let missing = try missingParents(in: db)
        for parent in missing {
            outcome.add(
                VerificationFinding(parent.error.localizedDescription, table: parent.table)
            )
        }
        try db.withLargeCache {
            let rows = try Row.fetchCursor(db, sql: "PRAGMA foreign_key_check")
            while let row = try rows.next() {
                let table: String = row[0]
                let rowID: Int64? = row[1]
                let parent: String = row[2]
                let name = rowID.map { "row \($0)" } ?? "a row"
                outcome.add(
                    VerificationFinding(
                        "\(name) of '\(table)' refers to a row of '\(parent)' that doesn't exist",
                        table: table,
                        rowID: rowID
                    )
                )
            }
        }
        let rowCount = outcome.count - missing.count
        if rowCount > 0 {
            outcome.detail =
                GRDBMigrationVerificationError.foreignKeyViolations(count: rowCount)
                .errorDescription
        } else if let first = missing.first {
            outcome.detail = first.error.errorDescription
        }
        return outcome
    }
}
