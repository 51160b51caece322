import Foundation
import TestSupport
import Testing

/// What people type by habit, without options.
@Suite struct PlainArgumentTests {
    private let tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.writeItems()
        #expect(try tool.onStore("migrate").status == 0)
    }

    private var key: [String] { ["--password-file", tool.folder.path("password"), "--raw-key"] }

    @Test func aQueryNamesItsDatabase() throws {
        let words = ["query", tool.database, "SELECT 41 + 1"]
        let result = try tool.run(words + key)
        #expect(result.status == 0 && result.stdout.contains("42"), "\(result)")
        #expect(try tool.run(words + ["more"] + key).status == 64)
        #expect(try tool.run(words + ["--db-path", tool.database] + key).status == 64)
    }

    @Test func aBackupIsMadeAndRestoredAsByCp() throws {
        let (copy, other) = (tool.folder.path("copy.db"), tool.folder.path("other.db"))
        let made = try tool.run(["backup", tool.database, copy] + key)
        #expect(made.status == 0, "\(made)")
        let restored = try tool.run(["restore", copy, other] + key)
        #expect(restored.status == 0, "\(restored)")
        #expect(try tool.run(["key", "check", other] + key).status == 0)
        for words in [
            ["backup", tool.database], ["backup", tool.database, copy, "--output", other],
            ["restore"], ["restore", copy, "--from", copy],
        ] {
            #expect(try tool.run(words + key).status == 64, "\(words)")
        }
    }

    @Test(arguments: ["status", "plan", "verify", "migrate"])
    func aFolderHasTheMigrations(_ command: String) throws {
        let result = try tool.run([command, tool.migrations, "--db-path", tool.database] + key)
        #expect(result.status == 0, "\(result)")
        // Not if one is named.
        let twice = [command, tool.migrations, "--migrations", tool.migrations] + key
        #expect(try tool.run(twice).status != 0)
    }

    @Test func aFolderIsLinted() throws {
        let result = try tool.run("lint", tool.migrations)
        #expect(result.status == 0 && result.stdout.contains("Checked 3 migrations"), "\(result)")
    }

    @Test func aPlaintextDatabaseNamesTheTwoWays() throws {
        let path = tool.folder.path("plain.db")
        _ = try SQLCipherShell.run(path, key: nil, "CREATE TABLE t (a);")
        let result = try tool.run(["status", path, "--migrations", tool.migrations] + key)
        #expect(result.status == 77)
        #expect(result.stderr.contains("encrypt \(path)"), "\(result)")
        #expect(result.stderr.contains("--no-encryption"), "\(result)")
    }

    // MARK: - Words that are no database

    private func expectNothingIsMade(
        _ words: [String],
        saying text: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let before = try tool.folder.snapshot()
        let result = try tool.run(words)
        #expect(result.status == 64, "\(words): \(result)", sourceLocation: sourceLocation)
        #expect(result.stderr.contains(text), "\(result)", sourceLocation: sourceLocation)
        #expect(try tool.folder.snapshot() == before, sourceLocation: sourceLocation)
    }

    @Test(arguments: [
        "0002", "2", "0002_row", "0002_row.sql", "0002_row.up.sql", "FOLDER/0002_row.sql",
        "FOLDER/0002_row",
    ])
    func aMigrationIsNoDatabase(_ word: String) throws {
        let word = word.replacing("FOLDER", with: tool.migrations)
        let options = ["--migrations", tool.migrations] + key
        for command in ["migrate", "plan", "rollback", "rehearse"] {
            try expectNothingIsMade(
                [command, word] + options,
                saying: "'\(command) --to 0002_row'"
            )
        }
        for command in ["status", "verify", "redo"] {
            try expectNothingIsMade([command, word] + options, saying: "is a migration")
        }
    }

    @Test func aPlainArgumentMakesNoDatabaseBesideTheNamedOne() throws {
        let other = tool.folder.path("other.db")
        let options = ["--migrations", tool.migrations] + key
        var named = tool
        named.environment["MIGRATIONKIT_DB_PATH"] = tool.database
        let before = try tool.folder.snapshot()
        let refused = try named.run(["migrate", other] + options)
        #expect(refused.status == 64)
        #expect(
            refused.stderr.contains("the settings name another: \(tool.database)"),
            "\(refused)"
        )
        #expect(try named.run(["restore", tool.database, other] + key).status == 64)
        #expect(try tool.folder.snapshot() == before)

        try named.useSettings()
        named.environment["MIGRATIONKIT_DB_PATH"] = nil
        try named.writeSettings("db-path = \"\(tool.database)\"")
        #expect(try named.run(["migrate", other] + options).status == 64)
        #expect(!FileManager.default.fileExists(atPath: other))
        // The option says it clearly, and the same database is no other one.
        #expect(try named.run(["migrate", "--db-path", other] + options).status == 0)
        try FileManager.default.removeItem(atPath: tool.database)
        #expect(try named.run(["migrate", tool.database] + options).status == 0)
        // An existing one may be given.
        #expect(try named.run(["migrate", other] + options).status == 0)
    }

    @Test(arguments: ["notes", "production", "7", "x.sql"])
    func aBareWordMakesNoDatabase(_ word: String) throws {
        let options = ["--migrations", tool.migrations] + key
        try expectNothingIsMade(["migrate", word] + options, saying: "--db-path \(word)")
        #expect(!FileManager.default.fileExists(atPath: word))
    }

    /// Versions, words of other tools and other files have dots, too.
    @Test(arguments: [
        "1.3", "v2.0", "2.0", "V1.2", "V1.2__b", "0001.txt", "latest.version", "migrate.all",
        "migrationkit.toml", "file:x.db", "file:///x.db?mode=rw", "notes.db.sql", "notes.", ".env",
    ])
    func aDotMakesNoDatabase(_ word: String) throws {
        let options = ["--migrations", tool.migrations] + key
        for command in ["migrate", "plan", "restore"] {
            let source = command == "restore" ? ["--from", tool.database] : []
            let options = command == "restore" ? source + key : options
            try expectNothingIsMade([command, word] + options, saying: "--db-path")
        }
        #expect(!FileManager.default.fileExists(atPath: word))
        // An empty file is no database yet. With a folder before it, `file:` is part of a name.
        guard !word.hasPrefix("file:") else { return }
        let path = try tool.folder.write(word, [])
        try expectNothingIsMade(["migrate", path] + options, saying: "--db-path")
        #expect(try tool.run(["migrate", "--db-path", path] + options).status == 0)
    }

    @Test(arguments: ["notes.db", "app.sqlite", "App.SQLite3", "data/x.store", "data/x", "v1.2.db"])
    func thePathOfADatabaseMakesOne(_ name: String) throws {
        try tool.folder.makeFolder("data")
        let path = tool.folder.path(name)
        let made = try tool.run(["migrate", path, "--migrations", tool.migrations] + key)
        #expect(made.status == 0, "\(made)")
    }

    @Test func aNameOfAMigrationThatIsThereIsNotTakenAgain() throws {
        for word in ["help", "0002_row"] {
            try expectNothingIsMade(
                ["create", word, "--migrations", tool.migrations],
                saying: "'\(word)'"
            )
        }
    }
}
