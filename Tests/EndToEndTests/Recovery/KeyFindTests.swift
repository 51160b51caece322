import Foundation
import TestSupport
import Testing

/// `key find` on a real Secret Service, and without one.
@Suite struct KeyFindTests {
    private func found(_ result: ProcessResult) throws -> [[String: Any]] {
        try #require(try result.json()["found"] as? [[String: Any]], "\(result)")
    }

    private func options(_ found: [String: Any]) throws -> [String] {
        try #require(found["options"] as? [String])
    }

    private func find(_ tool: Tool, _ more: String...) throws -> ProcessResult {
        try tool.run(["key", "find", "--db-path", tool.database] + more)
    }

    /// The options open the database, as they stand.
    private func expectToOpen(_ tool: Tool, _ path: String, _ options: [String]) throws {
        let checked = try tool.run(["key", "check", "--db-path", path] + options)
        #expect(checked.status == 0, "\(options): \(checked)")
    }

    @Test func findsTheItemAndTheFormerOnesAfterRotations() throws {
        let database = try RotatedDatabase()
        let tool = database.tool
        let backup = tool.folder.path("backup.db")
        #expect(try database.run("backup", more: ["--output", backup]).status == 0)
        #expect(try database.run("key", "rotate").status == 0)
        #expect(try database.run("key", "rotate").status == 0)

        let current = try find(tool, "--json")
        #expect(current.status == 0, "\(current)")
        let item = try #require(try found(current).first)
        #expect(try found(current).count == 1)
        #expect(item["role"] == nil)
        #expect(try options(item) == database.item)
        try expectToOpen(tool, tool.database, options(item))

        let former = try tool.run("key", "find", "--db-path", backup, "--json")
        let previous = try #require(try found(former).first, "\(former)")
        #expect(previous["role"] as? String == "previous")
        try expectToOpen(tool, backup, options(previous))

        let text = try tool.run("key", "find", "--db-path", backup)
        #expect(text.stdout.contains("migrationkit-cli rekey --db-path"), "\(text)")
        for output in [current, former, text] {
            for service in [RotatedDatabase.service, RotatedDatabase.previousService] {
                for account in try database.items(of: service) {
                    let key = try #require(try database.key(service: service, username: account))
                    #expect(!(output.stdout + output.stderr).contains(key))
                }
            }
        }
        // A limit to another service leaves nothing to try.
        let none = try find(tool, "--keychain-service", "org.other", "--json")
        #expect(none.status == 69)
        #expect(try none.jsonError()["code"] as? String == "noKeyOpens")
    }

    @Test func pendingKeyOfAKilledRotationLeadsToTheItem() throws {
        let database = try RotatedDatabase()
        try database.killAfterTheReplacement()
        let result = try find(database.tool, "--json")
        let item = try #require(try found(result).first, "\(result)")
        #expect(item["role"] as? String == "pending")
        #expect(try options(item) == database.item)
        #expect(try database.items(of: RotatedDatabase.pendingService).count == 1)
        try expectToOpen(database.tool, database.tool.database, options(item))
    }

    @Test(arguments: [4, 3, 2, 1])
    func passphraseOfAnotherProgramIsFoundWithItsSettings(_ version: Int) throws {
        let secrets = try PrivateSecretService()
        let tool = try Tool(environment: secrets.environment)
        _ = try SQLCipherShell.run(
            tool.database,
            key: tool.password,
            "PRAGMA cipher_compatibility = \(version); CREATE TABLE t (a);"
        )
        for (service, secret) in [("org.one", "another"), ("org.two", tool.password)] {
            let stored = try secrets.run(
                "secret-tool",
                ["store", "--label=\(service)", "service", service, "username", "me"],
                input: secret + "\n"
            )
            #expect(stored.status == 0, "\(stored)")
        }
        let result = try find(tool, "--json")
        #expect(result.status == 0, "\(result)")
        #expect(try result.json()["cipherCompatibility"] as? Int == version)
        #expect(try result.json()["form"] as? String == "passphrase")
        let options = try options(try #require(try found(result).first))
        #expect(
            options.starts(with: ["--keychain-service", "org.two", "--keychain-account", "me"])
        )
        try expectToOpen(tool, tool.database, options)
    }

    @Test func itemWithoutAServiceIsNamedByACommand() throws {
        let secrets = try PrivateSecretService()
        let tool = try Tool(environment: secrets.environment, isRawKey: true)
        _ = try tool.shell("CREATE TABLE t (a);")
        let stored = try secrets.run(
            "secret-tool",
            ["store", "--label=Odd", "program", "odd one"],
            input: tool.password
        )
        #expect(stored.status == 0)
        let item = try #require(try found(find(tool, "--json")).first)
        #expect(try options(item).first == "--password-command")
        #expect(try options(item).last == "--raw-key")
        try expectToOpen(tool, tool.database, options(item))
    }

    @Test func filesAreSearchedWithoutASecretService() throws {
        let tool = try Tool(
            environment: ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent"],
            isRawKey: true
        )
        _ = try tool.shell("CREATE TABLE t (a);")
        let without = try find(tool, "--json")
        #expect(without.status == 69)
        #expect(try without.jsonError()["code"] as? String == "noBus")

        try tool.folder.makeFolder("keys")
        try tool.folder.makeFolder("keys/inner")
        try tool.folder.write("keys/a", "not this one\n".utf8)
        try tool.folder.write("keys/b", (tool.password + "\n").utf8)
        try tool.folder.write("keys/open", "readable by all".utf8)
        for name in ["a", "b"] { chmod(tool.folder.path("keys/\(name)"), 0o600) }
        chmod(tool.folder.path("keys/open"), 0o644)
        let result = try find(tool, "--key-file", tool.folder.path("keys"))
        #expect(result.status == 0, "\(result)")
        #expect(result.stderr.contains("note: only files were tried"))
        #expect(result.stderr.contains("can be read or written by other users"))
        #expect(result.stdout.contains("keys/b"))
        let json = try find(tool, "--key-file", tool.folder.path("keys/b"), "--json")
        try expectToOpen(tool, tool.database, options(try #require(try found(json).first)))

        let missing = try find(tool, "--key-file", tool.folder.path("none"), "--json")
        #expect(missing.status == 66, "\(missing)")
        // The inner folder is empty.
        for name in ["keys/a", "keys/inner"] {
            let none = try find(tool, "--key-file", tool.folder.path(name), "--json")
            #expect(none.status == 69)
            #expect(try none.jsonError()["code"] as? String == "noKeyOpens")
        }
    }

    @Test func lockedCollectionIsSaidAndNobodyIsAskedIfAnotherKeyOpensTheFile() throws {
        let database = try RotatedDatabase()
        try database.secrets.lock()
        for options in [["--no-prompt"], []] {
            let result = try database.tool.run(
                ["key", "find", "--db-path", database.tool.database, "--json"] + options
            )
            #expect(result.status == 77, "\(result)")
            let error = try result.jsonError()
            #expect(error["code"] as? String == "collectionLocked")
            #expect((error["message"] as? String)?.contains("\"Login\"") == true, "\(error)")
            #expect((error["hint"] as? String)?.contains("Unlock") == true)
        }
        // Otherwise this would wait for an answer.
        try database.secrets.makeQuestionsWait()
        let file = try find(
            database.tool,
            "--key-file",
            database.tool.folder.path("password"),
            "--json"
        )
        #expect(file.status == 0, "\(file)")
    }

    @Test func oneOfAThousandItemsIsFound() throws {
        let secrets = try PrivateSecretService(.withoutPassword)
        let tool = try Tool(environment: secrets.environment, isRawKey: true)
        _ = try tool.shell("CREATE TABLE t (a);")
        // As the daemon writes them, which is quicker than a thousand programs.
        let items = (1...1000).map { number in
            let secret = number == 777 ? tool.password : ToolFolder.randomDigits(count: 64)
            return """
                [\(number)]
                item-type=0
                display-name=Item \(number)
                secret=\(secret)
                mtime=1700000000
                ctime=1700000000

                [\(number):attribute0]
                name=service
                type=string
                value=org.many.\(number)

                [\(number):attribute1]
                name=migrationkit:form
                type=string
                value=raw-key

                """
        }
        try secrets.folder.write(
            "data/keyrings/login.keyring",
            (["[keyring]\ndisplay-name=login\n"] + items).joined(separator: "\n").utf8
        )
        try secrets.restart()
        let start = Date()
        // The daemon is slow with so many, and more so beside other tests.
        let result = try find(tool, "--json", "--keychain-timeout", "120")
        #expect(result.status == 0, "\(result)")
        report("key find: 1 of 1,000 items in \(Date().timeIntervalSince(start)) s")
        #expect(try result.json()["candidates"] as? Int == 1000)
        let item = try #require(try found(result).first)
        #expect(try options(item) == ["--keychain-service", "org.many.777"])
    }

    @Test func searchEndsOnRequest() throws {
        let tool = try Tool(environment: ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent"])
        _ = try tool.shell("CREATE TABLE t (a);")
        try tool.folder.makeFolder("keys")
        // Each takes a tenth of a second, with settings that make it ten times as long.
        for number in 1...200 {
            try tool.folder.write("keys/\(number)", "wrong \(number)".utf8)
            chmod(tool.folder.path("keys/\(number)"), 0o600)
        }
        let search = try ChildProcess(
            builtExecutable("migrationkit-cli"),
            [
                "key", "find", "--db-path", tool.database, "--key-file", tool.folder.path("keys"),
                "--kdf-iterations", "2560000",
            ],
            environment: tool.environment,
            newSession: true
        )
        // Its threads are there once the search has begun.
        let tasks = "/proc/\(search.processIdentifier)/task"
        try wait(for: "threads", interval: 0) {
            try FileManager.default.contentsOfDirectory(atPath: tasks).count >= 3
        }
        search.send(SIGINT)
        let result = try search.finish()
        #expect(result.status == 130, "\(result)")
        #expect(result.stderr.contains("Nothing was changed."))
    }

    @Test func errorsOfAWrongAndAMissingKeyNameTheCommand() throws {
        let database = try RotatedDatabase()
        let tool = database.tool
        try tool.folder.write("password", ToolFolder.randomDigits(count: 64).utf8)
        let wrong = try tool.onStore("status")
        #expect(wrong.status == 77)
        let command = "--db-path \(tool.database)"
        #expect(wrong.stderr.contains("migrationkit-cli key find \(command) --key-file DIR"))
        #expect(wrong.stderr.contains("migrationkit-cli key import COPY \(command) --output FILE"))
        let missing = try tool.run(
            "status",
            "--db-path",
            tool.database,
            "--migrations",
            tool.migrations,
            "--keychain-service",
            "org.none"
        )
        #expect(missing.status == 69)
        #expect(missing.stderr.contains("migrationkit-cli key find --db-path"))
    }

    @Test func plaintextFileNeedsNoKey() throws {
        let tool = try Tool(environment: ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent"])
        try tool.folder.write(
            "store.db",
            Array("SQLite format 3\0".utf8) + [UInt8](repeating: 0, count: 4080)
        )
        let result = try find(tool, "--json")
        #expect(result.status == 77)
        #expect(try result.jsonError()["code"] as? String == "plaintext")
    }
}
