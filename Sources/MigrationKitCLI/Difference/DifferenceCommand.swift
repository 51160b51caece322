import Foundation
import GRDB
import MigrationKit
import MigrationKitCommon
import MigrationKitLint
import MigrationKitSQL
import MigrationKitSchema

/// A command that compares two schemas.
protocol DifferenceCommand: StoreCommand {
    var comparison: DifferenceOptions { get }
    var json: Bool { get }
}

extension DifferenceCommand {
    /// Compares two schemas. What may be a rename is asked about on a terminal, and otherwise named in
    /// a note.
    ///
    /// - Parameter asks: Whether a rename makes a difference for what the command does.
    func difference(
        from: DatabaseSchema,
        to: DatabaseSchema,
        asks: Bool,
        in context: CommandContext
    ) throws -> SchemaDifference {
        var renames = try comparison.renames
        var difference = try SchemaDifference(from: from, to: to, renames: renames)
        var declined: Set<SchemaRename> = []
        func open() -> [SchemaRename] {
            difference.possibleRenames.filter { !declined.contains($0) }
        }
        while let rename = open().first {
            guard asks, !json,
                let isRename = context.ask(
                    rename.question,
                    noPrompt: database.keychain.noPrompt
                )
            else { break }
            if isRename {
                renames.append(rename)
                difference = try SchemaDifference(from: from, to: to, renames: renames)
            } else {
                declined.insert(rename)
            }
        }
        if context.writesNotes {
            for rename in open() {
                context.note("\(rename.condition), add: --rename \(rename.argument.shellWord)")
            }
        }
        return difference
    }

    /// Plans the migration, and proves it on generated rows.
    ///
    /// - Parameters:
    ///   - names: Tables and views that the schemas leave out.
    ///   - present: A database with the present schema, in which rows are counted.
    /// - Throws: ``CommandError`` for each hazard that isn't allowed; `SchemaDifferenceError`;
    ///   `SchemaMigrationProofError`.
    func provenMigration(
        _ difference: SchemaDifference,
        ignoring names: [String] = [],
        present: (any DatabaseReader)?,
        in context: CommandContext
    ) throws -> (migration: SchemaMigration, proof: SchemaMigrationProof) {
        let backfills = try comparison.backfills
        let migration = try SchemaMigration(
            difference,
            backfills: backfills,
            configuration: context.configurationOfSteps
        )
        let hazards = migration.hazards.filter { !comparison.allowedHazards.contains($0.kind) }
        guard hazards.isEmpty else {
            throw CommandError.hazards(
                try present?.read { db in
                    try hazards.map { try CountedHazard($0, in: db) }
                } ?? hazards.map { CountedHazard($0) }
            )
        }
        let proof = try SchemaMigrationProof(
            of: migration,
            between: difference,
            backfilling: backfills.keys,
            ignoring: names,
            configuration: context.configurationOfSteps
        )
        try proof.run()
        return (migration, proof)
    }
}

// MARK: - Proof on a Copy

extension SchemaMigrationProof {
    /// Runs the migration on an encrypted copy of a database, which is removed afterwards.
    ///
    /// - Parameters:
    ///   - database: The database. It is only read.
    ///   - path: Its path.
    ///   - runner: The migrations before this one. Those that are pending run on the copy first.
    /// - Returns: How many rows each table has before and after.
    func run(
        onCopyOf database: any DatabaseReader,
        at path: String,
        after runner: GRDBMigrationRunner,
        in context: CommandContext
    ) throws -> [RowCount] {
        try ProgressDisplay(ProofProgress(), in: context).watch(MigrationOptions()) { options in
            try MigrationBackup.withTemporaryCopy(
                of: database,
                at: path,
                cancellation: options.cancellation
            ) { copy in
                if try runner.hasPendingMigrations(in: copy) {
                    _ = try runner.migrate(in: copy, options: options)
                }
                return try run(on: copy, options: options)
            }
        }
    }
}

/// The progress of a proof on a copy.
private struct ProofProgress: OperationProgress {
    static let endedState = "Nothing was written, and the copy is removed."
    static let endedAtOnceState = "The next proof removes the copy, which is encrypted."

    private var run = RunProgress()

    var line: String? {
        run.line.map { "on a copy of the database: \($0)" } ?? "copying the database"
    }

    mutating func note(_ event: MigrationEvent) { run.note(event) }
}
