import Foundation
import TestSupport
import Testing

/// Every program and every SQL text that README, the articles and the examples print is run by a test. A
/// new one needs a line here, and so a test.
@Suite struct DocumentationCodeTests {
    /// `PAGE | LANGUAGE COUNT | FILE`: the file runs the page's blocks in this language. Swift is also
    /// compiled by the target `DocumentationExamples`.
    private static let register = """
        Documentation/Batches.md | swift 1 | Tests/MigrationKitSQLCipherTests/DocumentationRunTests.swift
        Documentation/CI.md | yaml 4 | Scripts/check-recipes
        Documentation/CI.md | jq 1 | Scripts/check-recipes
        Documentation/CI.md | make 1 | Tests/MigrationKitCLITests/DocumentationCodeTests.swift
        Documentation/Correcting.md | sql 3 | Tests/MigrationKitCLITests/CorrectingTests.swift
        Documentation/Correcting.md | swift 4 | Tests/MigrationKitSQLCipherTests/DocumentationExampleTests.swift
        Documentation/Embedding.md | swift 4 | Tests/MigrationKitSQLCipherTests/DocumentationRunTests.swift
        Documentation/FirstLaunch.md | swift 5 | Tests/MigrationKitSQLCipherTests/DocumentationRunTests.swift
        Documentation/Flatpak.md | swift 2 | Tests/MigrationKitSQLCipherTests/DocumentationExampleTests.swift
        Documentation/Flatpak.md | yaml 1 | none: a permission of a manifest
        Documentation/Fleets.md | python 1 | Tests/EndToEndTests/PythonPageTests.swift
        Documentation/Fleets.md | yaml 1 | none: needs a cluster
        Documentation/FromGRDB.md | swift 2 | Tests/MigrationKitSQLCipherTests/DocumentationExampleTests.swift
        Documentation/Linting.md | sql 1 | Tests/MigrationKitCLITests/DocumentationCodeTests.swift
        Documentation/Linting.md | swift 1 | Tests/MigrationKitSQLCipherTests/DocumentationRunTests.swift
        Documentation/OlderVersions.md | sql 1 | Tests/MigrationKitCLITests/DocumentationCodeTests.swift
        Documentation/OtherLanguages.md | python 1 | Tests/EndToEndTests/PythonPageTests.swift
        Documentation/OtherLanguages.md | js 1 | Tests/EndToEndTests/OtherLanguagesTests.swift
        Documentation/OtherLanguages.md | rust 2 | Tests/EndToEndTests/OtherLanguagesTests.swift
        Documentation/OtherLanguages.md | c 1 | Tests/EndToEndTests/OtherLanguagesTests.swift
        Documentation/Rebuilding.md | swift 3 | Tests/MigrationKitSQLCipherTests/DocumentationRunTests.swift
        Documentation/Rehearsing.md | swift 1 | Tests/MigrationKitSQLCipherTests/DocumentationExampleTests.swift
        Documentation/SchemaDifference.md | swift 1 | Tests/MigrationKitSQLCipherTests/DocumentationExampleTests.swift
        Documentation/Services.md | swift 4 | Tests/MigrationKitSQLCipherTests/DocumentationExampleTests.swift
        Documentation/Testing.md | swift 2 | Tests/MigrationKitSQLCipherTests/DocumentationRunTests.swift
        Documentation/UserVersion.md | sql 1 | Tests/MigrationKitCLITests/DocumentationCodeTests.swift
        Documentation/UserVersion.md | swift 1 | Tests/MigrationKitSQLCipherTests/DocumentationRunTests.swift
        Documentation/lint/cascade-deletes.md | swift 2 | Tests/MigrationKitSQLCipherTests/DocumentationRunTests.swift
        Documentation/lint/check-incomplete.md | swift 1 | Tests/MigrationKitSQLCipherTests/DocumentationRunTests.swift
        Packaging/python/README.md | python 1 | Tests/EndToEndTests/PythonPageTests.swift
        """

    /// What is no program: what a person types, what is printed, and settings.
    private static let otherLanguages: Set = ["", "text", "console", "sh", "toml", "json", "ini"]

    @Test func everyProgramAndEverySQLTextHasATestThatRunsIt() throws {
        var unknown: [String] = []
        var lines = Set(Self.register.split(separator: "\n").map(String.init))
        for path in DocumentationPage.paths where !path.contains(".docc/") {
            let page = try DocumentationPage(path)
            let blocks = page.blocks.filter { !Self.otherLanguages.contains($0.language) }
            for (language, blocks) in Dictionary(grouping: blocks, by: \.language) {
                // `PageExampleTests` asks for an example of each of these.
                if path.hasPrefix("Documentation/lint/"), language == "sql" { continue }
                let beginning = "\(path) | \(language) \(blocks.count) | "
                let line = lines.first { $0.hasPrefix(beginning) }
                if let line { lines.remove(line) } else { unknown.append(beginning) }
                guard let file = line?.components(separatedBy: " | ").last,
                    !file.hasPrefix("none: ")
                else { continue }
                let name = URL(filePath: path).deletingPathExtension().lastPathComponent
                let text = try String(contentsOfFile: PackageFolder.path(file), encoding: .utf8)
                #expect(text.contains(name), "\(file) doesn't run \(path)")
            }
        }
        #expect(unknown == [], "no test runs these")
        #expect(lines == [], "there are no such blocks")
    }

    // MARK: - Single Blocks

    private let tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
    }

    private func migrate(_ file: String, _ sql: String) throws {
        try tool.folder.write("migrations/\(file).sql", sql.utf8)
        let migrated = try tool.onStore("migrate")
        try #require(migrated.status == 0, "\(migrated)")
    }

    /// Linting.md: the comment silences the rule for the statement below it.
    @Test func allowedStatementOfTheLintingPageIsNoFinding() throws {
        let block = try DocumentationPage("Documentation/Linting.md").code("sql")
        try tool.write("0001_drafts", up: "CREATE TABLE drafts (id INTEGER PRIMARY KEY);")
        try tool.write("0002_drop", up: block)
        let found = try tool.run("lint", "--migrations", tool.migrations, "--since", "0001")
        #expect(!found.stdout.contains("[drop-table]"), "\(found)")
        #expect(found.status == 0, "\(found)")
        #expect(try tool.onStore("migrate").status == 0)
    }

    /// OlderVersions.md: each of the two lines is a migration's own.
    @Test func linesAboutOlderVersionsAreWhatTheDatabaseKeeps() throws {
        let block = try DocumentationPage("Documentation/OlderVersions.md").code("sql")
        let lines = block.split(separator: "\n")
        try #require(lines.count == 2)
        try migrate(
            "0001_a",
            "-- migrate:up\n\(lines[0])\nCREATE TABLE a (id INTEGER PRIMARY KEY);\n"
        )
        try migrate(
            "0002_b",
            "-- migrate:up\n\(lines[1])\nCREATE TABLE b (id INTEGER PRIMARY KEY);\n"
        )
        let history = try tool.run(["history"] + tool.opening + ["--json"])
        #expect(history.stdout.contains("the app sorts by the old column"), "\(history)")
    }

    /// UserVersion.md: a file of what code did, on a store that code has left at the version before it.
    @Test func fileOfAnEarlierVersionDoesWhatTheCodeDid() throws {
        let block = try DocumentationPage("Documentation/UserVersion.md").code("sql")
        try tool.write(
            "0005_schema",
            up: "CREATE TABLE note (id INTEGER PRIMARY KEY, title TEXT); PRAGMA user_version = 5;"
        )
        for version in [5, 6] {
            let store = tool.folder.path("store\(version).db")
            let sql = "CREATE TABLE note (id INTEGER PRIMARY KEY, title TEXT);"
            let more = version == 6 ? "ALTER TABLE note ADD COLUMN colour TEXT;" : ""
            _ = try SQLCipherShell.run(
                store,
                key: tool.shellKey,
                "\(sql) \(more) INSERT INTO note (title) VALUES (NULL), ('a'), ('a'); PRAGMA user_version = \(version);"
            )
            try tool.folder.write("migrations/0006_add_colour.sql", block.utf8)
            let options = ["--db-path", store] + tool.opening.dropFirst(2)
            let migrated = try tool.run(
                ["migrate"] + options + [
                    "--migrations", tool.migrations, "--adopt", "user_version",
                ]
            )
            #expect(migrated.status == 0, "\(migrated)")
            let rows = try SQLCipherShell.run(
                store,
                key: tool.shellKey,
                "SELECT count(*), count(title), count(colour) FROM note; PRAGMA user_version;"
            )
            #expect(rows == "3|2|0\n6")
        }
    }

    /// CI.md: the commands of the Makefile, on a folder that a rule refuses and on one that it doesn't.
    @Test func commandsOfTheMakefileAreAccepted() throws {
        let block = try DocumentationPage("Documentation/CI.md").code("make")
        let commands = block.matches(of: /\tmigrationkit-cli (.*)/).map {
            $0.1.split(separator: " ")
        }
        #expect(commands.count == 2)
        try tool.write(
            "0001_note",
            up: "CREATE TABLE note (id INTEGER PRIMARY KEY) STRICT;",
            down: "DROP TABLE note;"
        )
        for words in commands {
            let words = words.map(String.init) + ["--migrations", tool.migrations]
            let done = try tool.run(words)
            #expect(done.status == 0, "\(done)")
        }
        try tool.write("0002_pin", up: "ALTER TABLE note ADD COLUMN pinned INTEGER NOT NULL;")
        for words in commands {
            let words = words.map(String.init) + ["--migrations", tool.migrations]
            #expect(try tool.run(words).status != 0)
        }
    }
}
