import ArgumentParser
import Foundation
import MigrationKit
import MigrationKitCommon
import MigrationKitGRDB
import MigrationKitLint
import MigrationKitSQL

struct LintCommand: StoreCommand, DatabaseCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "lint",
            _superCommandName: Program.name,
            abstract: "Find what would lose data or fail in the migrations.",
            usage: """
                \(Program.name) lint [<\(MigrationsArgument.name)>] [--level <level>]
                  [--format <format>] [<options>]
                \(Program.name) lint --since <identifier> | --pending | --base <ref>
                \(Program.name) lint --explain <rule>
                """,
            discussion: """
                Needs no database and no key: the migrations run on an empty one in memory. If the \
                command line names a database, its rows decide what can fail; nothing is written.

                Exits with 3 if a finding is an error, or reaches --level. Notes are only counted \
                unless --level is 'note'; json and sarif always have all findings.

                Formats: 'human'; 'json' for programs; 'sarif' (2.1.0) for code hosts; 'github' \
                for annotations in GitHub Actions; 'junit' for reports of tests.

                '-- migrationkit:allow RULE reason' above a statement silences a rule for it. The \
                table [lint] of the settings file changes the level of a rule, or turns it off.
                """
        )
    }

    @OptionGroup var argument: MigrationsArgument

    @Option(
        help: ArgumentHelp(
            "Check only the migrations after this one; the beginning of its name is enough.",
            valueName: "identifier"
        ),
        completion: .migrations
    )
    var since: String?

    @Flag(help: "Check only the migrations that are pending in the database.")
    var pending = false

    @Option(
        help: ArgumentHelp(
            """
            Check only what is new or different since this branch, tag or commit of git, and that \
            what was there is unchanged.
            """,
            valueName: "ref"
        )
    )
    var base: String?

    @Option(
        help: ArgumentHelp(
            "Print the page of a rule: what it finds, why, and what to do instead.",
            valueName: "rule"
        ),
        completion: .list(LintRule.allCases.map(\.rawValue)),
        transform: { name in
            if let rule = LintRule(rawValue: name) { return rule }
            let names = LintRule.allCases.map(\.rawValue)
            let meant = nearest(to: name, among: names).map { " Did you mean '\($0)'?" }
            throw ValidationError("There is no rule '\(name)'.\(meant ?? "")")
        }
    )
    var explain: LintRule?

    @Option(help: "Exit with 3 from this level on: error, warning or note; default: error.")
    var level: LintLevel?

    @Option(help: "The format: human, json, sarif, github or junit; default: human.")
    var format: LintFormat?

    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var encryption: EncryptionOptions
    @OptionGroup(title: "Migrations") var migrations: MigrationsOptions

    var isReport: Bool { true }

    var needsNoDatabase: Bool { true }

    func validate() throws {
        let selections =
            [since.map { _ in "--since" }, base.map { _ in "--base" }]
            .compactMap { $0 } + (pending ? ["--pending"] : [])
        guard selections.count <= 1 else {
            throw ValidationError(
                "\(selections.joined(separator: " and ")) select different migrations. Use only one."
            )
        }
        guard explain == nil || !json && format ?? .human == .human else {
            throw ValidationError("--explain prints text. Leave out --json and --format.")
        }
        guard !json || format ?? .json == .json else {
            throw ValidationError("--json is the same as --format json. Use only one.")
        }
    }

    func run(in context: CommandContext) throws {
        if let explain { return context.output(explain.text) }
        let threshold = level ?? .error
        let format = json ? .json : format ?? .human
        func print(_ result: LintResult) throws -> LintOutput {
            let output = LintOutput(
                result,
                threshold: threshold,
                version: context.version,
                style: context.style
            )
            context.output(try output.text(as: format))
            return output
        }
        let result: LintResult
        do {
            result = try check(in: context)
        } catch let error as any CodedError where format != .human {
            // What reads the report must not find it empty.
            let folder = try? migrations.path(in: context)
            _ = try print(LintResult(error, in: folder ?? MigrationsOptions.defaultFolder))
            throw error
        }
        let output = try print(result)
        let levels = output.findings.map(\.level).filter { $0 >= threshold }
        guard levels.isEmpty else {
            throw CommandError.lintFindings(levels, areRefusals: result.isRefused)
        }
    }

    private func check(in context: CommandContext) throws -> LintResult {
        let loaded: LoadedMigrations
        do {
            loaded = try loadMigrations(in: context, ofStranger: true)
        } catch let error as MigrationFolderError {
            // These have a rule, and a place that each format can show.
            guard case .refusedStatement = error else { throw error }
            return try LintResult(
                refusalsIn: migrations.path(in: context),
                names: context.namePattern
            )
        }
        var lint =
            loaded.folder.map { MigrationLint(folder: $0) }
            ?? MigrationLint(steps: loaded.runner.steps)
        lint.configuration = try context.configurationOfSteps
        lint.checks = loaded.runner.checks
        lint.levels = try context.settings()?.value(.lint) ?? [:]
        if let since { lint.selection = try loaded.runner.migrations(after: since) }
        if let base {
            let former = try folder(at: base, of: loaded, in: context)
            lint.published.append(former.published)
            lint.selection = former.changed
        }
        guard namesDatabase else {
            return LintResult(report: try report(of: lint, in: context), folder: loaded.folder)
        }
        // Also with --pending: a mistyped path must not look like a database that is new.
        let store = try openStore(loaded, for: .examine, in: context)
        if pending {
            lint.selection = Set(try store.runner.pendingMigrationIdentifiers(in: store.writer))
        }
        lint.published.append(try store.publishedMigrations())
        lint.database = store.writer
        return LintResult(report: try report(of: lint, in: context), folder: loaded.folder)
    }

    private func report(of lint: MigrationLint, in context: CommandContext) throws -> LintReport {
        try ProgressDisplay(StepProgress(), in: context).watch(lint) { try $0.report() }
    }

    /// Whether the command line asks for a database. The environment and the settings alone don't:
    /// otherwise a check before a commit would open it, and ask for its key.
    private var namesDatabase: Bool {
        pending || encryption.noEncryption || database.dbPath != nil
            || database.keychain.keychainService != nil || !database.secret.named.isEmpty
    }
}

extension OpenStore {
    /// What is applied in the database, with the checksums that it has recorded.
    fileprivate func publishedMigrations() throws -> MigrationLint.Published {
        let overview = try runner.overview(of: writer)
        let known = runner.migrationIdentifiers.filter(overview.applied.contains)
        // Those of a newer program aren't missing.
        let identifiers = (known + overview.missing).sorted {
            $0.compare($1, options: .numeric) == .orderedAscending
        }
        return MigrationLint.Published(
            source: "the database",
            migrations: identifiers.map { ($0, overview.records[$0]?.checksum) }
        )
    }
}

extension LintLevel: ExpressibleByArgument {}

// MARK: - Progress

/// How many migrations were run.
private struct StepProgress: OperationProgress {
    static let endsAtOnce = true

    private(set) var line: String?

    mutating func note(_ event: LintProgress) {
        line = "checking: \(event.done) of \(event.total) migrations"
    }
}

// MARK: - Findings

extension CommandError {
    /// There are findings of levels that count.
    ///
    /// - Parameter areRefusals: Whether they are statements for which the folder can't be used, so
    ///   that no comment can allow them.
    fileprivate static func lintFindings(
        _ levels: [LintLevel],
        areRefusals: Bool
    ) -> CommandError {
        CommandError(
            ErrorCode("lintFindings", .differs),
            "lint found \(LintLevel.listed(levels))",
            areRefusals
                ? "Each says what to do."
                : """
                Each says what to do. If a statement is right as it is, write above it:
                  -- migrationkit:allow RULE reason
                """
        )
    }
}

extension LintLevel {
    /// For example `1 error and 2 warnings`.
    static func listed(_ levels: [LintLevel]) -> String {
        let counts = allCases.reversed().compactMap { level in
            let count = levels.count { $0 == level }
            return count == 0 ? nil : counted(count, level.rawValue)
        }
        guard let last = counts.last, counts.count > 1 else { return counts.first ?? "no findings" }
        return counts.dropLast().joined(separator: ", ") + " and " + last
    }
}
