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
    /// The tools that have migrated the database, if this tool has recorded nothing in it.
    ///
    /// Other tools work only with a folder, not with a host's steps. A `user_version` counts if the
    /// schema is the one that it stands for: apps use that number for other things, too.
    func otherTools(in context: CommandContext) throws -> [OtherTool] {
        guard folder != nil else { return [] }
        return try writer.read { db in
            guard try runner.appliedMigrationIdentifiers(in: db).isEmpty, try !wasRolledBack(db)
            else { return [] }
            let found = try MigrationTool.found(in: db).map(OtherTool.init)
            guard found.isEmpty else { return found }
            return try isCounted(db, in: context)
                ? [OtherTool(tool: .userVersion, table: nil)] : []
        }
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
        let tools = try otherTools(in: context)
        guard tools.isEmpty else { throw tools.notAdopted }
    }

    /// Prints a note if another tool has migrated the database.
    ///
    /// - Returns: The tools for a JSON document; `nil` if there are none.
    func noteOtherTools(in context: CommandContext, json: Bool) throws -> [OtherTool]? {
        let tools = try otherTools(in: context)
        guard !tools.isEmpty else { return nil }
        let note = tools.note
        if !json { context.note(note.headline, note.lines) }
        return tools
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
            let options = try DriftOptions(
                LoadedMigrations(runner: runner, folder: folder),
                ignoring: [],
                in: context
            )
            let drift = try runner.drift(in: db, from: adoption.identifiers, options)
            if case .differs = drift { throw CommandError.otherSchema(drift, of: adoption) }
        }
        return adoption
    }

    /// Records as applied what another tool's table lists, or `PRAGMA user_version` counts. They
    /// stay as they are.
    ///
    /// - Returns: The identifiers that were recorded.
    /// - Throws: ``MigrationCLIError/adoptionWithoutFolder``; `MigrationAdoptionError`;
    ///   ``CommandError`` if the schema isn't that of the version; what the runner's baseline throws,
    ///   for a database that has a ledger already.
    func adopt(
        _ tool: MigrationTool,
        table: String?,
        options: MigrationOptions,
        in context: CommandContext
    ) throws -> [String] {
        try runner.baseline(in: writer, options: options) { db in
            try adoption(from: tool, table, db, in: context).identifiers
        }
    }

    /// Records what was looked at before a run, unless there is nothing to record, or another launch was
    /// faster.
    ///
    /// - Throws: As ``adopt(_:table:options:in:)``.
    func adopt(
        _ adoption: MigrationAdoption,
        table: String?,
        options: MigrationOptions,
        in context: CommandContext
    ) throws -> [String] {
        let isRepeated = adoption.tool == .userVersion
        if isRepeated, adoption.identifiers.isEmpty { return [] }
        do {
            return try adopt(adoption.tool, table: table, options: options, in: context)
        } catch MigrationKitError.baselineOnMigratedDatabase where isRepeated {
            return []
        }
    }
}

/// Another tool that has migrated a database, as in a JSON document.
struct OtherTool: Encodable {
    let tool: MigrationTool
    /// Its table; `nil` for `user_version`.
    let table: String?

    /// The words of the command that continues the database here.
    fileprivate var adoption: [String] {
        ["migrate", "--adopt", tool.rawValue]
            + (table.map { $0.lowercased() == tool.versionTable ? [] : ["--adopt-table", $0] } ?? [])
    }
}

extension MigrationTool: Encodable {}

extension CommandError {
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

extension [OtherTool] {
    /// The note for commands that change nothing.
    fileprivate var note: (headline: String, lines: [String]) {
        hasTwoHistories ? (fact, [Self.oneHistory]) : ("\(fact); adopt it with \(ways)", [])
    }

    /// The error for commands that would run the other tool's migrations again.
    fileprivate var notAdopted: CommandError {
        CommandError(
            ErrorCode("notAdopted", .dataError),
            fact,
            hasTwoHistories
                ? """
                \(Self.oneHistory)
                For a merged folder, 'baseline' records which of its migrations are applied.
                """
                : """
                MigrationKit has no record of those migrations, and would run them again. \(ways) records \
                the migrations that were applied, then continues. Add --dry-run to list them. To \
                choose them yourself, use 'baseline'.
                """
        )
    }

    /// Whether several tables record migrations. Only one of them can be continued.
    private var hasTwoHistories: Bool { count > 1 }

    private static var oneHistory: String {
        """
        Several histories in one database are not supported: keep each history's tables in a file of \
        their own, or merge the folders into one that continues both. See the page Folders.md of \
        the documentation, "One history in a database".
        """
    }

    private var fact: String {
        guard !map(\.tool).contains(.userVersion) else {
            return """
                code that counts in user_version has migrated this database: it has the schema that \
                the number stands for
                """
        }
        let tables = compactMap { $0.table.map { "'\($0)'" } }.joined(separator: ", ")
        let names = MigrationTool.allCases.filter(map(\.tool).contains).map(\.rawValue)
            .joined(separator: " and ")
        let have = Set(map(\.tool)).count == 1 ? "has" : "have"
        return "\(names) \(have) migrated this database (see the table \(tables))"
    }

    private var ways: String {
        map { "'\($0.adoption.shellCommand)'" }.joined(separator: " or ")
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
