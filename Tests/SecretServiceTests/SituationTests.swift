import TestSupport
import Testing

/// Every situation in which there is no key, provoked with a real bus and a real daemon.
@Suite struct SituationTests {
    private let noPrompt = ["PROBE_NO_PROMPT": "1"]

    /// One with an item, which is locked. Nobody answers its question for the password.
    private func serviceThatAsks() throws -> PrivateSecretService {
        let service = try PrivateSecretService()
        try service.storeBySecretTool("service", "s", "username", "u", secret: "secret")
        try service.lock()
        try service.makeQuestionsWait()
        return service
    }

    @Test(arguments: ["entry", "items", "delete"])
    func noBusIsSaid(command: String) throws {
        let folder = try TemporaryFolder()
        let result = try run(
            builtExecutable("SecretServiceProbe"),
            [command, "service"],
            environment: [
                "HOME": folder.path, "XDG_RUNTIME_DIR": folder.path,
                "DBUS_SESSION_BUS_ADDRESS": "unix:path=\(folder.path("bus"))",
            ]
        )
        #expect(result.stdout == "noBus\n")
        #expect(result.stderr == "")
    }

    @Test func noBusAddressAtAllIsNoBus() throws {
        let folder = try TemporaryFolder()
        let result = try run(
            builtExecutable("SecretServiceProbe"),
            ["entry", "service"],
            environment: ["HOME": folder.path, "XDG_RUNTIME_DIR": folder.path, "PATH": "/nowhere"]
        )
        #expect(result.stdout == "noBus\n")
        #expect(result.stderr == "")
    }

    @Test(arguments: ["entry", "items", "delete", "store"])
    func noDaemonIsSaid(command: String) throws {
        let service = try PrivateSecretService(.noDaemon)
        let result = try service.probe(command, "service", "account", input: "secret")
        #expect(result.stdout == "noService\n")
        #expect(result.stderr == "")
    }

    @Test(arguments: ["entry", "items", "delete", "store"])
    func noDefaultCollectionIsSaid(command: String) throws {
        let service = try PrivateSecretService(.noCollection)
        let result = try service.probe(command, "service", "account", input: "secret")
        #expect(result.stdout == "noCollection(name: \"default\")\n")
        #expect(result.stderr == "")
    }

    @Test func missingNamedCollectionIsSaid() throws {
        let service = try PrivateSecretService()
        let result = try service.probe("entry", "s", settings: ["PROBE_COLLECTION": "elsewhere"])
        #expect(result.stdout == "noCollection(name: \"elsewhere\")\n")
    }

    @Test(arguments: ["entry", "items", "delete", "store"], ["known", "unknown"])
    func lockedIsNeverTakenForNotFound(command: String, account: String) throws {
        let service = try PrivateSecretService()
        try service.storeBySecretTool("service", "s", "username", "known", secret: "secret")
        try service.lock()
        let asked = try service.probe(command, "s", account, input: "secret", settings: noPrompt)
        #expect(asked.stdout.lowercased() == "locked(collection: \"login\")\n")
        #expect(asked.stderr == "")
    }

    @Test func collectionThatWasLockedFromTheStartIsLocked() throws {
        let service = try PrivateSecretService()
        try service.storeBySecretTool("service", "s", "username", "u", secret: "secret")
        try service.restartLocked()
        let asked = try service.probe("entry", "s", "u", settings: noPrompt)
        #expect(asked.stdout.lowercased() == "locked(collection: \"login\")\n")
    }

    @Test func questionThatNobodyAnswersWithThePasswordIsDismissed() throws {
        let service = try PrivateSecretService()
        try service.storeBySecretTool("service", "s", "username", "u", secret: "secret")
        try service.lock()
        for account in ["u", "other"] {
            let asked = try service.probe("entry", "s", account)
            #expect(asked.stdout.lowercased() == "promptdismissed(collection: \"login\")\n")
            #expect(asked.stderr == "")
        }
    }

    @Test func missingItemIsNotFoundAndNamesWhatWasLookedFor() throws {
        let service = try PrivateSecretService()
        try service.storeBySecretTool("service", "s", "username", "u", secret: "secret")
        #expect(
            try service.probe("entry", "s", "v").stdout
                == "itemNotFound(service: \"s\", account: Optional(\"v\"))\n"
        )
        #expect(
            try service.probe("delete", "t").stdout
                == "itemNotFound(service: \"t\", account: nil)\n"
        )
        #expect(try service.probe("items", "t").stdout == "")
    }

    /// A process that is killed while it stores may leave one.
    @Test func anItemWithoutASecretIsInNobodysWay() throws {
        let service = try PrivateSecretService()
        func storeNothing() throws {
            let attributes = [
                "service", "s", "username", "u", "x", "\(UInt32.random(in: 0 ... .max))",
            ]
            let stored = try service.run("secret-tool", ["store", "--label=x"] + attributes)
            #expect(stored.status == 0)
        }
        try storeNothing()
        #expect(try service.probe("store", "s", "u", input: "one").stdout == "")
        #expect(try service.probe("items", "s").stdout.split(separator: "\n").count == 1)
        try storeNothing()
        #expect(try service.probe("entry", "s", "u").stdout.hasPrefix("passphrase 6f6e65\n"))
        #expect(try service.probe("replace", "s", "u", input: "two").stdout == "")
        #expect(try service.probe("items", "s").stdout.split(separator: "\n").count == 1)
    }

    @Test func severalMatchesAreAmbiguousAndNoneIsTouched() throws {
        let service = try PrivateSecretService()
        try service.storeBySecretTool("service", "s", "username", "u", secret: "one")
        try service.storeBySecretTool("service", "s", "username", "v", secret: "two")
        for command in ["entry", "delete"] {
            let result = try service.probe(command, "s")
            #expect(result.status == 1)
            #expect(result.stdout.hasPrefix("ambiguous(service: \"s\", matches: ["))
            #expect(result.stdout.contains("username=\\\"u\\\""))
            #expect(result.stdout.contains("username=\\\"v\\\""))
        }
        #expect(try service.probe("entry", "s", "v").stdout.contains("two".hexadecimal))
        #expect(try service.probe("entry", "s", "u").stdout.contains("one".hexadecimal))
    }

    @Test(arguments: ["entry", "items", "delete", "store"])
    func daemonThatNeverAnswersEndsAtTheTimeLimit(command: String) throws {
        let service = try PrivateSecretService()
        service.suspend()
        let result = try service.probe(
            command,
            "s",
            "u",
            input: "secret",
            settings: ["PROBE_TIMEOUT": "300"]
        )
        #expect(result.stdout == "timedOut(seconds: 0.3)\n")
        #expect(result.stderr == "")
    }

    @Test func questionThatNobodyAnswersEndsAtTheTimeLimit() throws {
        let service = try serviceThatAsks()
        let result = try service.probe(
            "entry",
            "s",
            "u",
            settings: ["PROBE_QUESTION_TIMEOUT": "400"]
        )
        #expect(result.stdout == "timedOut(seconds: 0.4)\n")
        #expect(result.stderr == "")
        // GNOME Keyring ends if a program takes a question back.
        #expect(service.isRunning)
    }

    @Test func lookUpWithAQuestionCanBeCancelled() throws {
        let service = try serviceThatAsks()
        let start = ContinuousClock.now
        let result = try service.probe(
            "entry",
            "s",
            "u",
            settings: ["PROBE_TIMEOUT": "60000", "PROBE_CANCEL_AFTER": "400"]
        )
        #expect(result.stdout == "CancellationError()\n")
        #expect(result.stderr == "")
        #expect(.now - start < .seconds(30))
        #expect(service.isRunning)
    }

    /// The time limit is for programs. It is over long before the look-up is cancelled.
    @Test func aPersonMayTakeTime() throws {
        let service = try serviceThatAsks()
        let limits = ["PROBE_TIMEOUT": "3000", "PROBE_CANCEL_AFTER": "4500"]
        let result = try service.probe("entry", "s", "u", settings: limits)
        #expect(result.stdout == "CancellationError()\n")
    }

    /// A Secret Service makes equal items for all who ask at once.
    @Test(arguments: ["one session", "several"])
    func ofSeveralWhoStoreAtOnceOneSucceeds(_ sessions: String) throws {
        let service = try PrivateSecretService()
        for round in 0..<6 {
            let children = try (0..<2 + round % 3).map { number in
                var environment = service.environment
                // Without one folder for all, there is no lock.
                if sessions == "several" { environment["XDG_RUNTIME_DIR"] = nil }
                let child = try ChildProcess(
                    builtExecutable("SecretServiceProbe"),
                    ["store", "s", "\(round)"],
                    environment: environment
                )
                child.write("secret \(number)".utf8)
                return child
            }
            let results = try children.map { try $0.finish() }
            #expect(results.count { $0.status == 0 } == 1, "\(results)")
            let refusals = results.filter { $0.status != 0 }.map(\.stdout)
            #expect(refusals.allSatisfy { $0.hasPrefix("itemExists") }, "\(refusals)")
            let items = try service.probe("items", "s", "\(round)").stdout
            #expect(items.split(separator: "\n").count == 1)
        }
    }

    @Test func daemonThatComesBackIsFoundByARunningProcess() throws {
        let service = try PrivateSecretService()
        try service.storeBySecretTool("service", "s", "username", "u", secret: "secret")
        let child = try ChildProcess(
            builtExecutable("SecretServiceProbe"),
            ["twice", "s"],
            environment: service.environment
        )
        #expect(child.readLine()?.hasPrefix("s u") == true)
        try service.unlock()
        child.write("\n".utf8)
        #expect(child.readLine()?.hasPrefix("s u") == true)
        #expect(try child.finish().status == 0)
    }

    /// KeePassXC allows access to an item for one connection. Another one would be asked about again.
    @Test func lookUpsHaveOneConnection() throws {
        let service = try PrivateSecretService()
        func connections() throws -> Set<Substring> {
            let bus = "org.freedesktop.DBus"
            let names = try service.run(
                "dbus-send",
                ["--print-reply", "--dest=\(bus)", "/org/freedesktop/DBus", "\(bus).ListNames"]
            )
            return Set(names.stdout.split(separator: "\"").filter { $0.hasPrefix(":") })
        }
        let before = try connections()
        let child = try ChildProcess(
            builtExecutable("SecretServiceProbe"),
            ["twice", "s"],
            environment: service.environment
        )
        #expect(child.readLine()?.hasPrefix("itemNotFound") == true)
        let first = try connections().subtracting(before)
        child.write("\n".utf8)
        #expect(child.readLine()?.hasPrefix("itemNotFound") == true)
        #expect(try !first.intersection(connections()).isEmpty)
        child.write("\n".utf8)
        #expect(try child.finish().status == 0)
    }

    @Test func processOutlivesItsBus() throws {
        let service = try PrivateSecretService()
        let child = try ChildProcess(
            builtExecutable("SecretServiceProbe"),
            ["twice", "s"],
            environment: service.environment
        )
        #expect(child.readLine()?.hasPrefix("itemNotFound") == true)
        service.stop()
        child.write("\n".utf8)
        #expect(child.readLine() == "noBus")
        #expect(try child.finish().status == 0)
    }
}
