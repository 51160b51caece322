import GRDB
import MigrationKit

/// What a forward run must do to a database, depending on its ledger.
struct MigrationPlan {
    /// The steps to apply, in order.
    private(set) var pending: [MigrationStep<Database>]

    /// The rows of the ledger for steps that others replace.
    let obsolete: Set<String>

    /// The ledger without the obsolete rows.
    let ledger: Set<String>

    /// The database's data version when the ledger was read.
    let dataVersion: Int

    /// Whether no step of the registry is pending once the plan is carried out.
    private(set) var completes: Bool

    /// The applied steps that the registry doesn't have, and with which it works.
    let newer: [String]

    /// What is wrong before the run, and no fault of it.
    var earlier = EarlierFaults()

    var isEmpty: Bool {
        pending.isEmpty && obsolete.isEmpty
    }

    /// The same up to the first step that can't share a transaction with those before it.
    var inOneTransaction: MigrationPlan {
        let foreignKeyChecks = pending.first?.foreignKeyChecks
        let first = pending.firstIndex {
            !$0.usesTransaction || $0.foreignKeyChecks != foreignKeyChecks
        }
        guard let first else { return self }
        var plan = self
        plan.pending = Array(pending[..<first])
        plan.completes = false
        return plan
    }

    /// - Parameters:
    ///   - started: The ledger, and what is begun.
    ///   - registry: The steps.
    ///   - end: How many of the registry's steps to apply, counted from its start.
    ///   - limit: How many of the pending steps to apply at most.
    ///   - db: The database, whose journal says what unknown steps mean.
    /// - Throws: ``MigrationKitError`` if the ledger doesn't allow it.
    init(
        _ started: MigrationLedger.Started,
        registry: MigrationRegistry<Database>,
        through end: Int,
        limit: Int,
        _ db: Database
    ) throws {
        let (applied, all) = (started.applied, started.all)
        dataVersion = try MigrationLedger.dataVersion(db)
        newer = try registry.checkWorks(with: applied, db)
        let latestIndex = registry.steps.lastIndex { all.has($0.identifier) }
        if let latestIndex, latestIndex >= end {
            throw MigrationKitError.targetBehindDatabase(
                target: registry.steps[..<end].last?.identifier ?? "",
                latestApplied: registry.steps[latestIndex].identifier
            )
        }

        let pending = registry.steps[..<end].filter { !applied.has($0.identifier) }
        self.pending = Array(pending.prefix(limit))
        let late = registry.late(among: all)
        if let latestIndex, !late.isEmpty {
            throw MigrationKitError.pendingBeforeApplied(
                pending: late,
                latestApplied: registry.steps[latestIndex].identifier
            )
        }
        obsolete = registry.applied(among: applied)
            .reduce(into: []) { $0.formUnion($1.mergedIdentifiers.intersection(applied)) }
        ledger = applied.subtracting(obsolete)
        completes = end == registry.steps.endIndex && pending.count <= limit
    }
}

/// What is wrong with a database before a run.
struct EarlierFaults {
    private(set) var missingParents: [MissingParent] = []
    private(set) var fullText = FullTextIndex.States()

    /// Nothing.
    init() {}

    init(in db: Database) throws {
        missingParents = try GRDBMigrationVerifier.missingParents(in: db)
        fullText = try FullTextIndex.States(in: db)
    }
}
