import Foundation
import GRDB
import MigrationKit
import MigrationKitCLI
import MigrationKitGRDB
import MigrationKitKeys
import MigrationKitSQLCipher
import TestSupport
import Testing

/// The pending migrations on a copy of the database.
@Suite struct RehearseTests {
    private var tool: Tool

    /// Values of rows; no output may have them.
    private static let secret = "geheim"

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.write(
            "0001_item",
            up: """
                CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT);
                INSERT INTO item (name)
                WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 900)
                SELECT 'geheim' || x FROM n;
                """
        )
        try #require(try tool.onStore("migrate").status == 0)
        try tool.write(
            "0002_tag",
            up: "CREATE TABLE tag (name TEXT); INSERT INTO tag SELECT name FROM item;"
        )
    }

    /// Everything in the folder but the time at which names in it changed.
    private func files() throws -> [String: FolderSnapshot.Entry] {
        try tool.folder.snapshot().entries.filter { $0.key != "." }
    }

    private func report(_ name: String = "report.txt") throws -> String {
        #expect(tool.folder.mode(name) == 0o600)
        let text = String(decoding: try tool.folder.data(name), as: UTF8.self)
        for part in [Self.secret, tool.password, tool.folder.path, "CREATE", "rowid"] {
            #expect(!text.contains(part), "\(part)")
        }
        unlink(tool.folder.path(name))
        return text
    }

    @Test(arguments: ["delete", "wal"], [[], ["--all-or-nothing"]])
    func theDatabaseIsAsBefore(_ journal: String, _ more: [String]) throws {
        _ = try tool.shell("PRAGMA journal_mode = \(journal);")
        let before = try files()
        let arguments = ["rehearse"] + tool.opening + ["--migrations", tool.migrations] + more
        let result = try tool.run(arguments)
        #expect(result.status == 0, "\(result)")
        #expect(result.stdout.contains(#/0002_tag  900 rows  [0-9.]+ kB /#), "\(result)")
        #expect(result.stdout.contains("Verified the copy in full, with 8 checks: all is well"))
        #expect(result.stdout.contains(journal == "wal" ? "write-ahead log" : "rollback journal"))
        #expect(try files() == before)
        let document = try tool.run(arguments + ["--json"]).json()
        #expect(document["journalMode"] as? String == journal)
        let room = try #require(document["room"] as? [String: Int])
        let (least, most) = (try #require(room["journal"]), try #require(room["bytes"]))
        #expect(least > 4096 && most >= least)
        let size = try tool.folder.data("store.db").count
        #expect(document["bytesBefore"] as? Int == size)
        #expect(try #require(document["bytesAfter"] as? Int) > size)
        #expect(try files() == before)
        #expect(try tool.onStore("status", "--exit-code").status == 3)
    }

    /// What a killed program left beside the database is none of ours.
    @Test func aLogIsLeftAsItWas() throws {
        _ = try tool.shell("PRAGMA journal_mode = wal;")
        let holder = try QueryOfAnother(tool)
        try holder.run("INSERT INTO item (name) VALUES ('committed in the log')")
        for name in ["store.db", "store.db-wal"] {
            try tool.folder.write("kept-\(name)", tool.folder.data(name))
        }
        try holder.end()
        for name in ["store.db", "store.db-wal"] {
            try tool.folder.write(name, tool.folder.data("kept-\(name)"))
        }
        let before = try tool.folder.data("store.db-wal")
        let store = try tool.folder.data("store.db")
        let result = try tool.onStore("rehearse")
        #expect(result.status == 0, "\(result)")
        // The row of the log, too.
        #expect(result.stdout.contains("0002_tag  901 rows"), "\(result)")
        #expect(try tool.folder.data("store.db-wal") == before)
        #expect(try tool.folder.data("store.db") == store)
        #expect(!(try tool.folder.names.contains { $0.hasPrefix(".") }))
    }

    @Test func anotherKeyDoesNotOpenIt() throws {
        let before = try files()
        try tool.folder.write("other", ToolFolder.randomDigits(count: 64).utf8)
        let result = try tool.run(
            "rehearse",
            "--db-path",
            tool.database,
            "--migrations",
            tool.migrations,
            "--raw-key",
            "--password-file",
            tool.folder.path("other"),
            "--report",
            tool.folder.path("report.txt")
        )
        #expect(result.status == 77, "\(result)")
        unlink(tool.folder.path("other"))
        #expect(try files() == before)
    }

    @Test func nothingPendingIsNoRehearsal() throws {
        #expect(try tool.onStore("migrate").status == 0)
        let before = try files()
        let result = try tool.onStore("rehearse", "--report", tool.folder.path("report.txt"))
        #expect(result.status == 0)
        #expect(result.stdout.hasPrefix("Nothing to rehearse; 0 pending.\n"), "\(result)")
        #expect(try report().contains("nothing was pending"))
        #expect(try files() == before)
    }

    @Test func aMissingDatabaseIsNotMade() throws {
        unlink(tool.database)
        #expect(try tool.onStore("rehearse").status == 66)
        #expect(try tool.folder.names == ["migrations", "password"])
    }

    @Test(arguments: [[], ["--all-or-nothing"]])
    func aStepThatFailsFailsAsInMigrate(_ more: [String]) throws {
        try tool.write(
            "0003_unique",
            up: """
                INSERT INTO tag SELECT name FROM item WHERE id = 7;
                CREATE UNIQUE INDEX tag_name ON tag (name);
                """
        )
        let before = try files()
        let arguments = tool.opening + ["--migrations", tool.migrations, "--json"] + more
        let result = try tool.run(
            ["rehearse", "--report", tool.folder.path("report.txt")] + arguments
        )
        #expect(result.status == 1, "\(result)")
        #expect(try result.jsonError()["code"] as? String == "stepFailed")
        let hint = try #require(try result.jsonError()["hint"] as? String)
        #expect(hint.hasSuffix("The database itself is unchanged."), "\(hint)")
        let document = try result.json()
        #expect(document["ok"] as? Bool == false)
        #expect(document["failed"] as? String == "0003_unique")
        #expect((document["steps"] as? [Any])?.count == 1)
        #expect((document["pending"] as? [Any])?.count == (more.isEmpty ? 1 : 2))
        let text = try report()
        #expect(text.contains("failed: 0003_unique\nerror: stepFailed, SQLite "), "\(text)")
        #expect(text.contains("in line 3 of 0003_unique.sql"), "\(text)")
        #expect(try files() == before)
        let migrated = try tool.run(["migrate"] + arguments)
        #expect(migrated.status == result.status)
        #expect(
            try migrated.jsonError()["message"] as? String == result.jsonError()["message"]
                as? String
        )
    }

    @Test func checksAndRequirementsHoldOnTheCopy() throws {
        try tool.folder.makeFolder("checks")
        // Without a comment, it is named by its place.
        try tool.folder.write("checks/tag.sql", "SELECT rowid FROM tag WHERE name GLOB '*7';".utf8)
        let before = try files()
        let path = tool.folder.path("report.txt")
        let result = try tool.onStore("rehearse", "--json", "--report", path)
        #expect(result.status == 2, "\(result)")
        #expect(try result.jsonError()["code"] as? String == "checkFailed")
        let text = try report()
        #expect(text.contains("error: checkFailed, check in line 1 of tag.sql, 90 rows"), "\(text)")
        try tool.write(
            "0002_tag",
            up: """
                -- migrate:require
                -- no name twice
                SELECT rowid FROM item WHERE id < 3;
                -- migrate:end
                CREATE TABLE tag (name TEXT);
                """
        )
        let refused = try tool.onStore("rehearse", "--json", "--report", path)
        #expect(refused.status == 2)
        #expect(try refused.jsonError()["code"] as? String == "requirementFailed")
        #expect(try report().contains("error: requirementFailed, check no name twice, 2 rows"))
        #expect(try files()["store.db"] == before["store.db"])
    }

    @Test func whatTheVerificationFindsIsReported() throws {
        _ = try tool.shell("CREATE TABLE by_hand (id INTEGER);")
        let result = try tool.onStore("rehearse", "--report", tool.folder.path("report.txt"))
        #expect(result.status == 2)
        #expect(result.stdout.contains("FAILED  schema\n"), "\(result)")
        #expect(result.stderr.contains("verification of the copy failed: schema"))
        #expect(try report().contains("FAILED: schema, 1 finding, in by_hand"))
        #expect(try tool.onStore("rehearse", "--ignore-table", "by_hand").status == 0)
    }

    @Test func theCopyMayBeElsewhere() throws {
        try tool.folder.makeFolder("room")
        let before = try files()
        let arguments = ["rehearse", "--in", tool.folder.path("room")]
        #expect(try tool.onStore(arguments[0], arguments[1], arguments[2]).status == 0)
        #expect(try files().filter { $0.key != "room" } == before.filter { $0.key != "room" })
        // Such as a file, or nothing.
        for name in ["password", "nowhere"] {
            let result = try tool.onStore("rehearse", "--json", "--in", tool.folder.path(name))
            #expect(result.status == 66)
            #expect(try result.jsonError()["code"] as? String == "noSuchFolder")
        }
    }

    @Test func aReportNeverReplacesAFile() throws {
        let before = try files()
        let result = try tool.onStore("rehearse", "--report", tool.folder.path("password"))
        #expect(result.status == 73)
        #expect(result.stdout.isEmpty)
        #expect(try files() == before)
    }

    @Test func whatMigrateRefusesIsRefused() throws {
        try tool.write("0001_item", up: "CREATE TABLE other (id INTEGER);")
        #expect(try tool.onStore("rehearse").status == 65)
        #expect(try tool.folder.names == ["migrations", "password", "store.db"])
    }

    // MARK: - A Program with Its Own Store

    @Test func theCopyIsEncryptedAndOnlyItsOwners() throws {
        let folder = try TemporaryFolder()
        let store = EncryptedStore(
            path: folder.path("notes.db"),
            keyStore: InMemoryKeyStore(),
            service: "org.example.Notes",
            account: "main"
        )
        let seen = Lines()
        let runner = try GRDBMigrationRunner(steps: [
            step("0001_notes", "CREATE TABLE note (id INTEGER PRIMARY KEY, text)"),
            MigrationStep(
                identifier: "0002_look",
                sourceFile: "M0002.swift",
                apply: { db in
                    for name in try folder.drafts(".notes.db-writing-") {
                        let mode = folder.mode(name) ?? 0
                        let isPlaintext = try folder.data(name).starts(with: "SQLite format".utf8)
                        seen.append("\(String(mode, radix: 8)) \(isPlaintext)")
                    }
                    try db.execute(sql: "CREATE TABLE look (id)")
                }
            ),
        ])
        func run(_ arguments: String...) throws {
            try MigrationCLI.run(
                arguments: arguments,
                host: MigrationCLIHost(runner: runner, store: store),
                output: { _ in },
                errorOutput: { _ in }
            )
        }
        try run("migrate", "--to", "0001")
        try run("rehearse")
        #expect(try folder.names == ["notes.db"])
        // The copy, its journal and its locks.
        let modes = Set(seen.text.split(separator: "\n"))
        #expect(modes == ["600 false"], "\(modes)")
    }
}

/// Another program that has a database open.
private struct QueryOfAnother {
    private let process: ChildProcess

    init(_ tool: Tool) throws {
        let program =
            Python.connect + """
                path, key = json.loads(sys.stdin.readline())
                connection = connect(path, key, isolation_level=None)
                for line in sys.stdin:
                    connection.execute(line)
                    print("done", flush=True)
                """
        process = try ChildProcess(Python.executable, ["-c", program])
        process.write(try JSONSerialization.data(withJSONObject: [tool.database, tool.shellKey]))
        process.write("\n".utf8)
    }

    func run(_ sql: String) throws {
        process.write("\(sql)\n".utf8)
        try #require(process.readLine() == "done")
    }

    func end() throws { _ = try process.finish() }
}
