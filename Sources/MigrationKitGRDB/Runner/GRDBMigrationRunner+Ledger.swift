import GRDB
import MigrationKit

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
        let unknown = registry.unknown(among: applied)
        let changed = try registry.changed(among: applied, db)
        let faults =
            unknown.newer.map { ($0, "is applied, but unknown here") }
            + unknown.missing.map { ($0, "is applied, but missing from the migrations") }
            + changed.map { ($0, "was changed after it was applied") }
            + registry.late(among: applied).map {
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

// MARK: - History

extension GRDBMigrationRunner {
    /// Everything that runners have done to the migrations of a database, oldest first.
    ///
    /// It doesn't include what plain GRDB did, or what happened before the database had a journal.
    ///
    /// - Parameter writer: The database. It is only read.
    /// - Returns: An entry for every step that was applied, rolled back, recorded or repaired.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public static func history(in writer: any DatabaseWriter) throws -> [MigrationHistoryEntry] {
        try writer.read(MigrationJournal.read)
    }

    /// The state of every migration, all read in one transaction.
    ///
    /// - Parameter writer: The database. It is only read.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func overview(of writer: any DatabaseWriter) throws -> MigrationOverview {
        try writer.read { db in
            let applied = try MigrationLedger.read(db)
            let records = try MigrationJournal.records(db).filter { applied.has($0.key) }
            let unknown = registry.unknown(among: applied)
            return MigrationOverview(
                applied: applied,
                pending: registry.pending(given: applied),
                late: registry.late(among: applied),
                changed: registry.changed(among: applied, records),
                missing: unknown.missing,
                newer: unknown.newer,
                records: records
            )
        }
    }

    /// What is recorded about the applied steps, by identifier: when they were applied, how long
    /// they took, and which text they had.
    ///
    /// - Parameter writer: The database. It is only read.
    /// - Returns: A record for every applied step that the journal knows.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func migrationRecords(
        in writer: any DatabaseWriter
    ) throws -> [String: MigrationRecord] {
        try overview(of: writer).records
    }

    /// The identifiers of the steps that were changed after they were applied, in order.
    ///
    /// - Parameter writer: The database. It is only read.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func changedMigrationIdentifiers(in writer: any DatabaseWriter) throws -> [String] {
        try overview(of: writer).changed
    }

    /// The identifiers of the applied steps that are missing from this runner, sorted: it has later
    /// ones. All other applied steps that it doesn't have belong to a newer program.
    ///
    /// - Parameter writer: The database. It is only read.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func missingMigrationIdentifiers(in writer: any DatabaseWriter) throws -> [String] {
        try overview(of: writer).missing
    }
}
