import Foundation
import TestSupport
import Testing

/// `verify` in a working folder, beside another process, and on a terminal.
@Suite struct VerifyTests {
    private let tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.writeItems()
        try tool.write(
            "0004_filler",
            up: """
                CREATE TABLE filler (a);
                WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 50)
                INSERT INTO filler SELECT randomblob(3500) FROM c;
                """
        )
        #expect(try tool.onStore("migrate").status == 0)
    }

    @Test func withoutMigrationsTheLedgerIsNotCompared() throws {
        // The folder that the tool looks for when none is named is that of the migrations.
        for folder in [tool.folder.path, tool.migrations] {
            let result = try TestSupport.run(
                "/usr/bin/env",
                ["-C", folder, builtExecutable("migrationkit-cli"), "verify", "--full", "--json"]
                    + tool.opening + ["--require-index", "item.missing"],
                environment: tool.environment,
                newSession: true
            )
            #expect(result.status == 2, "\(result)")
            let checks = try #require(try result.json()["checks"] as? [[String: Any]])
            let failed = checks.filter { $0["ok"] as? Bool == false }
            #expect(failed.map { $0["name"] as? String } == ["required_index item.missing"])
            #expect(checks.contains { $0["name"] as? String == "integrity_check" })
            #expect(checks.last?["name"] as? String == "ledger")
            let note = checks.last?["note"] as? String
            #expect(
                note
                    == (folder == tool.migrations
                        ? "not compared with migrations: none are named, and there is no folder "
                            + "'migrations'"
                        : "4 applied, 0 pending")
            )
        }
    }

    @Test func verifyWithoutFullNeedsNoMigrationsEither() throws {
        func verify(_ arguments: String...) throws -> ProcessResult {
            try TestSupport.run(
                "/usr/bin/env",
                ["-C", tool.migrations, builtExecutable("migrationkit-cli"), "verify"]
                    + tool.opening + arguments,
                environment: tool.environment,
                newSession: true
            )
        }
        let human = try verify()
        #expect(human.status == 0, "\(human)")
        #expect(human.stdout.contains("(not compared with migrations: none are named"))
        #expect(human.stdout.hasSuffix("The database is sound.\n"))
        let checks = try #require(try verify("--json").json()["checks"] as? [[String: Any]])
        #expect(
            checks.map { $0["name"] as? String }
                == ["quick_check", "foreign_key_check", "schema", "ledger"]
        )
        // What the settings file requires is required without migrations, too.
        try tool.folder.write(
            "migrations/migrationkit.toml",
            "require-index = [\"item.missing\"]\n".utf8
        )
        let missing = try verify("--json")
        #expect(missing.status == 2, "\(missing)")
        #expect(missing.stdout.contains("required_index item.missing"))
    }

    @Test(arguments: ["migrations", "nowhere"], [["--full"], []])
    func migrationsThatAreNamedHaveToBeThere(_ name: String, _ full: [String]) throws {
        for (options, environment) in [
            (["--migrations", name], [:]), ([], ["MIGRATIONKIT_MIGRATIONS": name]),
        ] {
            let result = try TestSupport.run(
                "/usr/bin/env",
                [
                    "-C", tool.migrations, builtExecutable("migrationkit-cli"), "verify", "--json",
                ] + full + tool.opening + options,
                environment: tool.environment.merging(environment) { $1 },
                newSession: true
            )
            #expect(result.status == 66, "\(result)")
            #expect(try result.jsonError()["code"] as? String == "noSuchFolder")
        }
    }

    @Test func anotherProcessThatWritesIsToldAsThat() throws {
        _ = try tool.shell("CREATE VIRTUAL TABLE search USING fts5 (a);")
        let holder = try LockHolder(tool.database, key: "x'\(tool.password)'")
        let result = try tool.onStore("verify", "--full", "--json")
        #expect(result.status == 75, "\(result)")
        #expect(try result.jsonError()["code"] as? String == "locked")
        let hint = try #require(try result.jsonError()["hint"] as? String)
        #expect(hint.contains(/is open in process [0-9]+ \(python/))
        try holder.release()
    }

    @Test func controlCEndsACheck() throws {
        // A constraint that takes a tenth of a millisecond for each of many rows.
        _ = try tool.shell(
            """
            PRAGMA ignore_check_constraints = 1;
            CREATE TABLE slow (a CHECK (length(hex(zeroblob(100000))) > 0));
            WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 1000000)
            INSERT INTO slow SELECT 1 FROM c;
            """
        )
        let process = try TerminalProcess(
            builtExecutable("migrationkit-cli"),
            ["verify", "--full"] + tool.opening + ["--migrations", tool.migrations],
            environment: tool.environment.merging(["TERM": "xterm"]) { $1 }
        )
        #expect(process.wait(for: "checking: quick_check, "))
        process.type([3])
        let result = process.finish()
        #expect(result.status == 130, "\(result)")
        #expect(result.stdout.contains("ok      cipher_integrity_check  "))
        #expect(result.stdout.contains("interrupted\r\n"))
        #expect(try tool.folder.names == ["migrations", "password", "store.db"])
    }
}
