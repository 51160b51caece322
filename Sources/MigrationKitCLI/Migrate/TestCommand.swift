import ArgumentParser
import MigrationKit
import MigrationKitCommon
import MigrationKitGRDB
import MigrationKitSQL
import MigrationKitTestSupport

struct TestCommand: MigrationsCommand, ExtensionUsing {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "test",
            _superCommandName: Program.name,
            abstract: "Test the migrations as users will run them: from every version, with rows.",
            usage: """
                \(Program.name) test [--migrations <folder>] [--tests <folder>]
                  [--format <format>] [<options>]
                \(Program.name) test --since <identifier> | --base <ref>
                """,
            discussion: """
                Needs no database and no key: all runs on databases in memory. Each version gets the \
                next migration, with and without generated rows. Schema and rows are compared with \
                those of a new database, after what takes the migration back, and after the \
                migration itself; and the files of the folder 'tests' say what queries give.

                Exits with 3 if a test fails. Formats: 'human'; 'json' for programs; 'junit' for \
                reports of tests; 'github' for annotations in GitHub Actions.
                """
        )
    }

    @Option(
        help: ArgumentHelp(
            "Test only the migrations after this one; the beginning of its name is enough.",
            valueName: "identifier"
        ),
        completion: .migrations
    )
    var since: String?

    @Option(
        help: ArgumentHelp(
            """
            Test only what is new or different since this branch, tag or commit of git, and the \
            upgrade from there.
            """,
            valueName: "ref"
        )
    )
    var base: String?

    @Option(help: "The format: human, json, junit or github; default: human.")
    var format: TestFormat?

    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "Migrations") var tests: TestsOptions
    @OptionGroup(title: "Migrations") var migrations: MigrationsOptions
    @OptionGroup(title: "Migrations") var extensions: ExtensionOptions

    var isReport: Bool { true }

    var needsNoDatabase: Bool { true }

    func validate() throws {
        guard since == nil || base == nil else {
            throw ValidationError("--since and --base select different migrations. Use only one.")
        }
        guard !json || format ?? .json == .json else {
            throw ValidationError("--json is the same as --format json. Use only one.")
        }
    }

    func run(in context: CommandContext) throws {
        let format = json ? .json : format ?? .human
        let folder = try migrations.path(in: context)
        func print(_ report: FolderTestReport) throws -> TestOutput {
            let output = TestOutput(report, folder: folder, style: context.style)
            context.output(try output.text(as: format))
            return output
        }
        let report: FolderTestReport
        do {
            report = try self.report(in: context)
        } catch let error as any CodedError where format != .human {
            // What reads the report must not find it empty.
            _ = try print(FolderTestReport(error))
            throw error
        }
        let failures = try print(report).failures
        guard failures.isEmpty else { throw CommandError.testsFailed(failures.count) }
    }

    private func report(in context: CommandContext) throws -> FolderTestReport {
        let loaded = try loadMigrations(in: context, ofStranger: true)
        guard let folder = loaded.folder else {
            // A program with its own steps doesn't have the command.
            return FolderTestReport(migrations: 0, cases: [])
        }
        try folder.checkForDrafts(in: folder.drafts)
        var test = FolderTest(
            folder,
            runner: loaded.runner,
            configuration: try context.configurationOfSteps
        )
        try test.add(tests.load(beside: migrations, in: context)) { text in
            do {
                return try loaded.runner.identifier(text)
            } catch let error as CommandError where error.code.name == "unknownMigration" {
                return nil
            }
        }
        if let since { test.selection = try loaded.runner.migrations(after: since) }
        if let base {
            let former = try self.folder(at: base, of: loaded, in: context)
            test.selection = former.changed
            test.base = (base, former.steps)
        }
        return try ProgressDisplay(TestProgress(), in: context).watch(test) { try $0.report() }
    }
}

extension CommandError {
    fileprivate static func testsFailed(_ count: Int) -> CommandError {
        CommandError(
            ErrorCode("testsFailed", .differs),
            "\(counted(count, "test")) failed",
            "Each says what to do."
        )
    }
}

/// How many migrations were tested.
private struct TestProgress: OperationProgress {
    // There is nothing but memory.
    static let endsAtOnce = true

    private(set) var line: String?

    mutating func note(_ event: FolderTestProgress) {
        line = "testing: \(event.done) of \(event.total) migrations"
    }
}
