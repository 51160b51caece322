import Foundation
import TestSupport
import Testing

/// What commands ask when they are about to create a database, and where they say it is.
@Suite struct NewDatabaseTests {
    private let tool: Tool

    init() throws {
        tool = try Tool()
        try tool.writeItems()
    }

    private func terminal(_ command: String...) throws -> TerminalProcess {
        try TerminalProcess(
            builtExecutable("migrationkit-cli"),
            command + ["--db-path", tool.database, "--migrations", tool.migrations],
            environment: tool.environment
        )
    }

    private func dump() throws -> String {
        let path = tool.folder.path("schema.sql")
        let dumped = try tool.run(
            ["schema-dump", "--migrations", tool.migrations, "--output", path]
        )
        #expect(dumped.status == 0, "\(dumped)")
        return path
    }

    // MARK: - The passphrase

    @Test(arguments: ["migrate", "schema-load"])
    func newPassphraseIsAskedForTwice(_ command: String) throws {
        let words = [command] + (command == "migrate" ? [] : [try dump()])
        func start() throws -> TerminalProcess {
            try TerminalProcess(
                builtExecutable("migrationkit-cli"),
                words + ["--db-path", tool.database, "--migrations", tool.migrations],
                environment: tool.environment
            )
        }
        let slip = try start()
        #expect(slip.wait(for: "Passphrase for the new database \(tool.database): "))
        slip.type("\(tool.password)\n".utf8)
        #expect(slip.wait(for: "Once more: "))
        slip.type("\(tool.password) slip\n".utf8)
        let refused = slip.finish()
        #expect(refused.status == 64)
        #expect(refused.stdout.contains("the two passphrases are not the same"))
        #expect(try !tool.folder.names.contains { $0.hasPrefix("store.db") })

        let process = try start()
        for question in ["Passphrase for the new database", "Once more: "] {
            #expect(process.wait(for: question))
            process.type("\(tool.password)\n".utf8)
        }
        let result = process.finish()
        #expect(result.status == 0, "\(result)")
        #expect(result.stdout.contains("Created \(tool.database)."))
        #expect(try tool.onStore("status").status == 0)
    }

    @Test func passphraseOfADatabaseThatIsThereIsAskedForOnce() throws {
        #expect(try tool.onStore("migrate", "--to", "0001").status == 0)
        let process = try terminal("migrate")
        #expect(process.wait(for: "Passphrase for \(tool.database): "))
        process.type("\(tool.password)\n".utf8)
        let result = process.finish()
        #expect(result.status == 0, "\(result)")
        #expect(!result.stdout.contains("Once more"))
        #expect(!result.stdout.contains("Created"))
    }

    @Test func passphraseOfAPlaintextDatabaseThatIsToBeEncryptedIsAskedForTwice() throws {
        _ = try SQLCipherShell.run(tool.database, key: nil, "CREATE TABLE t (a);")
        let process = try TerminalProcess(
            builtExecutable("migrationkit-cli"),
            ["encrypt", "--db-path", tool.database],
            environment: tool.environment
        )
        for question in ["Passphrase for \(tool.database): ", "Once more: "] {
            #expect(process.wait(for: question))
            process.type("\(tool.password)\n".utf8)
        }
        #expect(process.finish().status == 0)
        #expect(try tool.shell("SELECT count(*) FROM t;") == "0")
    }

    // MARK: - The file

    @Test func whereItWasCreatedIsSaid() throws {
        // As a mistyped path would be seen from another folder.
        let result = try TestSupport.run(
            "/usr/bin/env",
            [
                "-C", tool.folder.path, builtExecutable("migrationkit-cli"), "migrate", "--db-path",
                "nots.db", "--password-file", "password",
            ],
            environment: tool.environment,
            newSession: true
        )
        #expect(result.status == 0, "\(result)")
        #expect(result.stdout.hasPrefix("Created \(tool.folder.path("nots.db")).\n"))
        #expect(try !tool.onStore("migrate").stdout.contains("nots.db"))
    }

    // MARK: - Before anybody is asked

    @Test(arguments: [
        "status", "verify", "rollback", "backup", "rekey", "key check", "verify --full",
    ])
    func nobodyIsAskedForTheKeyOfNoFileOrAPlaintextOne(_ command: String) throws {
        func run() throws -> ProcessResult {
            let more = command == "backup" ? ["--output", tool.folder.path("copy.db")] : []
            let named = ["--db-path", tool.database]
            let hasFolder = ["status", "verify", "rollback", "verify --full"].contains(command)
            return try TerminalProcess(
                builtExecutable("migrationkit-cli"),
                command.split(separator: " ").map(String.init) + named + more
                    + (hasFolder ? ["--migrations", tool.migrations] : []),
                environment: tool.environment
            ).finish()
        }
        let missing = try run()
        #expect(missing.status == 66, "\(missing)")
        #expect(missing.stdout.contains("there is no database"))
        _ = try SQLCipherShell.run(tool.database, key: nil, "CREATE TABLE t (a);")
        let plaintext = try run()
        #expect(plaintext.status == 77, "\(plaintext)")
        #expect(plaintext.stdout.contains("is not encrypted"))
        for result in [missing, plaintext] { #expect(!result.stdout.contains("Passphrase")) }
    }

    @Test func nobodyIsAskedForTheKeyOfADatabaseThatCanNotBeCreated() throws {
        let process = try TerminalProcess(
            builtExecutable("migrationkit-cli"),
            [
                "migrate", "--db-path", tool.folder.path("none/store.db"), "--migrations",
                tool.migrations,
            ],
            environment: tool.environment
        )
        let result = process.finish()
        #expect(result.status == 73, "\(result)")
        #expect(!result.stdout.contains("Passphrase"))
    }

    @Test func nobodyIsAskedForTheNewKeyOfAnEncryptedDatabase() throws {
        #expect(try tool.onStore("migrate").status == 0)
        let result = try TerminalProcess(
            builtExecutable("migrationkit-cli"),
            ["encrypt", "--db-path", tool.database],
            environment: tool.environment
        ).finish()
        #expect(result.status == 77, "\(result)")
        #expect(!result.stdout.contains("Passphrase"))
    }

    @Test func theBackupIsLookedAtBeforeItsKeyIsAskedFor() throws {
        #expect(try tool.onStore("migrate").status == 0)
        let result = try TerminalProcess(
            builtExecutable("migrationkit-cli"),
            ["restore", "--db-path", tool.database, "--from", tool.folder.path("none.db")],
            environment: tool.environment
        ).finish()
        #expect(result.status == 66, "\(result)")
        #expect(!result.stdout.contains("Passphrase"))
    }
}
