import GRDB
import MigrationKit

/// What makes a rollback a downgrade: it takes back steps that the program may not know, by the SQL in
/// the database's journal.
package struct Downgrade {
    /// The step that the database goes back to; `nil` for the last one that the program knows.
    private let target: String?

    /// The backup that was made before it, as the journal names it.
    let backup: String?

    /// Runs first in the transaction.
    let begin: (Database) throws -> Void

    /// Runs in the transaction when the steps are taken back, and refuses what they have left.
    let check: (Database) throws -> Void

    package init(
        to target: String?,
        backup: String? = nil,
        begin: @escaping (Database) throws -> Void = { _ in },
        check: @escaping (Database) throws -> Void
    ) {
        self.target = target
        self.backup = backup
        self.begin = begin
        self.check = check
    }

    /// The steps to take back, newest first.
    ///
    /// - Throws: `MigrationKitError.cannotDowngrade(_:)`;
    ///   `MigrationKitError.noKnownMigration(applied:)`;
    ///   `MigrationKitError.rollbackTargetNotApplied(_:)`;
    ///   `MigrationKitError.appliedMigrationsMissing(_:)`.
    func steps(
        _ started: MigrationLedger.Started,
        _ runner: GRDBMigrationRunner,
        _ db: Database
    ) throws -> [MigrationStep<Database>] {
        let registry = runner.registry
        try registry.checkHasAll(started.applied)
        let newer = try registry.newer(among: started.applied, db)
        let known = registry.applied(among: started.all)
        // Of another program, perhaps: its own steps are no reason to take all of these back.
        if known.isEmpty, target == nil, !newer.isEmpty {
            throw MigrationKitError.noKnownMigration(applied: newer.map(\.identifier))
        }
        let all = known.map(\.identifier) + newer.map(\.identifier)
        let keeps: Int
        if let target {
            guard let place = all.firstIndex(where: { $0.utf8.elementsEqual(target.utf8) }) else {
                throw MigrationKitError.rollbackTargetNotApplied(target)
            }
            keeps = place + 1
        } else {
            keeps = known.count
        }
        let lasting = newer.suffix(all.count - max(keeps, known.count))
            .filter { !$0.canBeTakenBack }
        guard lasting.isEmpty else { throw MigrationKitError.cannotDowngrade(lasting) }
        let records = try MigrationJournal.records(db)
        let taken = newer.map { step in
            MigrationStep<Database>(
                identifier: step.identifier,
                sourceFile: "",
                rollbackSQL: step.isBegun
                    ? started.begun[step.identifier]?.rollbackSQL
                    : records[step.identifier]?.rollbackSQL,
                apply: { _ in }
            )
        }
        // What is begun can't stay while what was applied before is taken back.
        let goesBehindBegun = target == nil && newer.contains { !$0.isBegun }
        let begun =
            goesBehindBegun ? known.filter { started.begun[$0.identifier] != nil } : []
        return begun + (known + taken).dropFirst(keeps).reversed()
    }
}

extension GRDBMigrationRunner {
    /// The steps that a downgrade would take back, newest first.
    package func plannedDowngrade(
        to target: String?,
        in writer: any DatabaseWriter,
        options: MigrationOptions
    ) throws -> [String] {
        try backwardRun(in: writer, Downgrade(to: target) { _ in }, options).planned()
    }

    /// Takes steps back and undoes that.
    package func tryOut(
        _ downgrade: Downgrade,
        in writer: any DatabaseWriter,
        options: MigrationOptions
    ) throws {
        let run = backwardRun(in: writer, downgrade, options)
        try MigrationLock.hold(for: writer, options: options) {
            try BusyWaiting.during(options, on: writer) {
                try writer.barrierWriteWithoutTransaction { db in
                    defer { db.forgetSchema() }
                    try run.rollBackAllOrNothing(db, ending: .rollback)
                }
            }
        }
    }

    /// Takes steps back, after `prepare` has run under the lock between processes.
    package func run(
        in writer: any DatabaseWriter,
        options: MigrationOptions,
        preparing prepare: () throws -> Downgrade
    ) throws -> MigrationReport {
        try MigrationLock.hold(for: writer, options: options) {
            var options = options
            options.isUnderLock = true
            return try backwardRun(in: writer, prepare(), options).run()
        }
    }

    private func backwardRun(
        in writer: any DatabaseWriter,
        _ downgrade: Downgrade,
        _ options: MigrationOptions
    ) -> BackwardRun {
        var options = options
        options.transaction = .allOrNothing
        return BackwardRun(self, on: writer, options: options, downgrade: downgrade) {
            try downgrade.steps($0, self, $1)
        }
    }
}
