import GRDB
import MigrationKitGRDB

extension GRDBMigrationRunner {
    /// Compares the ledger and the journal with the steps, and reports rows that neither of them
    /// wrote. Pending steps are not an error.
    func ledgerOutcome(in db: Database) throws -> VerificationOutcome {
        var outcome = VerificationOutcome()
        var applied: Set<String> = []
        if try db.hasTable(MigrationLedger.table) {
            try db.reading(MigrationLedger.table) {
                applied = try ledgerRows(in: db, &outcome)
            }
        }
        try checkSteps(applied, &outcome, db)
        if try db.hasTable(MigrationJournal.table) {
            try db.reading(MigrationJournal.table) {
                try checkJournal(applied, &outcome, db)
            }
        }
        if outcome.count > 0 {
            let count = outcome.count
            outcome.detail =
                "the ledger and the migrations differ in \(count) \(count == 1 ? "place" : "places")"
        }
        let pending = registry.pending(given: applied).count
        outcome.note = "\(applied.count) applied, \(pending) pending"
        return outcome
    }

    private func ledgerRows(
        in db: Database,
        _ outcome: inout VerificationOutcome
    ) throws -> Set<String> {
        let table = MigrationLedger.table
        let rows = try RowAddress(table, db)
        for address in try Int64.fetchAll(
            db,
            sql: rows.query(where: "typeof(identifier) <> 'text' OR identifier = ''")
        ) {
            outcome.add(rows.finding(address, "has no identifier"))
        }
        let names = try Row.fetchAll(
            db,
            sql: """
                SELECT identifier, count(*) FROM main.\(table)
                WHERE typeof(identifier) = 'text' AND identifier <> '' GROUP BY identifier
                """
        )
        var applied: Set<String> = []
        for row in names {
            let identifier: String = row[0]
            let count: Int = row[1]
            applied.insert(identifier)
            guard count > 1 else { continue }
            outcome.add(
                VerificationFinding("'\(identifier)' is in \(count) rows", table: table)
            )
        }
        return applied
    }

    private func checkSteps(
        _ applied: Set<String>,
        _ outcome: inout VerificationOutcome,
        _ db: Database
    ) throws {
        let missing = registry.unknown(among: applied).missing
        let newer = try registry.newer(among: applied, db).filter { $0.older != .work }
        let changed = try registry.changed(among: applied, db)
        let begun = try MigrationJournal.begun(db).filter { !applied.has($0.key) }
        let started = applied.union(begun.keys)
        let faults =
            newer.map {
                ($0.identifier, "is \($0.isBegun ? "begun" : "applied"), but unknown here")
            }
            + missing.map { ($0, "is applied, but missing from the migrations") }
            + changed.map { ($0, "was changed after it was applied") }
            + registry.changed(begun: begun).map { ($0, "was changed after its batches had begun") }
            + registry.late(among: started).map {
                ($0, "is pending, although a later one is applied")
            }
        for (identifier, fault) in faults {
            outcome.add(
                VerificationFinding("'\(identifier)' \(fault)", table: MigrationLedger.table)
            )
        }
    }

    private func checkJournal(
        _ applied: Set<String>,
        _ outcome: inout VerificationOutcome,
        _ db: Database
    ) throws {
        let table = MigrationJournal.table
        let rows = try RowAddress(table, db)
        let condition = """
            typeof(identifier) <> 'text' OR typeof(event) <> 'text' OR julianday(time) IS NULL
            """
        for address in try Int64.fetchAll(db, sql: rows.query(where: condition)) {
            outcome.add(rows.finding(address, "is not a valid journal entry"))
        }
        let recorded = try MigrationJournal.records(db)
        for identifier in migrationIdentifiers
        where recorded[identifier] != nil && !applied.has(identifier) {
            outcome.add(
                VerificationFinding(
                    "'\(identifier)' is applied in the journal, but not in the ledger",
                    table: table
                )
            )
        }
    }
}
