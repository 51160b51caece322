import MigrationKitCommon
import Foundation
import GRDB
import MigrationKit

extension GRDBMigrationRunner {
    /// Accepts the text that applied steps have now in place of the one that ran.
    ///
    /// Nothing but the journal is written. The caller must know whether the database is as the new
    /// text would have made it.
    ///
    /// - Parameters:
    ///   - identifiers: The steps.
    ///   - writer: The database, opened for writing.
    ///   - options: How long to wait for another process that is migrating the database.
    /// - Returns: The identifiers of those that had another text, in order.
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

    /// Accepts the text that applied steps have now, and brings the ledger in line with steps that
    /// were renamed or deleted after they were applied.
    ///
    /// Nothing but the ledger and the journal is written, all of it in one transaction. The caller
    /// must know whether the database is as the steps would have made it.
    ///
    /// - Parameters:
    ///   - identifiers: The steps whose text is accepted. A step that gets its name here has its
    ///     text accepted with it.
    ///   - renamings: The applied steps that the runner doesn't know, each with the pending step
    ///     that is recorded as applied in its place.
    ///   - forgotten: The applied steps that the runner doesn't know, and that are taken out of the
    ///     ledger.
    ///   - writer: The database, opened for writing.
    ///   - options: How long to wait for another process that is migrating the database.
    /// - Returns: The identifiers of those that had another text, in order.
    /// - Throws: ``MigrationRepairError``; `MigrationKitError.unknownMigrationIdentifier(_:)`.
    @discardableResult
    public func repairMigrations(
        _ identifiers: [String],
        renaming renamings: [(old: String, new: String)],
        forgetting forgotten: [String],
        in writer: any DatabaseWriter,
        options: MigrationOptions = MigrationOptions()
    ) throws -> [String] {
        let known = Set(migrationIdentifiers)
        let unknown = (identifiers + renamings.map(\.new)).first { !known.contains($0) }
        if let unknown { throw MigrationKitError.unknownMigrationIdentifier(unknown) }

        return try MigrationLock.hold(for: writer, options: options) {
            try DurableCommits.during(on: writer) {
                try writer.write { db in
                    var applied = try MigrationLedger.read(db)
                    for (old, new) in renamings {
                        try take(old, outOf: &applied, noting: .renamed, db)
                        guard applied.insert(new).inserted else {
                            throw MigrationRepairError.alreadyApplied(new)
                        }
                        _ = try record([new], in: db)
                    }
                    for old in forgotten {
                        try take(old, outOf: &applied, noting: .forgotten, db)
                    }
                    let changed = try registry.changed(among: applied, db)
                    let steps = registry.steps.filter {
                        identifiers.contains($0.identifier) && changed.contains($0.identifier)
                    }
                    for step in steps {
                        try MigrationJournal.add(.repaired, step, db)
                    }
                    return steps.map(\.identifier)
                }
            }
        }
    }

    private func take(
        _ identifier: String,
        outOf applied: inout Set<String>,
        noting event: MigrationHistoryEntry.Event,
        _ db: Database
    ) throws {
        guard !migrationIdentifiers.contains(identifier) else {
            throw MigrationRepairError.stillThere(identifier)
        }
        guard applied.remove(identifier) != nil else {
            throw MigrationRepairError.notApplied(identifier)
        }
        try MigrationLedger.remove([identifier], db)
        let step = MigrationStep<Database>(
            identifier: identifier,
            sourceFile: "",
            apply: { _ in }
        )
        try MigrationJournal.add(event, step, db)
    }
}

/// A reason for which the ledger can't be brought in line with steps that were renamed or deleted.
public enum MigrationRepairError: Error, Equatable, Sendable {
    /// The ledger doesn't have the step that was renamed or deleted.
    case notApplied(String)

    /// The runner has the step that is said to be renamed or deleted.
    case stillThere(String)

    /// The step whose name another one has got is recorded as applied already.
    case alreadyApplied(String)
}

extension MigrationRepairError: LocalizedError {
    /// What is wrong, in one line.
    public var errorDescription: String? {
        switch self {
        case .notApplied(let identifier):
            "no migration '\(identifier)' is recorded as applied"
        case .stillThere(let identifier):
            "the migration '\(identifier)' is still there: it was neither renamed nor deleted"
        case .alreadyApplied(let identifier):
            "the migration '\(identifier)' is recorded as applied already"
        }
    }

    /// What to do about it.
    public var recoverySuggestion: String? {
        switch self {
        case .notApplied:
            "Give the full identifier of an applied migration."
        case .stillThere:
            "To undo it, roll it back. To accept its new text, repair it without renaming or forgetting it."
        case .alreadyApplied:
            "If the old entry is not needed, forget it instead."
        }
    }
}

extension MigrationRepairError: CodedError {
    /// What programs are given of the error.
    public var code: ErrorCode {
        switch self {
        case .notApplied: ErrorCode("notApplied", .usage)
        case .stillThere: ErrorCode("stillThere", .usage)
        case .alreadyApplied: ErrorCode("alreadyApplied", .usage)
        }
    }
}
