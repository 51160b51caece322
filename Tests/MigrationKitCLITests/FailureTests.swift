import Foundation
import TestSupport
import Testing

/// Bad input: a clear error that says what to do, the documented exit code, and every file as it
/// was.
@Suite struct FailureTests {
    let tool: Tool

    init() throws {
        tool = try Tool()
        try tool.writeItems()
    }

    /// Runs a command that must fail, and checks that it changes no file.
    private func expectFailure(
        _ exit: Int32,
        _ code: String,
        saying words: String...,
        running arguments: [String],
        input: String = "",
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let before = try tool.folder.snapshot()
        let human = try tool.run(arguments, input: input)
        let json = try tool.run(arguments + ["--json"], input: input)
        #expect(try tool.folder.snapshot() == before, sourceLocation: sourceLocation)

        #expect(human.status == exit, "\(human.stderr)", sourceLocation: sourceLocation)
        #expect(human.stdout.isEmpty, sourceLocation: sourceLocation)
        let lines = human.stderr.split(separator: "\n")
        #expect(lines.first?.hasPrefix("error: ") == true, sourceLocation: sourceLocation)
        #expect(lines.count > 1, "no line says what to do", sourceLocation: sourceLocation)
        for word in words {
            #expect(human.stderr.contains(word), "\(human.stderr)", sourceLocation: sourceLocation)
        }
        #expect(!human.stderr.contains(tool.password), sourceLocation: sourceLocation)

        #expect(json.status == exit, sourceLocation: sourceLocation)
        #expect(json.stdout.isEmpty, sourceLocation: sourceLocation)
        let error = try json.jsonError()
        #expect(error["code"] as? String == code, sourceLocation: sourceLocation)
        #expect(error["exit"] as? Int == Int(exit), sourceLocation: sourceLocation)
        #expect((error["message"] as? String)?.isEmpty == false, sourceLocation: sourceLocation)
    }

    private func onStore(_ command: String, _ arguments: String...) -> [String] {
        [command] + tool.opening + ["--migrations", tool.migrations] + arguments
    }

    private static let existing = ["status", "verify", "rollback"]
    private static let all = existing + ["migrate"]

    // MARK: - The Key

    @Test(arguments: all) func wrongPassphrase(_ command: String) throws {
        #expect(try tool.onStore("migrate").status == 0)
        try tool.folder.write("password", "something else".utf8)
        try expectFailure(77, "wrongKey", saying: "store.db", running: onStore(command))
    }

    @Test(arguments: all) func plaintextFileWithAKey(_ command: String) throws {
        let plain = [
            "--db-path", tool.database, "--no-encryption", "--migrations", tool.migrations,
        ]
        #expect(try tool.run(["migrate"] + plain).status == 0)
        try expectFailure(77, "plaintext", saying: "store.db", running: onStore(command))
    }

    @Test(arguments: all) func encryptedFileWithoutAKey(_ command: String) throws {
        #expect(try tool.onStore("migrate").status == 0)
        try expectFailure(
            77,
            "encrypted",
            saying: "store.db",
            running: [
                command, "--db-path", tool.database, "--no-encryption", "--migrations",
                tool.migrations,
            ]
        )
    }

    @Test func emptyPasswordFile() throws {
        for content in ["", "\n"] {
            try tool.folder.write("password", content.utf8)
            try expectFailure(77, "emptyKey", saying: "password", running: onStore("migrate"))
        }
    }

    @Test func passwordFileThatOthersCanRead() throws {
        try tool.folder.write("password", tool.password.utf8, mode: 0o644)
        try expectFailure(
            77,
            "keyFileOpenToOthers",
            saying: "chmod 600",
            running: onStore("migrate")
        )
    }

    @Test func passwordFileThatIsMissing() throws {
        try FileManager.default.removeItem(atPath: tool.folder.path("password"))
        try expectFailure(66, "noSuchKeyFile", saying: "password", running: onStore("migrate"))
    }

    // MARK: - The File

    @Test(arguments: existing) func noFile(_ command: String) throws {
        try expectFailure(
            66,
            "noSuchFile",
            saying: "store.db",
            "migrate",
            running: onStore(command)
        )
    }

    @Test(arguments: all) func folderAsDatabase(_ command: String) throws {
        try tool.folder.makeFolder("store.db")
        try expectFailure(66, "isDirectory", saying: "store.db", running: onStore(command))
    }

    @Test(arguments: all) func namedPipeAsDatabase(_ command: String) throws {
        try #require(mkfifo(tool.database, 0o600) == 0)
        try expectFailure(66, "notAFile", saying: "is a named pipe", running: onStore(command))
    }

    @Test func digitsOfARawKeyWithoutTheOptionThatSaysSo() throws {
        let raw = try Tool(isRawKey: true)
        try raw.writeItems()
        #expect(try raw.onStore("migrate").status == 0)
        let result = try raw.run(
            ["status"] + raw.opening.dropLast() + ["--migrations", raw.migrations]
        )
        #expect(result.status == 77)
        #expect(result.stderr.contains("add --raw-key"), "\(result)")
    }

    @Test func settingsThatAreNotTheDefault() throws {
        _ = try SQLCipherShell.run(
            tool.database,
            key: tool.password,
            "PRAGMA cipher_page_size = 8192; CREATE TABLE t (a);"
        )
        let result = try tool.onStore("status")
        #expect(result.status == 77)
        #expect(result.stderr.contains("--cipher-page-size 8192"), "\(result)")
        #expect(try tool.onStore("status", "--cipher-page-size", "8192").status == 0)
    }

    @Test(arguments: all) func randomBytes(_ command: String) throws {
        let bytes = (0..<8192).map { _ in UInt8.random(in: 0...255) }
        try tool.folder.write("store.db", bytes)
        try expectFailure(77, "wrongKey", saying: "store.db", running: onStore(command))
    }

    @Test(arguments: all) func bytesThatCanNotBeADatabase(_ command: String) throws {
        let bytes = (0..<5000).map { _ in UInt8.random(in: 0...255) }
        try tool.folder.write("store.db", bytes)
        try expectFailure(66, "notADatabase", saying: "store.db", running: onStore(command))
    }

    @Test(arguments: all) func truncatedFile(_ command: String) throws {
        #expect(try tool.onStore("migrate").status == 0)
        let bytes = try tool.folder.data("store.db")
        try tool.folder.write("store.db", bytes.prefix(bytes.count - 4096))
        try expectFailure(74, "damaged", saying: "store.db", running: onStore(command))
    }

    @Test(arguments: all) func fileThatMayNotBeRead(_ command: String) throws {
        #expect(try tool.onStore("migrate").status == 0)
        // Root reads everything, so another user runs the tool, from a place it can reach.
        let isRoot = geteuid() == 0
        let executable = try tool.folder.copyOfTool()
        if isRoot {
            for path in [tool.folder.path, tool.migrations] { #expect(chmod(path, 0o755) == 0) }
            for name in try FileManager.default.contentsOfDirectory(atPath: tool.migrations) {
                #expect(chmod(tool.migrations + "/" + name, 0o644) == 0)
            }
            #expect(chown(tool.folder.path("password"), 65534, 65534) == 0)
        } else {
            #expect(chmod(tool.database, 0) == 0)
        }
        let before = try tool.folder.snapshot()
        let prefix =
            isRoot ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : ["env"]
        let result = try TestSupport.run(
            prefix[0],
            prefix.dropFirst() + [executable] + onStore(command),
            environment: tool.environment
        )
        #expect(result.status == 77, "\(result.stderr)")
        #expect(result.stderr.hasPrefix("error: "))
        #expect(result.stderr.contains("store.db"))
        #expect(try tool.folder.snapshot() == before)
    }

    @Test func lockedFile() throws {
        #expect(try tool.onStore("migrate").status == 0)
        let lock = try LockHolder(tool.database, key: tool.password)
        let result = try tool.onStore("rollback", "--lock-timeout", "0.2")
        #expect(result.status == 75, "\(result.stderr)")
        #expect(result.stderr.hasPrefix("error: "))
        try lock.release()
    }

    // MARK: - The Migrations

    @Test(arguments: all) func noMigrationsFolder(_ command: String) throws {
        try FileManager.default.removeItem(atPath: tool.migrations)
        try expectFailure(66, "noSuchFolder", saying: "migrations", running: onStore(command))
    }

    @Test func emptyMigrationsFolder() throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: tool.migrations) {
            try FileManager.default.removeItem(atPath: tool.migrations + "/" + name)
        }
        try expectFailure(66, "emptyFolder", saying: "migrations", running: onStore("migrate"))
    }

    @Test func mixedForms() throws {
        try tool.folder.write("migrations/0001_items.up.sql", "CREATE TABLE a (id);".utf8)
        try expectFailure(
            65,
            "unusableMigrations",
            saying: "the folder mixes two formats: 0001_items.sql has dbmate's markers",
            "0001_items.up.sql",
            running: onStore("migrate")
        )
    }

    @Test func duplicateVersions() throws {
        try tool.write("1_other", up: "CREATE TABLE a (id);")
        try expectFailure(
            65,
            "unusableMigrations",
            saying: "several migrations have the version 1: 0001_items.sql, 1_other.sql",
            running: onStore("migrate")
        )
    }

    @Test func numbersOfDifferentLengthAreInNumericOrder() throws {
        try tool.write("10_late", up: "INSERT INTO early VALUES (1);", down: "DELETE FROM early;")
        try tool.write("9_early", up: "CREATE TABLE early (id);", down: "DROP TABLE early;")
        let migrated = try tool.onStore("migrate")
        #expect(migrated.status == 0, "\(migrated.stderr)")
        let migrations = try #require(
            try tool.onStore("status", "--json").json()["migrations"] as? [[String: Any]]
        )
        #expect(
            migrations.compactMap { $0["identifier"] as? String }
                == ["0001_items", "0002_row", "0003_tags", "9_early", "10_late"]
        )
        #expect(try tool.onStore("rollback").status == 0)
        try tool.write("100_last", up: "INSERT INTO early VALUES (2);")
        #expect(try tool.onStore("migrate").status == 0)
        #expect(try tool.shell("SELECT id FROM early ORDER BY id") == "1\n2")
    }

    @Test func foreignKeysInAMigrationAreNotedWhileItIsPending() throws {
        try tool.write("0004_keys", up: "PRAGMA foreign_keys = OFF;\nCREATE TABLE a (id);")
        let first = try tool.onStore("migrate")
        #expect(first.status == 0)
        #expect(first.stderr.contains("note: 0004_keys.sql:2:1: PRAGMA foreign_keys has no effect"))
        #expect(try tool.onStore("migrate").stderr.contains("note:") == false)
    }

    @Test func errorInTheThirdStepOfFive() throws {
        try tool.write("0003_tags", up: "CREATE TABLE tag (id INTEGER);\nCREAT TABLE half (id);")
        try tool.write("0004_more", up: "CREATE TABLE more (id INTEGER);")
        try tool.write("0005_most", up: "CREATE TABLE most (id INTEGER);")
        let result = try tool.onStore("migrate")
        #expect(result.status == 1)
        #expect(result.stderr.contains("0003_tags.sql:3"))
        #expect(result.stderr.contains("syntax error"))
        #expect(result.stderr.contains("rolled back"))

        let status = try tool.onStore("status", "--json").json()
        #expect(status["pending"] as? [String] == ["0003_tags", "0004_more", "0005_most"])
        let tables = try tool.shell("SELECT group_concat(name) FROM sqlite_schema WHERE sql <> '';")
        #expect(!tables.contains("tag"))
        #expect(tables.contains("item"))

        // What failed once goes on from there once it is corrected.
        try tool.write("0003_tags", up: "CREATE TABLE tag (id INTEGER);")
        let rest = try tool.onStore("migrate", "--json").json()
        #expect((rest["applied"] as? [Any])?.count == 3)
    }

    @Test func rowThatViolatesAForeignKeyIsNotShown() throws {
        try tool.write(
            "0004_orphan",
            up: """
                CREATE TABLE parent (id INTEGER PRIMARY KEY);
                CREATE TABLE child (parent INTEGER REFERENCES parent (id), words TEXT);
                INSERT INTO child VALUES (7, 'a private matter');
                """
        )
        // A step behind it, so that the step's own check finds it and not the last verification.
        try tool.write("0005_more", up: "CREATE TABLE more (id INTEGER);")
        let result = try tool.onStore("migrate")
        #expect(result.status == 1)
        #expect(result.stderr.contains("0004_orphan"))
        #expect(result.stderr.contains("from child(parent) to parent(id)"))
        #expect(!result.stderr.contains("private"))
    }

    @Test(arguments: [
        (
            "CHECK (words <> 'a private matter')",
            "CHECK constraint failed: words <> '****************'"
        ),
        (
            "CONSTRAINT is_public CHECK (words <> 'a private matter')",
            "CHECK constraint failed: is_public"
        ),
        ("", "a trigger refuses the row"),
    ])
    func valuesInAMessageOfSQLiteAreNotShown(_ constraint: String, _ shown: String) throws {
        try tool.write(
            "0004_words",
            up: """
                CREATE TABLE note (words TEXT \(constraint));
                CREATE TRIGGER refuse BEFORE INSERT ON note WHEN \(constraint.isEmpty ? 1 : 0)
                BEGIN SELECT RAISE(ABORT, 'a private matter'); END;
                INSERT INTO note VALUES ('a private matter');
                """
        )
        for arguments in [["migrate"], ["migrate", "--json"], ["migrate", "--dry-run"], ["lint"]] {
            let result = try tool.run(
                arguments.first == "lint"
                    ? ["lint", "--migrations", tool.migrations]
                    : onStore(arguments[0]) + arguments.dropFirst()
            )
            #expect(result.status == (arguments == ["lint"] ? 3 : 1), "\(result)")
            #expect((result.stdout + result.stderr).contains(shown), "\(result)")
            #expect(!(result.stdout + result.stderr).contains("private"), "\(result)")
        }
    }

    @Test func unknownTarget() throws {
        try expectFailure(
            64,
            "unknownTarget",
            saying: "9999",
            running: onStore("migrate", "--to", "9999")
        )
    }

    @Test func targetBehindTheDatabase() throws {
        #expect(try tool.onStore("migrate").status == 0)
        try expectFailure(
            64,
            "targetBehindDatabase",
            saying: "0003_tags",
            "rollback",
            running: onStore("migrate", "--to", "0001_items")
        )
    }

    @Test func databaseOfANewerProgram() throws {
        #expect(try tool.onStore("migrate").status == 0)
        try FileManager.default.removeItem(atPath: tool.folder.path("migrations/0003_tags.sql"))
        #expect(try tool.onStore("migrate").status == 0)
        try expectFailure(
            65,
            "databaseCanBeDowngraded",
            saying: "0003_tags",
            running: onStore("rollback")
        )
        // As an earlier release has recorded it.
        _ = try tool.shell("UPDATE grdb_migrationkit_journal SET older = NULL, rollback = NULL")
        for command in ["migrate", "rollback"] {
            try expectFailure(65, "databaseIsNewer", saying: "0003_tags", running: onStore(command))
        }
    }

    @Test func rollbackWithoutADownPart() throws {
        try tool.write("0004_final", up: "CREATE TABLE final (id INTEGER);")
        #expect(try tool.onStore("migrate").status == 0)
        try expectFailure(
            65,
            "rollbackNotDefined",
            saying: "0004_final",
            running: onStore("rollback", "--steps", "2")
        )
    }

    @Test func negativeSteps() throws {
        #expect(try tool.onStore("migrate").status == 0)
        try expectFailure(
            64,
            "negativeSteps",
            saying: "-1",
            running: onStore("rollback", "--steps=-1")
        )
    }

    @Test func outputThatCanNotBeWritten() throws {
        try expectFailure(
            73,
            "cannotWrite",
            saying: "--output",
            running: [
                "schema-dump", "--migrations", tool.migrations, "--output",
                tool.folder.path("none/schema.sql"),
            ]
        )
    }

    /// It would wait until that user reads what isn't for them. One's own pipe is written.
    @Test(.enabled(if: geteuid() == 0)) func aPipeThatAnotherUserHasLaid() throws {
        let pipe = tool.folder.path("schema.sql")
        let words = ["schema-dump", "--migrations", tool.migrations, "--output", pipe]
        try #require(mkfifo(pipe, 0o666) == 0)
        // Somebody who reads, so that nothing waits.
        let reader = open(pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        defer { close(reader) }
        #expect(try tool.run(words).status == 0)
        var bytes = [UInt8](repeating: 0, count: 4096)
        #expect(read(reader, &bytes, bytes.count) > 0)
        try #require(chown(pipe, 65_534, 65_534) == 0)
        try expectFailure(
            73,
            "cannotWrite",
            saying: "it is a named pipe that belongs to another user",
            running: words
        )
        #expect(read(reader, &bytes, bytes.count) <= 0)
    }
}
