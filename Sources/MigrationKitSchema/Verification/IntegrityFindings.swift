import GRDB
import MigrationKitGRDB

/// What SQLite's checks of the b-trees, the records and the indexes find.
///
/// <https://www.sqlite.org/pragma.html#pragma_integrity_check>
struct IntegrityFindings {
    private var found = VerificationOutcome()
    private var lines: Set<String> = []
    private var unreadable = 0
    private var isCutShort = false
    private var unchecked: [String] = []

    /// Whether SQLite came to no further table, since it gave up at a damaged virtual table.
    private(set) var stoppedAtModule = false

    /// The tables with rows that break a constraint.
    private(set) var constraints = RowConstraints()

    /// Which check runs.
    enum Scope {
        /// Everything.
        case database
        /// Everything but the indexes against their tables, in linear time.
        case structure
        /// A table and its indexes, in every respect.
        case table(String)

        /// SQLite stops after this many findings. Fewer are listed.
        private static let limit = 100_000

        /// SQLite's limit for a table, which no argument changes.
        fileprivate static let limitOfTable = 100

        fileprivate var pragma: String {
            switch self {
            case .structure: "quick_check(\(Self.limit))"
            case .table(let name):
                "integrity_check(\(name.pragmaArgument ?? "\(Self.limit)"))"
            case .database: "integrity_check(\(Self.limit))"
            }
        }
    }

    /// Runs a check, and adds what wasn't found before.
    mutating func add(_ scope: Scope, in db: Database) throws {
        let known = found
        try db.withLargeCache {
            let tables = Set(try String.fetchAll(db, sql: GRDBMigrationVerifier.tableNames))
            let rows = try String.fetchCursor(db, sql: "PRAGMA main.\(scope.pragma)")
            var count = 0
            while let row = try next(of: rows, db) {
                count += 1
                for line in row.split(separator: "\n") where line != "ok" && !line.hasPrefix("***")
                {
                    // Most databases have no such table.
                    if line.hasPrefix("unable to validate"),
                        try VirtualTables.findingsWithoutContent(in: db).contains(String(line))
                    {
                        continue
                    }
                    add(line, tables)
                }
            }
            if case .table = scope, count == Scope.limitOfTable { isCutShort = true }
        }
        constraints.isComplete = unreadable == 0
        let new = found.findings.dropFirst(known.findings.count)
        found.replace(try known.findings + new.map { try Self.located($0, db) })
    }

    private mutating func add(_ line: Substring, _ tables: Set<String>) {
        // After a page that can't be decrypted, SQLite can read no page for the rest of the check.
        if line.hasSuffix("unable to get the page. error code=1") {
            unreadable += 1
            return
        }
        // These pages are reached only through such a page.
        if unreadable > 0, line.hasSuffix(": never used") { return }
        guard lines.insert(String(line)).inserted else { return }
        if let suspect = RowConstraints.Suspect(String(line), tables: tables) {
            constraints.suspect(suspect)
            found.add(VerificationFinding(suspect.message, table: suspect.table))
        } else {
            found.add(VerificationFinding(String(line), page: Self.page(in: line)))
        }
    }

    /// Adds what the comparison of a table with its indexes found, unless SQLite has named a row.
    mutating func add(_ comparison: IndexComparison.Outcome) {
        for difference in comparison.differences {
            let place =
                difference.index.map { "index \($0)" } ?? "KEY order for \(comparison.table)"
            guard !lines.contains(where: { $0.hasSuffix(place) }) else { continue }
            let remedy = difference.index == nil ? "" : "; REINDEX rebuilds the index"
            found.add(
                VerificationFinding(
                    "\(difference.text) (SQLite's integrity_check names no row\(remedy))",
                    table: comparison.table
                )
            )
        }
    }

    /// Adds that there is a page which can't be read.
    mutating func addUnreadablePage() {
        unreadable += 1
        constraints.isComplete = false
    }

    /// Adds an error that kept SQLite from checking a table.
    mutating func add(_ error: DatabaseError, of table: String) {
        if let need = error.need {
            unchecked.append(need.text(about: table))
            return
        }
        found.add(
            VerificationFinding("'\(table)' can't be checked: \(error.findingText)", table: table)
        )
    }

    /// The result of the check.
    var outcome: VerificationOutcome {
        var outcome = found
        outcome.unchecked = unchecked
        if isCutShort {
            outcome.note = "SQLite names at most \(Scope.limitOfTable) faults of a table"
        }
        if outcome.count > 1 {
            outcome.detail = "SQLite found \(outcome.count) faults"
        } else if outcome.count == 0, unreadable > 0 {
            outcome.detail = "there are pages that can't be read"
        }
        return outcome
    }

    /// The next row; also `nil` if SQLite gives up at a page that can't be decrypted.
    private mutating func next(
        of rows: FastDatabaseValueCursor<String>,
        _ db: Database
    ) throws -> String? {
        do {
            return try db.namingUnusableTables { try rows.next() }
        } catch let error as DatabaseError
            where error.isUnexplained
            // A damaged record may claim more memory than there is.
            || [.SQLITE_CORRUPT, .SQLITE_NOMEM].contains(error.resultCode)
        {
            let damaged = error.isOfModule ? try VirtualTables.damaged(in: db) : []
            for table in damaged where lines.insert(table.damage).inserted {
                found.add(VerificationFinding(table.damage, table: table.name))
            }
            if damaged.isEmpty { unreadable += 1 } else { stoppedAtModule = true }
            return nil
        }
    }

    private static func page(in line: Substring) -> Int? {
        line.firstMatch(of: /[Pp]age (\d+)/).flatMap { Int($0.1) }
    }

    /// Names the table and the row if SQLite names only an index and a position.
    private static func located(
        _ finding: VerificationFinding,
        _ db: Database
    ) throws -> VerificationFinding {
        guard finding.table == nil else { return finding }
        if let order = finding.text.wholeMatch(of: /row not in PRIMARY KEY order for (.+)/) {
            return VerificationFinding(finding.text, table: String(order.1))
        }
        let pattern =
            /^(?:row (\d+) (?:missing|(values differ)) from|.* in|rowid not .* of) index (.+)$/
        guard let place = finding.text.firstMatch(of: pattern),
            let table = try String.fetchOne(
                db,
                sql: "SELECT tbl_name FROM main.sqlite_master WHERE type = 'index' AND name = ?",
                arguments: [String(place.3)]
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
        let fault =
            place.2 == nil
            ? "is missing from the index '\(place.3)'"
            : "has other values than its entry in the index '\(place.3)'"
        return rows.finding(address, fault)
    }
}
