import Foundation
import GRDB
import MigrationKit

extension GRDBMigrationRunner {
    /// Verifies a database: its integrity and the runner's required indexes, or what the host's
    /// hooks check instead.
    ///
    /// - Parameter writer: The database. The runner's own checks only read it.
    /// - Throws: ``GRDBMigrationVerificationError`` for the first check that fails; what a hook of
    ///   the host throws.
    public func runPostMigrationChecks(in writer: any DatabaseWriter) throws {
        try runPostMigrationChecks(in: writer, options: MigrationOptions())
    }

    func runPostMigrationChecks(
        in writer: any DatabaseWriter,
        options: MigrationOptions
    ) throws {
        if let verifyPostMigration = integration.verifyPostMigration {
            try verifyPostMigration(writer)
            return try writer.read { db in
                try GRDBMigrationVerifier.verifyRequiredIndexes(
                    in: db,
                    requiredIndexes: furtherIndexes
                )
                try checks.run(in: db) { .checkFailed($0) }
            }
        }
        let monitor = RunMonitor(direction: .forward, options: options)
        _ = try writer.readingWithConstraints { db in
            try monitor.watching(db) {
                try verify(db, isComplete: true, checksForeignKeys: true)
            }
        }
    }

    /// Runs all checks of ``runPostMigrationChecks(in:)``, even if one fails, and the further ones
    /// that the options ask for.
    ///
    /// - Parameters:
    ///   - writer: The database. The runner's own checks only read it.
    ///   - additionalIndexes: Indexes that are required in addition to the runner's own.
    ///   - options: An observer and a cancellation.
    /// - Returns: The outcome of every check, in order. In a large database, `foreign_key_check`
    ///   runs at the same time as `quick_check`, on connections with the writer's configuration. If
    ///   the database is sound, the seconds of `quick_check` are those of both.
    /// - Throws: A `DatabaseError` if the database can't be read, or is locked for longer than its
    ///   connection waits; a `CancellationError`.
    public func verificationChecks(
        in writer: any DatabaseWriter,
        additionalIndexes: [RequiredIndexSpec] = [],
        options: VerificationOptions = VerificationOptions()
    ) throws -> [VerificationCheck] {
        let monitor = VerificationMonitor(options)
        try runChecks(in: writer, additionalIndexes, monitor)
        return monitor.checks
    }

    /// Runs the checks that need no ledger.
    ///
    /// - Returns: Whether `quick_check` found nothing.
    @discardableResult
    package func runChecks(
        in writer: any DatabaseWriter,
        _ additionalIndexes: [RequiredIndexSpec],
        _ monitor: VerificationMonitor
    ) throws -> Bool {
        var isStructureSound = false
        var indexes = furtherIndexes
        indexes += additionalIndexes.filter { !furtherIndexes.contains($0) }
        if let verifyPostMigration = integration.verifyPostMigration {
            try monitor.check("verifyPostMigration") {
                try verifyPostMigration(writer)
                return VerificationOutcome()
            }
        } else {
            if let verifyIntegrity = integration.verifyIntegrity {
                try monitor.check("verifyIntegrity", in: writer) { db in
                    try verifyIntegrity(db)
                    return VerificationOutcome()
                }
            } else {
                isStructureSound = try runIntegrityChecks(in: writer, monitor)
                // Most databases have no such tables.
                let indexes = try? monitor.reading(writer, FullTextIndex.all)
                if indexes?.isEmpty == false {
                    try monitor.check("full_text", in: writer, GRDBMigrationVerifier.fullText)
                }
            }
            indexes = requiredIndexes + indexes.filter { !requiredIndexes.contains($0) }
        }
        for index in indexes {
            try monitor.check("required_index \(index.table).\(index.index)", in: writer) { db in
                try GRDBMigrationVerifier.verifyRequiredIndexes(in: db, requiredIndexes: [index])
                return VerificationOutcome()
            }
        }
        for check in checks {
            try monitor.check("check \(check.name)", in: writer) { db in
                guard try registry.pending(given: MigrationLedger.read(db)).isEmpty else {
                    return VerificationOutcome(note: "not run: migrations are pending")
                }
                return try VerificationOutcome(check.violations(in: db))
            }
        }
        if let schemaCheck = monitor.schemaCheck {
            try monitor.check("schema") {
                try monitor.unharmed(writer) { connection in
                    try schemaCheck.outcome(
                        of: self,
                        in: connection,
                        cancellation: monitor.operation.cancellation
                    )
                }
            }
        }
        return isStructureSound
    }

    /// Runs `quick_check` and `foreign_key_check`, at the same time if possible. The outcomes are
    /// the same as one after the other.
    ///
    /// - Returns: Whether `quick_check` found nothing.
    private func runIntegrityChecks(
        in writer: any DatabaseWriter,
        _ monitor: VerificationMonitor
    ) throws -> Bool {
        var isSound = false
        var foreignKeys: CheckAlongside<VerificationOutcome>?
        defer { foreignKeys?.stop() }
        let structure = try monitor.check("quick_check") {
            isSound = try isSoundWhileStill(writer, monitor)
            guard !isSound else {
                return VerificationOutcome(note: Self.constraintsNote(of: writer))
            }
            foreignKeys = CheckAlongside(
                foreignKeysIn: writer,
                monitor.operation.cancellation
            )
            return try monitor.reading(writer, withConstraints: true) { db in
                var outcome = VerificationOutcome(note: Self.constraintsNote(of: writer))
                outcome.unchecked = try GRDBMigrationVerifier.verifyStructure(in: db)
                return outcome
            }
        }
        try monitor.check("foreign_key_check") {
            guard !isSound else { return VerificationOutcome() }
            // Another file may have this name by now.
            if let foreignKeys, let outcome = try monitor.result(of: foreignKeys),
                try writer.unsafeRead({ $0.hasFile })
            {
                return outcome
            }
            return try monitor.reading(writer, GRDBMigrationVerifier.foreignKeys)
        }
        return structure.ok
    }

    /// SQLite doesn't read the CHECK constraints of a read-only database.
    private static func constraintsNote(of writer: any DatabaseWriter) -> String? {
        writer.configuration.readonly
            ? "without CHECK constraints: the database can't be written" : nil
    }

    /// Whether a database passes both checks on two more connections, while the writer's own makes
    /// sure that nobody writes the file. If there is any finding, the writer's connections check
    /// again.
    private func isSoundWhileStill(
        _ writer: any DatabaseWriter,
        _ monitor: VerificationMonitor
    ) throws -> Bool {
        try whileStill(writer, monitor) { open in
            let foreignKeys = CheckAlongside(
                monitor.operation.cancellation,
                GRDBMigrationVerifier.foreignKeys
            ) { try open().readAndClose($0) }
            defer { foreignKeys.stop() }
            let unchecked = try open().readAndClose { db in
                try monitor.watching(db) { try GRDBMigrationVerifier.verifyStructure(in: db) }
            }
            // The writer may have what this connection doesn't.
            return try unchecked.isEmpty && monitor.result(of: foreignKeys)?.count == 0
        } ?? false
    }

    /// Runs checks on further connections, while the writer's own makes sure that nobody writes the
    /// file. This is the fastest way, and only saves time.
    ///
    /// - Parameter body: Gets a function that opens a connection.
    /// - Returns: `nil` if that isn't possible, or if the body throws.
    package func whileStill<Value>(
        _ writer: any DatabaseWriter,
        _ monitor: VerificationMonitor,
        _ body: (_ open: @escaping @Sendable () throws -> DatabaseQueue) throws -> Value
    ) throws -> Value? {
        do {
            guard let path = try writer.largeFile() else { return nil }
            let configuration = writer.configuration.forReadingAlongside
            let opensReader =
                monitor.opensReader
                ?? { try DatabaseQueue(path: $0, configuration: configuration) }
            return try writer.read { db in
                guard try db.isAllInFile(path) else { return nil }
                let value = try body { try opensReader(path) }
                return db.hasFile ? value : nil
            }
        } catch {
            try monitor.operation.checkCancellation()
            return nil
        }
    }

    /// Whether a run may be called verified: a verification would find no reference to a missing
    /// table, and no full-text table that finds missing rows, be it from before the run. A host's own
    /// verification decides for itself.
    func findsNothingFromBefore(in writer: any DatabaseWriter) throws -> Bool {
        guard integration.verifyIntegrity == nil, integration.verifyPostMigration == nil else {
            return true
        }
        return try writer.writeWithoutTransaction { db in
            try db.readingAtOnce {
                try GRDBMigrationVerifier.missingParents(in: db).isEmpty
                    && GRDBMigrationVerifier.strayIndexes(in: db).isEmpty
            }
        }
    }

    /// The checks that can run inside a transaction, and so before a commit.
    ///
    /// - Parameters:
    ///   - isComplete: Whether no step is pending. Otherwise a pending step may create the required
    ///     index.
    ///   - checksForeignKeys: Whether to check foreign keys. A run has checked them after each step
    ///     that asks for it.
    ///   - earlier: What a run found. It must leave nothing else, unless a pending step may mend it.
    ///   - touched: The tables that the run has changed, folded.
    ///
    /// - Returns: The tables that can't be checked here, each with what only the app has.
    @discardableResult
    func verify(
        _ db: Database,
        isComplete: Bool,
        checksForeignKeys: Bool,
        earlier: EarlierFaults = EarlierFaults(),
        touched: Set<String> = []
    ) throws -> [String] {
        // SQLite's cached schema may differ from what a step has written into the schema table.
        try GRDBMigrationVerifier.readSchemaAnew(in: db)
        var unchecked: [String] = []
        let hostVerifiesAfterwards = integration.verifyPostMigration != nil && isComplete
        if let verifyIntegrity = integration.verifyIntegrity {
            try verifyIntegrity(db)
        } else if !hostVerifiesAfterwards {
            do {
                unchecked = try GRDBMigrationVerifier.verifyStructure(in: db)
            } catch let error as GRDBMigrationVerificationError {
                // FTS4 calls an index without texts damaged.
                let wrong = try? earlier.fullText.leftWrong(in: db, touched: touched)
                throw wrong?.first?.error ?? error
            }
            if checksForeignKeys {
                try GRDBMigrationVerifier.verifyForeignKeys(in: db)
            } else if isComplete {
                let missing = try GRDBMigrationVerifier.missingParents(in: db)
                if let new = missing.first(where: { !earlier.missingParents.contains($0) }) {
                    throw new.error
                }
            }
            if checksForeignKeys || isComplete {
                let wrong = try earlier.fullText.leftWrong(in: db, touched: touched)
                if let first = wrong.first { throw first.error }
            }
        }
        if isComplete, !hostVerifiesAfterwards {
            try GRDBMigrationVerifier.verifyRequiredIndexes(
                in: db,
                requiredIndexes: requiredIndexes
            )
        }
        if isComplete {
            try GRDBMigrationVerifier.verifyRequiredIndexes(
                in: db,
                requiredIndexes: furtherIndexes
            )
            try checks.run(in: db) { .checkFailed($0) }
        }
        try integration.verifyBeforeCommit?(db)
        return unchecked
    }
}
