import Foundation
import TestSupport
import Testing

/// `key rotate` with a real Secret Service, and what the other commands make of it.
@Suite struct KeyRotationCommandTests {
    private let database: RotatedDatabase

    init() throws {
        database = try RotatedDatabase()
    }

    // MARK: - What It Does

    @Test func databaseAndItemHaveANewKeyAndTheOldOneIsKept() throws {
        let backup = database.tool.folder.path("backup.db")
        try FileManager.default.copyItem(atPath: database.tool.database, toPath: backup)
        // Others lose no right, whatever the umask, and so there is nothing to note.
        chmod(database.tool.database, 0o600)
        let result = try database.run("key", "rotate")
        #expect(result.status == 0, "\(result)")
        #expect(result.stderr == "")
        try database.expectSettled()
        let key = try #require(try database.key())
        #expect(key != database.tool.password)
        #expect(!result.stdout.contains(key))

        // The tool says where the old key is, and that opens the backup.
        let kept = try #require(try database.items(of: RotatedDatabase.previousService).first)
        #expect(result.stdout.contains("'\(RotatedDatabase.previousService)'"))
        #expect(result.stdout.contains("'\(kept)'"))
        let checked = try database.tool.run(
            [
                "key", "check", "--db-path", backup, "--keychain-service",
                RotatedDatabase.previousService, "--keychain-account", kept,
            ]
        )
        #expect(checked.status == 0, "\(checked)")
        #expect(try database.status().status == 0)
        #expect(try database.launch().status == 0)
    }

    @Test func keyThatSecretToolStoredIsRotated() throws {
        let passphrase = "ein Geheimnis \(UInt64.random(in: 1...UInt64.max))"
        let folder = database.tool.folder
        _ = try SQLCipherShell.run(
            folder.path("other.db"),
            key: passphrase,
            "CREATE TABLE t (a); INSERT INTO t VALUES ('zettel');"
        )
        // The line's end stays in the item.
        let stored = try database.secrets.run(
            "secret-tool",
            ["store", "--label=Andere", "service", "org.other", "username", "ich"],
            input: passphrase + "\n"
        )
        #expect(stored.status == 0)
        let other = ["--db-path", folder.path("other.db"), "--keychain-service", "org.other"]
        let result = try database.tool.run(["key", "rotate", "--json"] + other)
        #expect(result.status == 0, "\(result)")
        let document = try result.json()
        let item = try #require(document["item"] as? [String: Any])
        #expect(item["label"] as? String == "Andere")
        #expect(item["account"] as? String == "ich")
        let notes = try #require(document["notes"] as? [String])
        #expect(notes.first?.contains("another program had stored the item") == true)
        let kept = try #require(document["kept"] as? [String: Any])
        let service = "migrationkit-previous: org.other"
        #expect(kept["service"] as? String == service)
        let username = try #require(kept["account"] as? String)
        #expect(try database.key(service: service, username: username) == passphrase)
        let key = try #require(try database.key(service: "org.other", username: "ich"))
        let row = try SQLCipherShell.run(
            folder.path("other.db"),
            key: "x'\(key)'",
            "SELECT a FROM t;"
        )
        #expect(row == "zettel")
    }

    @Test func oldPassphraseThatCanNotBeKeptIsSaidBeforeAnythingIsDone() throws {
        let passphrase = "ein\\nGeheimnis \(UInt64.random(in: 1...UInt64.max))"
        let path = database.tool.folder.path("other.db")
        _ = try SQLCipherShell.run(path, key: passphrase, "CREATE TABLE t (a);")
        let stored = try database.secrets.run(
            "secret-tool",
            ["store", "--label=Andere", "service", "org.other", "username", "ich"],
            input: passphrase
        )
        #expect(stored.status == 0)
        let before = try database.tool.folder.data("other.db")
        let rotate = [
            "key", "rotate", "--json", "--db-path", path, "--keychain-service", "org.other",
        ]
        let refused = try database.tool.run(rotate)
        #expect(refused.status == 77, "\(refused)")
        #expect(try refused.jsonError()["code"] as? String == "unstorablePassphrase")
        #expect(try database.tool.folder.data("other.db") == before)
        #expect(try database.items(of: "migrationkit-pending: org.other") == [])
        #expect(try database.key(service: "org.other", username: "ich") == passphrase)

        let rotated = try database.tool.run(rotate + ["--discard-old-key"])
        #expect(rotated.status == 0, "\(rotated)")
        let key = try #require(try database.key(service: "org.other", username: "ich"))
        #expect(try SQLCipherShell.run(path, key: "x'\(key)'", "SELECT count(*) FROM t;") == "0")
    }

    @Test func oldKeyIsDiscardedOnRequest() throws {
        let result = try database.run("key", "rotate", more: ["--discard-old-key"])
        #expect(result.status == 0, "\(result)")
        #expect(result.stdout.contains("The old key was deleted"))
        #expect(try database.items(of: RotatedDatabase.previousService) == [])
        try database.expectSettled()
    }

    @Test func originalIsKeptWithTheOldKey() throws {
        let original = database.tool.folder.path("original.db")
        let result = try database.run("key", "rotate", more: ["--keep-original", original])
        #expect(result.status == 0, "\(result)")
        #expect(
            try database.content(database.tool.password, path: original) == database.expectedContent
        )
        try database.expectSettled()
    }

    // MARK: - After a Kill

    @Test func commandsThatChangeNothingOpenTheFileAndLeaveThePendingKey() throws {
        try database.killAfterTheReplacement()
        try database.tool.write("9999_pending", up: "CREATE TABLE pending (id INTEGER);")
        let rehearse = [
            "rehearse", "--migrations", database.tool.migrations, "--ignore-table", "note",
        ]
        for command in [["inspect", "--tables"], ["key", "check"], rehearse] {
            let result = try database.tool.run(command + database.opening)
            #expect(result.status == 0, "\(result)")
            #expect(try database.items(of: RotatedDatabase.pendingService).count == 1)
        }
        #expect(try database.key() == database.tool.password)
        #expect(try database.status().status == 0)
        try database.expectSettled()
    }

    @Test(arguments: ["migrate", "verify", "rekey", "rotate", "launch", "moved"])
    func everyOtherFinishesIt(_ command: String) throws {
        try database.killAfterTheReplacement()
        let tool = database.tool
        let result: ProcessResult
        switch command {
        case "rekey":
            try tool.folder.write("new", ToolFolder.randomDigits(count: 64).utf8)
            result = try database.run(
                "rekey",
                more: [
                    "--new-password-file", tool.folder.path("new"), "--output",
                    tool.folder.path("copy.db"),
                ]
            )
        case "rotate":
            result = try database.run("key", "rotate")
        case "launch":
            result = try database.launch()
        case "moved":
            let moved = tool.folder.path("moved.db")
            try FileManager.default.moveItem(atPath: tool.database, toPath: moved)
            result = try tool.run(["key", "rotate", "--db-path", moved] + database.item)
            #expect(result.status == 0, "\(result)")
            try FileManager.default.moveItem(atPath: moved, toPath: tool.database)
        default:
            result = try database.run(command, more: ["--migrations", tool.migrations])
        }
        #expect(result.status == 0 || command == "verify", "\(result)")
        try database.expectSettled()
        let previous = try database.items(of: RotatedDatabase.previousService).map {
            try database.key(service: RotatedDatabase.previousService, username: $0)
        }
        #expect(previous.contains(tool.password))
    }

    @Test func waitingRotationThatIsKilledIsUndone() throws {
        let holder = try LockHolder(database.tool.database, key: "x'\(database.tool.password)'")
        let rotation = try startedRotation()
        #expect(try database.temporaryNames.count == 1)
        rotation.send(SIGKILL)
        #expect(try rotation.finish().signal == SIGKILL)
        try holder.release()
        #expect(try database.launch().status == 0)
        #expect(try database.key() == database.tool.password)
        #expect(try database.items(of: RotatedDatabase.previousService) == [])
        #expect(try database.temporaryNames == [])
        try database.expectSettled()
    }

    // MARK: - The Secret Service

    /// Starts a rotation that can't get at the database, and returns once its key is pending and it
    /// waits: it reads the key back, makes its new file, which stays empty, and has the database open
    /// for an instant.
    private func startedRotation() throws -> ChildProcess {
        let rotation = try database.startRotation("--lock-timeout", "100", "--json")
        let folder = "/proc/\(rotation.processIdentifier)/fd"
        var waited = 0
        for _ in 0..<1000 {
            guard try !database.items(of: RotatedDatabase.pendingService).isEmpty,
                try !database.temporaryNames.isEmpty
            else { continue }
            let open = try FileManager.default.contentsOfDirectory(atPath: folder).map {
                try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")
            }
            waited += 1
            // The instant may have passed. The keyring has answered so often since.
            if waited > 100 || open.contains(database.tool.database) { return rotation }
        }
        let result = try rotation.finish(within: 0)
        throw PrivateSecretService.Failure(description: "nothing is pending: \(result)")
    }

    enum Trouble: CaseIterable {
        case locked, noDaemon
    }

    @Test(arguments: Trouble.allCases)
    func keyringThatGoesAwayInTheMiddleLosesNothing(_ trouble: Trouble) throws {
        let secrets = database.secrets
        let holder = try LockHolder(database.tool.database, key: "x'\(database.tool.password)'")
        let rotation = try startedRotation()
        switch trouble {
        case .locked: try secrets.lock()
        case .noDaemon: secrets.stopDaemon()
        }
        try holder.release()
        let result = try rotation.finish()
        #expect(result.status == 69, "\(result)")
        let error = try result.jsonError()
        #expect(error["code"] as? String == "rotationUnfinished")
        #expect((error["hint"] as? String)?.contains("Nothing is lost") == true)
        #expect(try database.status().status == (trouble == .locked ? 77 : 69))

        try secrets.unlock()
        #expect(try database.status().status == 0)
        #expect(try database.key() != database.tool.password)
        try database.expectSettled()
    }

    @Test(arguments: Trouble.allCases)
    func keyringThatIsNotThereIsToldBeforeAnythingIsDone(_ trouble: Trouble) throws {
        let before = try database.tool.folder.data("store.db")
        switch trouble {
        case .locked: try database.secrets.lock()
        case .noDaemon: database.secrets.stopDaemon()
        }
        let result = try database.run("key", "rotate", more: ["--json"])
        #expect(
            try result.jsonError()["code"] as? String
                == (trouble == .locked ? "promptDismissed" : "noSecretService")
        )
        #expect(try database.tool.folder.data("store.db") == before)
        try database.secrets.unlock()
        #expect(try database.key() == database.tool.password)
        try database.expectSettled()
    }

    @Test(.enabled(if: PrivateKeePassXC.isInstalled, "KeePassXC is not installed"))
    func keyInKeePassXCIsRotatedAndFinished() throws {
        let keepass = try PrivateKeePassXC()
        let database = try RotatedDatabase(in: keepass.bus)
        #expect(try database.run("key", "rotate").status == 0)
        try database.expectSettled()
        let key = try #require(try database.key())
        #expect(key != database.tool.password)
        try database.killAfterTheReplacement(sealing: true)
        #expect(try database.launch().status == 0)
        try database.expectSettled()
        #expect(try database.key() != key)
        #expect(try database.items(of: RotatedDatabase.previousService).count == 2)
    }

    // MARK: - What It Refuses

    private func expectRefusal(
        _ code: String,
        _ exit: Int32,
        _ arguments: [String],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let before = try database.tool.folder.snapshot()
        let words = ["key", "rotate", "--db-path", database.tool.database] + arguments
        let result = try database.tool.run(words + ["--json"])
        #expect(result.status == exit, "\(result)", sourceLocation: sourceLocation)
        let error = try result.jsonError()
        #expect(error["code"] as? String == code, "\(error)", sourceLocation: sourceLocation)
        #expect(try database.tool.folder.snapshot().entries.keys == before.entries.keys)
        #expect(try database.tool.folder.data("store.db") == before.entries["store.db"]?.content)
        #expect(try database.items(of: RotatedDatabase.pendingService) == [])
    }

    @Test func whatIsMissingOrTooMuchIsRefused() throws {
        try expectRefusal("noItemNamed", 64, [])
        try expectRefusal("keyNotFound", 69, ["--keychain-service", "org.none"])
        try expectRefusal(
            "usage",
            64,
            database.item + ["--discard-old-key", "--keep-original", "x.db"]
        )
        try database.store(ToolFolder.randomDigits(count: 64), username: "second")
        try expectRefusal("keyAmbiguous", 69, ["--keychain-service", RotatedDatabase.service])
        try expectRefusal(
            "wrongKey",
            77,
            ["--keychain-service", RotatedDatabase.service, "--keychain-account", "second"]
        )
        let stored = try database.secrets.run(
            "secret-tool",
            ["store", "--label=x", "service", "org.bare"],
            input: database.tool.password
        )
        #expect(stored.status == 0)
        try expectRefusal(
            "itemWithoutAccount",
            69,
            ["--keychain-service", "org.bare", "--raw-key"]
        )
    }

    // MARK: - Others at the Same Time

    @Test func othersOpenTheDatabaseWhileItsKeyIsRotated() throws {
        for _ in 0..<2 {
            let rotation = try database.startRotation()
            for _ in 0..<4 {
                for opened in [try database.status(), try database.launch()] {
                    #expect(opened.status == 0, "\(opened)")
                }
            }
            let result = try rotation.finish()
            #expect(result.status == 0, "\(result)")
        }
        try database.expectSettled()
    }

    @Test func twoRotationsAtOnceComeOneAfterTheOther() throws {
        let rotations = try [database.startRotation(), database.startRotation()]
        for rotation in rotations {
            let result = try rotation.finish()
            #expect(result.status == 0, "\(result)")
        }
        #expect(try database.items(of: RotatedDatabase.previousService).count == 2)
        try database.expectSettled()
    }
}
