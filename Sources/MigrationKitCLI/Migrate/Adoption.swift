import ArgumentParser
import MigrationKitCommon
import GRDB
import MigrationKit
import MigrationKitGRDB
import MigrationKitSQL
import MigrationKitSchema

extension MigrationTool: ExpressibleByArgument {
    /// The names on the command line. ArgumentParser would take them from a key path, which costs
    /// every `migrate` some time.
    public static var allValueStrings: [String] { allCases.map { $0.rawValue } }
}

/// Options for continuing a database that something else has migrated.
struct AdoptionOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Record what another tool has applied, read from its own table; or with 'user_version', \
            what code has applied that counts there.
            """,
            valueName: "tool"
        )
    )
    var adopt: MigrationTool?

    @Option(
        help: ArgumentHelp(
            "With --adopt: the name of that table, if it isn't the tool's default.",
            valueName: "name"
        )
    )
    var adoptTable: String?

    func validate() throws {
        guard adoptTable == nil || adopt != nil else {
            throw ValidationError("--adopt-table needs --adopt.")
        }
        guard adoptTable == nil || adopt != .userVersion else {
            throw ValidationError("user_version is no table. Leave out --adopt-table.")
        }
    }
}

extension OpenStore {
    /// What else says that migrations were applied to the database, if this tool has recorded nothing in
    /// it; `nil` if there is nothing.
    ///
    /// Other tools work only with a folder, not with a host's steps. A `user_version` counts if the
    /// schema is the one that it stands for: apps use that number for other things, too.
    func otherRecord(in context: CommandContext) throws -> OtherRecord? {
        guard let folder else { return nil }
        return try writer.read { db in
            guard try runner.appliedMigrationIdentifiers(in: db).isEmpty, try !wasRolledBack(db)
            else { return nil }
            let found = try MigrationTool.found(in: db).map(OtherTool.init)
            guard found.isEmpty else { return .tools(found) }
            if let counter = try folder.counters(in: db).first,
                let counted = try counted(by: counter, db, in: context)
            {
                return .counter(counted)
            }
            return try isCounted(db, in: context)
                ? .tools([OtherTool(tool: .userVersion, table: nil)]) : nil
        }
    }

    /// What is known of a table that may count migrations.
    ///
    /// - Returns: `nil` if the settings say that it has nothing to do with the migrations, and the schema
    ///   is another.
    private func counted(
        by counter: VersionCounter,
        _ db: Database,
        in context: CommandContext
    ) throws -> CountedTable? {
        let identifiers = runner.migrationIdentifiers
        let last = identifiers.firstIndex(of: counter.identifier) ?? 0
        var options = try driftOptions(in: context)
        options.ignoredNames.append(counter.table)
        var differences: [String]?
        do {
            let drift = try runner.drift(in: db, from: Array(identifiers[...last]), options)
            if case .differs = drift { differences = drift.texts } else { differences = [] }
        } catch is GRDBMigrationReplayError {}
        let counted = CountedTable(
            table: counter.table,
            version: counter.version,
            migration: counter.identifier,
            differences: differences
        )
        let ignored: [String] = try context.settings()?.value(.ignoreTable) ?? []
        return counted.hasSchema || !ignored.namesTable(counter.table) ? counted : nil
    }

    /// How schemas are compared here.
    private func driftOptions(in context: CommandContext) throws -> DriftOptions {
        try DriftOptions(
            LoadedMigrations(runner: runner, folder: folder),
            ignoring: [],
            in: context
        )
    }

    /// Whether migrations were rolled back, which other tools' tables and `user_version` don't show. What was
    /// only forgotten is still there.
    private func wasRolledBack(_ db: Database) throws -> Bool {
        try GRDBMigrationRunner.history(in: db).contains { $0.event == .rolledBack }
    }

    /// Whether the database has tables, and a `user_version` whose schema they have.
    private func isCounted(_ db: Database, in context: CommandContext) throws -> Bool {
        guard try !SchemaObject.ownInAnyOrder(of: db).isEmpty else { return false }
        do {
            return try !adoption(from: .userVersion, nil, db, in: context).identifiers.isEmpty
        } catch is MigrationAdoptionError {
            return false
        } catch is CommandError {
            let number = try Int.fetchOne(db, sql: "PRAGMA main.user_version") ?? 0
            context.warning(
                """
                the database's user_version is \(number), the number of a migration, and its schema \
                is another: if code counts there, 'migrate --adopt user_version --dry-run' says what \
                differs
                """
            )
            return false
        } catch is GRDBMigrationReplayError {
            return false
        }
    }

    /// Refuses a database that another tool has migrated: its migrations would be applied a second
    /// time.
    ///
    /// - Throws: ``CommandError`` if there is one.
    func checkIsAdopted(in context: CommandContext) throws {
        if let record = try otherRecord(in: context) { throw record.notAdopted }
    }

    /// Prints a note if another tool has migrated the database.
    ///
    /// - Returns: The record for a JSON document; `nil` if there is none.
    func noteOtherRecord(in context: CommandContext, json: Bool) throws -> OtherRecord? {
        guard let record = try otherRecord(in: context) else { return nil }
        let note = record.note
        if !json { context.note(note.headline, note.lines) }
        return record
    }

    /// Reads what is to be adopted, before anything is recorded.
    ///
    /// - Returns: `nil` if migrations are recorded already: the database was adopted before.
    /// - Throws: What ``adopt(_:table:options:in:)`` throws.
    func adoption(
        from tool: MigrationTool,
        table: String?,
        in context: CommandContext
    ) throws -> MigrationAdoption? {
        try writer.read { db in
            guard try runner.appliedMigrationIdentifiers(in: db).isEmpty else { return nil }
            if tool == .userVersion, try wasRolledBack(db) { return nil }
            return try adoption(from: tool, table, db, in: context)
        }
    }

    private func adoption(
        from tool: MigrationTool,
        _ table: String?,
        _ db: Database,
        in context: CommandContext
    ) throws -> MigrationAdoption {
        guard let folder else { throw MigrationCLIError.adoptionWithoutFolder }
        let adoption = try folder.adoption(from: tool, table: table, in: db)
        if tool == .userVersion, !adoption.identifiers.isEmpty {
            // A number says less than a table: others may have counted otherwise.
            let options = try driftOptions(in: context)
            let drift = try runner.drift(in: db, from: adoption.identifiers, options)
            if case .differs = drift { throw CommandError.otherSchema(drift, of: adoption) }
        }
        return adoption
    }

    /// Checks a run that begins by recording what was read, and changes nothing.
    ///
    /// - Returns: Whether there is anything to do.
    /// - Throws: ``CommandError`` if the record has gaps; what the run would throw before its first step.
    func checkRun(
        adopting adoption: MigrationAdoption?,
        _ range: MigrationRange = MigrationRange(),
        _ transaction: MigrationTransaction = .perStep
    ) throws -> Bool {
        let recorded = adoption?.identifiers ?? []
        let planned = try explainingGaps(in: adoption?.tool) {
            try runner.plannedSteps(
                in: writer,
                recording: recorded,
                range,
                transaction: transaction
            )
        }
        return !planned.isEmpty || !recorded.isEmpty
    }

    /// Records as applied what another tool's table lists, or `PRAGMA user_version` counts. They
    /// stay as they are. If the run that follows is refused, nothing is recorded.
    ///
    /// - Returns: The identifiers that were recorded.
    /// - Throws: ``MigrationCLIError/adoptionWithoutFolder``; `MigrationAdoptionError`;
    ///   ``CommandError`` if the schema isn't that of the version, or the record has gaps; what the
    ///   runner's baseline throws, for a database that has a ledger already.
    func adopt(
        _ tool: MigrationTool,
        table: String?,
        before range: MigrationRange = MigrationRange(),
        options: MigrationOptions,
        in context: CommandContext
    ) throws -> [String] {
        try explainingGaps(in: tool) {
            try runner.baseline(
                in: writer,
                before: range,
                options: options
            ) { db in
                try adoption(from: tool, table, db, in: context).identifiers
            }
        }
    }

    /// Explains a record that lists a migration and not one before it.
    private func explainingGaps<Value>(
        in tool: MigrationTool?,
        _ body: () throws -> Value
    ) throws -> Value {
        do {
            return try body()
        } catch let error as MigrationKitError {
            guard case .pendingBeforeApplied(let pending, let latest) = error, let tool else {
                throw error
            }
            throw CommandError.gaps(in: tool, missing: pending, before: latest)
        }
    }
}

extension [String] {
    /// Whether a table is among names that may end in `*`.
    fileprivate func namesTable(_ table: String) -> Bool {
        let table = table.lowercased()
        return contains { pattern in
            let pattern = pattern.lowercased()
            return pattern == table
                || pattern.hasSuffix("*") && table.hasPrefix(pattern.dropLast())
        }
    }
}

extension CommandError {
    /// The error for a record that lists a migration and not those before it.
    fileprivate static func gaps(
        in tool: MigrationTool,
        missing: [String],
        before latest: String
    ) -> CommandError {
        CommandError(
            ErrorCode("pendingBeforeApplied", .dataError),
            """
            \(tool.rawValue)'s record has \(latest), and not what comes before it: \
            \(missing.joined(separator: ", "))
            """,
            """
            Nothing was recorded. If they are applied, too, 'baseline \(latest.shellWord)' records all up \
            to that one. If they came later, from another branch, and are to run now: 'migrate --adopt \
            \(tool.rawValue) --allow-out-of-order'.
            """
        )
    }

    /// The error for a database whose schema isn't that of the version that it names.
    fileprivate static func otherSchema(
        _ drift: SchemaDrift,
        of adoption: MigrationAdoption
    ) -> CommandError {
        CommandError(
            ErrorCode("otherSchema", .dataError),
            """
            the schema isn't that of the migrations up to \(adoption.identifiers.last ?? ""), which \
            user_version counts
            """,
            (drift.texts.map { "- \($0)" } + [
                """
                Nothing was recorded. Bring the file of the migration to the schema that the databases \
                of that version have. Tables that no migration makes are left out with the setting \
                ignore-table. 'baseline IDENTIFIER' records without comparing.
                """
            ]).joined(separator: "\n")
        )
    }
}

extension MigrationAdoptionError: ToolSuggesting {
    var suggestion: String? {
        guard case .noVersionTable = self else { return recoverySuggestion }
        return """
            Check that it is the right database and the right tool. If the tool was given another \
            name for its table, name that one with --adopt-table.
            """
    }
}
