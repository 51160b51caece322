import MigrationKitCommon
import Foundation
import GRDB
import MigrationKit

extension GRDBMigrationRunner {
    /// Accepts the current text of applied steps instead of the text that ran.
    ///
    /// Only the journal is written. The caller must know that the database is as the new text would
    /// have made it.
    ///
    /// - Parameters:
    ///   - identifiers: The steps.
    ///   - writer: The database, opened for writing.
    ///   - options: How long to wait for another process that is migrating the database.
    /// - Returns: The identifiers of the steps whose text or rollback in SQL differed, in order.
    /// - Throws: `MigrationKitError.unknownMigrationIdentifier(_:)`.
    @discardableResult
    public func repairMigrations(
        _ identifiers: [String],
        in writer: any DatabaseWriter,
        options: MigrationOptions = MigrationOptions()
    ) throws -> [String] {
        try repairMigrations(
            identifiers,
            renaming: [],
            forgetting: [],
            in: writer,
            options: options
        )
    }

    /// Accepts the current text of applied steps, and updates the ledger for steps that were
    /// renamed or deleted after they were applied, that were recorded by mistake, or whose result is there
    /// and isn't recorded.
    ///
    /// Only the ledger and the journal are written, in one transaction. The caller must know that
    /// the database is as the steps would have made it.
    ///
    /// - Parameters:
    ///   - identifiers: The steps whose text is accepted. Not needed for the new name of a renamed
    ///     step.
    ///   - renamings: Applied steps that the runner doesn't have, each with the pending step that
    ///     is recorded as applied instead.
    ///   - forgotten: Steps that are removed from the record: applied or begun ones that the runner doesn't
    ///     have, and those that were recorded without running, by a baseline.
    ///   - recorded: Pending steps whose result the database has, and that are recorded as applied.
    ///   - writer: The database, opened for writing.
    ///   - options: How long to wait for another process that is migrating the database.
    /// - Returns: The identifiers of the steps whose text or rollback in SQL differed, in order.
    /// - Throws: ``MigrationRepairError``; `MigrationKitError.unknownMigrationIdentifier(_:)`;
    ///   `MigrationKitError.pendingBeforeApplied(pending:latestApplied:)` if a step before a recorded one
    ///   would still be pending, unless the runner allows it.
    @discardableResult
    public func repairMigrations(
        _ identifiers: [String],
        renaming renamings: [(old: String, new: String)],
        forgetting forgotten: [String],
        recording recorded: [String] = [],
        in writer: any DatabaseWriter,
        options: MigrationOptions = MigrationOptions()
    ) throws -> [String] {
        try repairMigrations(
            identifiers,
            renaming: renamings,
            forgetting: forgotten,
            recording: recorded,
            in: writer,
            options: options
        ) { _ in }
    }

    /// - Parameter check: Throws, in the transaction, if the steps to record can't be.
    @discardableResult
    package func repairMigrations(
        _ identifiers: [String],
        renaming renamings: [(old: String, new: String)],
        forgetting forgotten: [String],
        recording recorded: [String],
        in writer: any DatabaseWriter,
        options: MigrationOptions = MigrationOptions(),
        checking check: (Database) throws -> Void
    ) throws -> [String] {
        let known = Set(migrationIdentifiers)
        let unknown = (identifiers + renamings.map(\.new) + recorded).first { !known.has($0) }
        if let unknown { throw MigrationKitError.unknownMigrationIdentifier(unknown) }

        return try MigrationLock.hold(for: writer, options: options) {
            try DurableCommits.during(on: writer) {
                try writer.write { db in
                    if !recorded.isEmpty { try check(db) }
                    let started = try MigrationLedger.started(db)
                    var applied = started.applied
                    let changed = registry.changed(begun: started.begun)
                    if let begun = identifiers.first(where: changed.contains) {
                        throw MigrationRepairError.begun(begun)
                    }
                    for (old, new) in renamings {
                        try take(old, outOf: &applied, noting: .renamed, db)
                        guard started.begun[new] == nil, applied.insert(new).inserted else {
                            throw MigrationRepairError.alreadyApplied(new)
                        }
                        _ = try record([new], in: db)
                    }
                    for old in forgotten {
                        try take(old, outOf: &applied, noting: .forgotten, db)
                    }
                    try record(recorded, besides: &applied, db)
                    let records = try MigrationJournal.records(db)
                    let repairable = registry.repairable(among: applied, records)
                    let steps = registry.steps.filter {
                        identifiers.contains($0.identifier) && repairable.contains($0.identifier)
                    }
                    for step in steps {
                        try note(.repaired, step, db)
                    }
                    return steps.map(\.identifier)
                }
            }
        }
    }

    /// Takes out what was recorded without running, if nothing has run since.
    ///
    /// - Parameter identifiers: What was recorded before a run that failed.
    /// - Returns: Whether nothing is recorded now.
    package func forgetRecorded(
        _ identifiers: [String],
        in writer: any DatabaseWriter,
        options: MigrationOptions = MigrationOptions()
    ) throws -> Bool {
        try MigrationLock.hold(for: writer, options: options) {
            try DurableCommits.during(on: writer) {
                try writer.write { db in
                    var started = try MigrationLedger.started(db)
                    guard started.begun.isEmpty, !identifiers.isEmpty,
                        started.applied == Set(identifiers),
                        try MigrationJournal.recordedWithoutRunning(db) == started.applied
                    else { return false }
                    for identifier in identifiers {
                        try take(identifier, outOf: &started.applied, noting: .forgotten, db)
                    }
                    return true
                }
            }
        }
    }

    private func record(
        _ identifiers: [String],
        besides applied: inout Set<String>,
        _ db: Database
    ) throws {
        guard !identifiers.isEmpty else { return }
        try checkPending(identifiers, db)
        let lateBefore = Set(registry.late(among: applied))
        applied.formUnion(identifiers)
        let late = registry.late(among: applied).filter { !lateBefore.contains($0) }
        guard late.isEmpty else {
            throw MigrationKitError.pendingBeforeApplied(
                pending: late,
                latestApplied: registry.applied(among: applied).last?.identifier ?? ""
            )
        }
        _ = try record(identifiers, in: db)
    }

    /// Throws if one of these steps is applied or begun.
    package func checkPending(_ identifiers: [String], _ db: Database) throws {
        let applied = try MigrationLedger.read(db)
        let begun = try MigrationJournal.begun(db)
        for identifier in identifiers {
            guard !applied.has(identifier) else {
                throw MigrationRepairError.alreadyApplied(identifier)
            }
            guard begun[identifier] == nil else { throw MigrationRepairError.begun(identifier) }
        }
    }

    /// Throws if the record of a step can't be removed.
    package func checkForgettable(_ identifier: String, _ db: Database) throws {
        guard Set(migrationIdentifiers).has(identifier) else { return }
        guard try MigrationLedger.read(db).has(identifier) else {
            throw MigrationRepairError.notApplied(identifier)
        }
        guard try MigrationJournal.recordedWithoutRunning(db).has(identifier) else {
            throw MigrationRepairError.stillThere(identifier)
        }
    }

    private func take(
        _ identifier: String,
        outOf applied: inout Set<String>,
        noting event: MigrationHistoryEntry.Event,
        _ db: Database
    ) throws {
        if event == .forgotten {
            try checkForgettable(identifier, db)
        } else if Set(migrationIdentifiers).has(identifier) {
            throw MigrationRepairError.stillThere(identifier)
        }
        if applied.has(identifier) {
            applied.remove(identifier)
            try MigrationLedger.remove([identifier], db)
        } else if event == .forgotten, let begun = try MigrationJournal.begun(db)[identifier] {
            try MigrationJournal.end(begun, db)
        } else {
            guard try MigrationJournal.begun(db)[identifier] == nil else {
                throw MigrationRepairError.begun(identifier)
            }
            throw MigrationRepairError.notApplied(identifier)
        }
        let step = MigrationStep<Database>(
            identifier: identifier,
            sourceFile: "",
            apply: { _ in }
        )
        try note(event, step, db)
    }
}
