import GRDB
import MigrationKitGRDB

extension GRDBMigrationRunner {
    /// Runs the checks of `verificationChecks(in:additionalIndexes:options:)` and, in a full
    /// verification, further ones:
    ///
    /// - `integrity_check`: like `quick_check`, and the indexes against their tables, in linear time
    ///   (see `VerificationOptions.usesSQLiteIntegrityCheck`);
    /// - `row_constraints`: rows that break NOT NULL, CHECK or the types of a STRICT table;
    /// - `virtual_tables`: full text search (FTS5, FTS4, FTS3) with its content tables, and R-trees;
    /// - `ledger`: the ledger and the journal against the steps.
    ///
    /// - Parameters:
    ///   - writer: The database. The runner's own checks only read it. Those of full-text search
    ///     take the write lock, but change nothing.
    ///   - additionalIndexes: Indexes that are required in addition to the runner's own.
    ///   - isFull: Whether to run the further checks. They read the whole file several times.
    ///   - options: An observer and a cancellation.
    /// - Returns: The outcome of every check, in order.
    /// - Throws: A `DatabaseError` if the database can't be read, or is locked for longer than its
    ///   connection waits; a `CancellationError`.
    public func verificationChecks(
        in writer: any DatabaseWriter,
        additionalIndexes: [RequiredIndexSpec] = [],
        isFull: Bool,
        options: VerificationOptions = VerificationOptions()
    ) throws -> [VerificationCheck] {
        guard isFull else {
            return try verificationChecks(
                in: writer,
                additionalIndexes: additionalIndexes,
                options: options
            )
        }
        let monitor = VerificationMonitor(options)
        try runFullChecks(in: writer, additionalIndexes, monitor)
        try runLedgerCheck(in: writer, monitor)
        return monitor.checks
    }

    /// Runs the checks that need no ledger.
    package func runFullChecks(
        in writer: any DatabaseWriter,
        _ additionalIndexes: [RequiredIndexSpec],
        _ monitor: VerificationMonitor
    ) throws {
        let isStructureSound = try runChecks(in: writer, additionalIndexes, monitor)
        var findings = IntegrityFindings()
        try monitor.check("integrity_check") {
            try findIntegrity(&findings, in: writer, isStructureSound: isStructureSound, monitor)
            return findings.outcome
        }
        try monitor.check("row_constraints") {
            try monitor.reading(writer, withConstraints: true) { db in
                try findings.constraints.check(in: db)
            }
        }
        try monitor.check("virtual_tables") {
            try writer.writeWithoutTransaction { db in
                try monitor.watching(db) { try VirtualTables.check(in: db) }
            }
        }
    }

    /// Compares the ledger with the steps.
    package func runLedgerCheck(
        in writer: any DatabaseWriter,
        _ monitor: VerificationMonitor
    ) throws {
        try monitor.check("ledger", in: writer) { try ledgerOutcome(in: $0) }
    }

    // MARK: - Indexes

    /// Finds what SQLite's `integrity_check` finds. Where it can, it compares indexes and tables in
    /// linear time, and asks SQLite only for the rows.
    ///
    /// - Parameter isStructureSound: Whether SQLite's `quick_check` has just found nothing.
    private func findIntegrity(
        _ findings: inout IntegrityFindings,
        in writer: any DatabaseWriter,
        isStructureSound: Bool,
        _ monitor: VerificationMonitor
    ) throws {
        func check(_ scope: IntegrityFindings.Scope) throws {
            // A transaction for each, since SQLite reads no further page in one in which it came to
            // a page that can't be decrypted.
            let before = findings
            do {
                try monitor.reading(writer, withConstraints: true) { db in
                    try findings.add(scope, in: db)
                }
            } catch let error as DatabaseError where error.isUnreadablePage {
                // What was found may be wrong: other pages were read as zeros, too.
                findings = before
                findings.addUnreadablePage()
            }
        }
        func checkTable(_ name: String) throws {
            do {
                try check(.table(name))
            } catch let error as DatabaseError where !error.resultCode.preventsReading {
                findings.add(error, of: name)
            }
        }
        let tables = { try String.fetchAll($0, sql: GRDBMigrationVerifier.tableNames) }
        guard !monitor.usesSQLiteIntegrityCheck else {
            try check(.database)
            guard findings.stoppedAtModule else { return }
            return try monitor.reading(writer, tables).forEach(checkTable)
        }
        if !isStructureSound {
            do {
                try check(.structure)
                if findings.stoppedAtModule {
                    return try monitor.reading(writer, tables).forEach(checkTable)
                }
            } catch let error as DatabaseError where error.need != nil {
                return try monitor.reading(writer, tables).forEach(checkTable)
            }
        }
        for suspect in try tablesToCheck(in: writer, monitor) {
            try checkTable(suspect.table)
            findings.add(suspect)
        }
        for table in try monitor.reading(writer, VirtualTables.ofOtherModules) {
            do {
                try check(.table(table))
            } catch let error as DatabaseError where !error.resultCode.preventsReading {
                // The module is missing, which the check of virtual tables reports.
            }
        }
    }

    /// The tables that may not match their indexes.
    private func tablesToCheck(
        in writer: any DatabaseWriter,
        _ monitor: VerificationMonitor
    ) throws -> [IndexComparison.Outcome] {
        if let suspects = try suspectsWhileStill(writer, monitor) { return suspects }
        let tables = try monitor.reading(writer) { db in
            try String.fetchAll(db, sql: GRDBMigrationVerifier.tableNames)
        }
        // Others may write in between, but not while a table is compared.
        return try tables.flatMap { table in
            var suspects = [IndexComparison.Outcome(table: table, isUndecided: true)]
            do {
                try monitor.reading(writer) { db in
                    suspects = try GRDBMigrationVerifier.compareIndexes(of: [table], in: db)
                }
            } catch let error as DatabaseError where !error.resultCode.preventsReading {
                // A transaction in which a page couldn't be read fails at its end, too.
            }
            return suspects
        }
    }

    /// Compares tables and indexes on two connections.
    private func suspectsWhileStill(
        _ writer: any DatabaseWriter,
        _ monitor: VerificationMonitor
    ) throws -> [IndexComparison.Outcome]? {
        try whileStill(writer, monitor) { open in
            try open().readAndClose { db in
                let tables = try String.fetchAll(db, sql: GRDBMigrationVerifier.tableNames)
                let comparisons = try IndexComparisons(tables, db)
                let alongside = CheckAlongside(
                    monitor.operation.cancellation,
                    { try comparisons.work(in: $0) },
                    { try open().readAndClose($0) }
                )
                defer { alongside.stop() }
                try monitor.watching(db) { try comparisons.work(in: db) }
                // If the other connection failed, its work is left.
                _ = try monitor.result(of: alongside)
                try monitor.watching(db) { try comparisons.work(in: db) }
                return comparisons.suspects
            }
        }
    }
}
