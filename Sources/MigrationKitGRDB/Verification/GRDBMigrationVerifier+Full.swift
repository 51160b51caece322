import GRDB

extension GRDBMigrationVerifier {
    /// SQLite stops after this many findings. Fewer are listed.
    private static let limit = 100_000

    /// `PRAGMA foreign_key_check`, with each row. <https://www.sqlite.org/pragma.html#pragma_foreign_key_check>
    static func foreignKeys(in db: Database) throws -> VerificationOutcome {
        var outcome = VerificationOutcome()
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
        if outcome.count > 0 {
            outcome.detail =
                GRDBMigrationVerificationError.foreignKeyViolations(count: outcome.count)
                .errorDescription
        }
        return outcome
    }

    /// `PRAGMA integrity_check`: the b-trees, the records, the indexes against their tables.
    ///
    /// <https://www.sqlite.org/pragma.html#pragma_integrity_check>
    ///
    /// - Parameter constraints: Receives the tables with rows that break a constraint.
    static func integrity(
        in db: Database,
        _ constraints: inout RowConstraints
    ) throws -> VerificationOutcome {
        var outcome = VerificationOutcome()
        var unreadable = 0
        let tables = Set(try String.fetchAll(db, sql: tableNames))
        let rows = try String.fetchCursor(db, sql: "PRAGMA main.integrity_check(\(limit))")
        while let row = try next(of: rows, &unreadable) {
            for line in row.split(separator: "\n") where line != "ok" && !line.hasPrefix("***") {
                // After a page that can't be decrypted, SQLite can read no page for the rest of the
                // check.
                if line.hasSuffix("unable to get the page. error code=1") {
                    unreadable += 1
                    continue
                }
                // These pages are reached only through such a page.
                if unreadable > 0, line.hasSuffix(": never used") { continue }
                if let suspect = RowConstraints.Suspect(String(line), tables: tables) {
                    constraints.suspect(suspect)
                    outcome.add(VerificationFinding(suspect.message, table: suspect.table))
                } else {
                    outcome.add(VerificationFinding(String(line), page: page(in: line)))
                }
            }
        }
        constraints.isComplete = unreadable == 0
        outcome.replace(try outcome.findings.map { try located($0, db) })
        if outcome.count > 1 {
            outcome.detail = "SQLite found \(outcome.count) faults"
        } else if outcome.count == 0, unreadable > 0 {
            outcome.detail = "there are pages that can't be read"
        }
        return outcome
    }

    /// The next row; also `nil` if SQLite gives up at a page that can't be decrypted.
    private static func next(
        of rows: FastDatabaseValueCursor<String>,
        _ unreadable: inout Int
    ) throws -> String? {
        do {
            return try rows.next()
        } catch let error as DatabaseError
            where error.resultCode == .SQLITE_ERROR || error.resultCode == .SQLITE_CORRUPT
        {
            unreadable += 1
            return nil
        }
    }

    static let tableNames = """
        SELECT name FROM main.sqlite_master WHERE type = 'table' AND rootpage > 0
        """

    private static func page(in line: Substring) -> Int? {
        line.firstMatch(of: /[Pp]age (\d+)/).flatMap { Int($0.1) }
    }

    /// Names the table and the row if SQLite names only an index and a position.
    private static func located(
        _ finding: VerificationFinding,
        _ db: Database
    ) throws -> VerificationFinding {
        let place = finding.text.firstMatch(of: /^(?:row (\d+) missing from|.* in) index (.+)$/)
        guard finding.table == nil, let place,
            let table = try String.fetchOne(
                db,
                sql: "SELECT tbl_name FROM main.sqlite_master WHERE type = 'index' AND name = ?",
                arguments: [String(place.2)]
            )
        else { return finding }
        guard let number = place.1.flatMap({ Int64($0) }) else {
            return VerificationFinding(finding.text, table: table, page: finding.page)
        }
        let rows = try RowAddress(table, db)
        // In a damaged table, this row may no longer exist.
        guard let address = try? rows.address(atPlace: number, db) else {
            return VerificationFinding(finding.text, table: table)
        }
        return rows.finding(address, "is missing from the index '\(place.2)'")
    }
}
