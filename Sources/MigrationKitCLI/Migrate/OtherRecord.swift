import MigrationKitCommon
import MigrationKitSQL

/// What else than this tool's record says that migrations were applied.
enum OtherRecord {
    /// Other tools' tables, or `user_version`.
    case tools([OtherTool])

    /// A table that is no known tool's.
    case counter(CountedTable)

    /// The tools for a JSON document.
    var tools: [OtherTool]? {
        if case .tools(let tools) = self { tools } else { nil }
    }

    /// The counter for a JSON document.
    var counter: CountedTable? {
        if case .counter(let counter) = self { counter } else { nil }
    }

    /// The note for commands that change nothing.
    var note: (headline: String, lines: [String]) {
        switch self {
        case .tools(let tools): tools.note
        case .counter(let counter):
            (counter.fact, counter.way.split(separator: "\n").map(String.init))
        }
    }

    /// The error for commands that would run the applied migrations again.
    var notAdopted: CommandError {
        switch self {
        case .tools(let tools): tools.notAdopted
        case .counter(let counter): counter.notAdopted
        }
    }
}

/// A table that may count migrations, and is no known tool's, as in a JSON document.
struct CountedTable: Encodable {
    let table: String

    /// What it has for its latest migration.
    let version: String

    /// That migration.
    let migration: String

    /// What the database's schema has otherwise than that of the migrations up to this one; `nil` if that
    /// isn't known.
    let differences: [String]?

    private enum CodingKeys: CodingKey {
        case table, version, migration
    }

    /// Whether the database has the schema of the migrations up to this one.
    var hasSchema: Bool { differences?.isEmpty == true }

    fileprivate var fact: String {
        let schema =
            hasSchema
            ? ", and the database has its schema" : ""
        return """
            the table '\(table)' has \(version), which is the migration \(migration)\(schema); no migration \
            is recorded here
            """
    }

    fileprivate var way: String {
        let baseline = "'baseline \(migration.shellWord)'"
        guard !hasSchema else {
            return """
                If the migrations up to that one are applied, \(baseline) records them, without running \
                them. It is no table of a tool that '--adopt' knows.
                """
        }
        let schema =
            differences.map {
                "The schema isn't that of the migrations up to it:\n"
                    + $0.map { "- \($0)\n" }.joined()
            } ?? ""
        return """
            \(schema)If the migrations up to that one are applied, \(baseline) records them, without \
            running them and without comparing. If the table has nothing to do with the migrations, name \
            it in the setting ignore-table.
            """
    }

    fileprivate var notAdopted: CommandError {
        CommandError(
            ErrorCode("notAdopted", .dataError),
            fact,
            "MigrationKit would run them again, and so it did nothing. \(way)"
        )
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
