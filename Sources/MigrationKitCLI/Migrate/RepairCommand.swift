import ArgumentParser
import MigrationKit
import MigrationKitGRDB
import MigrationKitSchema

struct RepairCommand: StoreCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "repair",
            _superCommandName: Program.name,
            abstract: "Update the record of what is applied, where it is wrong.",
            usage: """
                \(Program.name) repair <identifier> ... [--yes] [<options>]
                \(Program.name) repair --rename <old=new> [--yes] [<options>]
                \(Program.name) repair --forget <identifier> [--yes] [<options>]
                \(Program.name) repair --applied <identifier> [--yes] [<options>]
                \(Program.name) repair --schema [--output <path>] [<options>]
                """,
            discussion: """
                For applied files that were edited, renamed or deleted, for migrations that were \
                recorded by mistake, and for those whose effect is there and isn't recorded. Asks \
                first. Only the record is changed. The database stays as the old files made it, so \
                the new files must have the same effect. A warning names what they would make \
                differently.

                With --applied, the schema is compared first: the database must have what the \
                migration makes. Rows aren't compared.

                With --schema, it changes nothing: it writes the SQL that gives the database the \
                schema of its applied migrations again, for you to read and to run.
                """
        )
    }

    @Argument(
        help: ArgumentHelp("A migration that 'status' calls changed.", valueName: "identifier"),
        completion: .migrations
    )
    var identifiers: [String] = []

    @Option(
        help: ArgumentHelp(
            "The old name and the new name of a renamed migration.",
            valueName: "old=new"
        )
    )
    var rename: [Renaming] = []

    @Option(
        help: ArgumentHelp(
            "Remove a migration from the record that was deleted, or recorded without running.",
            valueName: "identifier"
        )
    )
    var forget: [String] = []

    @Option(
        help: ArgumentHelp(
            "Record a pending migration as applied whose effect the database has.",
            valueName: "identifier"
        ),
        completion: .migrations
    )
    var applied: [String] = []

    @Flag(help: "Write the SQL that undoes what 'verify' finds in the check 'schema'.")
    var schema = false

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "With --schema: the file to write or replace; '-' is standard output.",
            valueName: "path"
        ),
        completion: .file()
    )
    var output = "-"

    @Option(help: .ignoredTable)
    var ignoreTable: [String] = []

    @Flag(name: .shortAndLong, help: "Don't ask.")
    var yes = false

    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var encryption: EncryptionOptions
    @OptionGroup(title: "Migrations") var migrations: MigrationsOptions

    var isReport: Bool { schema && output == "-" }

    func validate() throws {
        let changesRecord =
            !identifiers.isEmpty || !rename.isEmpty || !forget.isEmpty || !applied.isEmpty
        guard changesRecord || schema else {
            throw ValidationError("Give a migration, --rename, --forget, --applied or --schema.")
        }
        guard !(changesRecord && schema) else {
            throw ValidationError("--schema writes SQL and leaves the record. Use it alone.")
        }
        guard schema || output == "-" && ignoreTable.isEmpty else {
            throw ValidationError("--output and --ignore-table need --schema.")
        }
    }

    func run(in context: CommandContext) throws {
        if schema { return try repairSchema(in: context) }
        let loaded = try loadMigrations(in: context)
        let options = try DriftOptions(loaded, ignoring: [], in: context)
        let named = try identifiers.map { try loaded.runner.identifier($0) }
        let renamings = try rename.map { (old: $0.old, new: try loaded.runner.identifier($0.new)) }
        let recorded = try applied.map { try loaded.runner.identifier($0) }
        try loaded.folder?.checkForDrafts(in: recorded)
        let store = try openStore(loaded, for: .change(), in: context)
        try store.checkIsAdopted(in: context)
        let overview = try store.runner.overview(of: store.writer)
        if let begun = named.first(where: {
            overview.begun[$0] != nil && overview.changed.contains($0)
        }) {
            throw MigrationRepairError.begun(begun)
        }
        try check(renamings, overview, store)
        let effect =
            try recorded.isEmpty
            ? nil : store.writer.read { try store.effect(of: recorded, options, $0) }
        let changed = store.runner.registry.repairable(among: overview.applied, overview.records)
            .filter(named.contains)
        let questions =
            [changed].filter { !$0.isEmpty }.map(Self.question)
            + renamings.map { question(about: $0, overview, store.runner) }
            + forget.map { "Remove \($0) from the record, without undoing it?" }
            + (effect.map { [$0.question] } ?? [])
        if !questions.isEmpty {
            try context.confirm(
                questions.joined(separator: " ")
                    + " The database itself is not changed.",
                isAnswered: yes,
                noPrompt: database.keychain.noPrompt,
                else: MigrationCLIError.needsConfirmation(deed: deed(changed))
            )
        }
        let repaired = try store.runner.repairMigrations(
            changed,
            renaming: renamings,
            forgetting: forget,
            recording: recorded,
            in: store.writer
        ) { _ = try store.effect(of: recorded, options, $0) }
        if !json { tell(repaired, renamings, named: named, overview, in: context) }
        if !json { recorded.forEach { context.output("Recorded \($0.printable) as applied") } }
        let isChanged =
            !repaired.isEmpty || !renamings.isEmpty || !forget.isEmpty || !recorded.isEmpty
        let warning =
            try isChanged ? DriftWarning(store.runner.drift(in: store.writer, options)) : nil
        if json {
            try context.printJSON(
                fields: [
                    "database": store.path, "repaired": repaired,
                    "renamed": renamings.map { ["from": $0.old, "to": $0.new] },
                    "forgotten": forget, "recorded": recorded.isEmpty ? nil : recorded,
                    "notes": warning.map { [$0.note] },
                ]
            )
        } else if let warning {
            context.warning(warning.headline, warning.lines)
        }
    }

    private func repairSchema(in context: CommandContext) throws {
        let loaded = try loadMigrations(in: context)
        let options = try DriftOptions(loaded, ignoring: ignoreTable, in: context)
        let store = try openStore(loaded, for: .read, in: context)
        try store.checkIsAdopted(in: context)
        let repair = try SchemaRepair(of: store, options)
        let isFile = repair != nil && output != "-"
        if isFile, let repair {
            let folder = try migrations.folder(in: context)
            try OutputFile(path: output).write(repair.text + "\n", besides: folder)
        }
        if json {
            try context.printJSON(
                fields: [
                    "database": store.path,
                    "drift": repair?.changes.map(\.driftFields) ?? [],
                    "statements": repair?.statements ?? [],
                    "hazards": repair?.hazards ?? [],
                    "output": isFile ? output : nil,
                ]
            )
        } else if let repair {
            context.output(isFile ? "Wrote the SQL to \(output.printable)" : repair.text)
        } else {
            context.output("The schema is that of the applied migrations.")
        }
    }

    // MARK: - Asking

    /// Refuses what the runner would refuse, before anything is asked.
    private func check(
        _ renamings: [(old: String, new: String)],
        _ overview: MigrationOverview,
        _ store: OpenStore
    ) throws {
        for (old, _) in renamings {
            guard !Set(store.runner.migrationIdentifiers).has(old) else {
                throw MigrationRepairError.stillThere(old)
            }
            guard overview.begun[old] == nil else { throw MigrationRepairError.begun(old) }
            guard overview.applied.has(old) else { throw MigrationRepairError.notApplied(old) }
        }
        for old in forget {
            try store.writer.read { try store.runner.checkForgettable(old, $0) }
            guard overview.begun[old] != nil || overview.applied.has(old) else {
                throw MigrationRepairError.notApplied(old)
            }
        }
        for new in renamings.map(\.new) where overview.applied.has(new) {
            throw MigrationRepairError.alreadyApplied(new)
        }
    }

    private static func question(accepting changed: [String]) -> String {
        "Accept the new text of \(changed.joined(separator: ", "))?"
    }

    private func question(
        about renaming: (old: String, new: String),
        _ overview: MigrationOverview,
        _ runner: GRDBMigrationRunner
    ) -> String {
        let recorded = overview.records[renaming.old]?.checksum
        let text = runner.steps.first { $0.identifier == renaming.new }?.checksum
        let differs =
            switch (recorded, text) {
            case (let recorded?, let text?): recorded != text
            default: false
            }
        return "Record \(renaming.old) as \(renaming.new)"
            + (differs ? ", whose text differs?" : "?")
    }

    private func deed(_ changed: [String]) -> String {
        let deeds = [
            changed.isEmpty ? nil : "accept the new text",
            rename.isEmpty ? nil : "record the new name",
            forget.isEmpty ? nil : "remove the migration from the record",
            applied.isEmpty ? nil : "record the migration as applied",
        ]
        return deeds.compactMap { $0 }.joined(separator: ", and ")
    }

    // MARK: - Telling

    private func tell(
        _ repaired: [String],
        _ renamings: [(old: String, new: String)],
        named: [String],
        _ overview: MigrationOverview,
        in context: CommandContext
    ) {
        for (old, new) in renamings {
            context.output("Recorded \(old.printable) as \(new.printable)")
        }
        for identifier in forget {
            context.output("Removed \(identifier.printable) from the record")
        }
        for identifier in named where !overview.applied.has(identifier) {
            context.output("Nothing to accept: \(identifier.printable) is not applied.")
        }
        if repaired.isEmpty, !named.isEmpty, overview.applied.isSuperset(of: named) {
            context.output("Nothing to accept: the text is the same as the applied one.")
        }
        for identifier in repaired {
            context.output("Accepted the new text of \(identifier.printable)")
        }
    }
}

/// Says that the record now promises another schema than the database has.
private struct DriftWarning {
    let headline = "'verify' fails now: the schema differs from that of the applied migrations"
    private let changes: [String]

    /// - Returns: `nil` if no difference is known.
    init?(_ drift: SchemaDrift) {
        guard !drift.texts.isEmpty else { return nil }
        changes = drift.texts
    }

    private let wayOut = """
        'repair --schema' writes the SQL that changes the database. Or put the old text back, accept \
        it with 'repair' too, and write a new migration.
        """

    var lines: [String] { changes.map { "  - \($0)" } + [wayOut] }

    var note: String { "\(headline): \(changes.joined(separator: "; ")). \(wayOut)" }
}

/// `OLD=NEW` on the command line.
struct Renaming: ExpressibleByArgument {
    let old: String
    let new: String

    init?(argument: String) {
        let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { return nil }
        (old, new) = (parts[0], parts[1])
    }
}
