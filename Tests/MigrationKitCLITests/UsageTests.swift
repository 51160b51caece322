import Foundation
import TestSupport
import Testing

/// Arguments that the tool can do nothing with: exit code 64, before it opens anything.
@Suite struct UsageTests {
    private let folder: TemporaryFolder
    private let before: FolderSnapshot

    /// A folder whose database isn't one: a command that opened it would end with another code.
    init() throws {
        folder = try TemporaryFolder([
            "store.db": "no database", "password": String(repeating: "0a", count: 32),
            "new": String(repeating: "b1", count: 32),
        ])
        try folder.makeFolder("migrations")
        try folder.write("migrations/0001_items.sql", "-- migrate:up\nCREATE TABLE item (id);".utf8)
        before = try folder.snapshot()
    }

    private var database: String { folder.path("store.db") }
    private var copy: String { folder.path("copy.db") }
    private var key: [String] { ["--password-file", folder.path("password"), "--raw-key"] }
    private var opening: [String] { ["--db-path", database] + key }
    private var newKey: [String] { ["--new-raw-key", "--new-password-file", folder.path("new")] }
    private var migrations: [String] { ["--migrations", folder.path("migrations")] }

    /// Expects a refusal for people that says what to do, and one for programs with this code.
    private func expectRefusal(
        _ arguments: [String],
        _ code: String,
        saying words: String...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let human = ToolInProcess().run(arguments)
        #expect(human.status == 64, "\(arguments): \(human)", sourceLocation: sourceLocation)
        #expect(human.stdout.isEmpty, sourceLocation: sourceLocation)
        let lines = human.stderr.split(separator: "\n")
        #expect(lines.first?.hasPrefix("error: ") == true, sourceLocation: sourceLocation)
        #expect(lines.count > 1, "no line says what to do", sourceLocation: sourceLocation)
        for word in words {
            #expect(human.stderr.contains(word), "\(human)", sourceLocation: sourceLocation)
        }

        let json = ToolInProcess().run(arguments + ["--json"])
        #expect(json.status == 64, sourceLocation: sourceLocation)
        #expect(json.stdout.isEmpty, sourceLocation: sourceLocation)
        let error = try json.jsonError()
        #expect(error["code"] as? String == code, "\(json)", sourceLocation: sourceLocation)
        #expect(error["exit"] as? Int == 64, sourceLocation: sourceLocation)
        #expect((error["message"] as? String)?.isEmpty == false, sourceLocation: sourceLocation)
        #expect(try folder.snapshot() == before, sourceLocation: sourceLocation)
    }

    private func expectMessage(_ arguments: [String], _ message: String) throws {
        let result = ToolInProcess().run(arguments + ["--json"])
        #expect(result.status == 64, "\(arguments): \(result)")
        #expect(try result.jsonError()["message"] as? String == message)
        #expect(try folder.snapshot() == before)
    }

    // MARK: - Options

    @Test(arguments: [
        ["migrate", "--bogus"], ["rollback", "--steps", "many"], ["status", "--password-fd", "-1"],
        ["status", "--password-fd", "three"],
    ])
    func whatTheParserRefusesIsWrongUsage(_ arguments: [String]) throws {
        try expectRefusal(arguments, "usage")
    }

    /// Each is refused before the commands open a file or ask for a key.
    @Test(arguments: [
        ["rekey"],
        ["rekey", "--new-password-file", "a", "--new-password-command", "b"],
        ["rekey", "--new-keychain-account", "a"],
        ["rekey", "--new-password-fd", "-1"],
        ["encrypt", "--page-size", "1000"],
        ["encrypt", "--page-size", "512"],
        ["encrypt", "--output", "a", "--keep-original", "b"],
        ["encrypt", "--lock-timeout", "-1"],
        ["backup"],
        ["restore"],
        ["backup", "--output", "COPY", "--new-raw-key"],
        ["backup", "--output", "COPY", "--lock-timeout", "-1"],
        ["backup", "--output", "COPY", "--new-password-file", "a", "--new-password-fd", "3"],
        ["backup", "--output", "COPY", "--no-encryption"],
        ["restore", "--from", "DATABASE", "--yes"],
        ["inspect", "COPY"],
        ["inspect", "--cipher-page-size", "1000"],
        ["inspect", "--cipher-compatibility", "5"],
        ["inspect", "--kdf-iterations", "0"],
        ["inspect", "--hmac-algorithm", "md5"],
    ])
    func optionsThatDoNotFitAreRefusedBeforeAnythingIsOpened(_ words: [String]) throws {
        let arguments = words.map {
            $0.replacing("DATABASE", with: database).replacing("COPY", with: copy)
        }
        let result = ToolInProcess().run(arguments + opening)
        #expect(result.status == 64, "\(arguments): \(result)")
        #expect(try folder.snapshot() == before)
    }

    @Test(arguments: [
        ["inspect"], ["completions", "tcsh"], ["schema-dump", "--format", "yaml"],
        ["schema-dump", "--check", "x", "--output", "y"],
    ])
    func whatIsMissingOrUnknownIsWrongUsage(_ arguments: [String]) {
        let result = ToolInProcess().run(arguments)
        #expect(result.status == 64, "\(result)")
        #expect(arguments[0] != "completions" || result.stderr.contains("bash"))
        #expect(!arguments.contains("--format") || result.stderr.contains("mermaid"))
    }

    @Test(arguments: [
        ["rekey", "--output", ""], ["rekey", "--keep-original", ""], ["backup", "--output", ""],
        ["salvage", "--output", ""], ["restore", "--from", ""],
        ["restore", "--keep-original", "", "--from", "backup.db"],
    ])
    func anEmptyPathIsToldAsThat(_ arguments: [String]) throws {
        try expectMessage(
            arguments + opening + newKey,
            "the path of \(arguments[1]) is empty."
        )
    }

    @Test func anEmptyPathForTheOriginalOfARotationIsToldAsThat() throws {
        try expectMessage(
            [
                "key", "rotate", "--db-path", database, "--keychain-service", "s",
                "--keep-original", "",
            ],
            "the path of --keep-original is empty."
        )
    }

    /// Each kind of value once: ArgumentParser takes half a second for a wrong option in a debug build.
    @Test(arguments: [
        ("rekey", "-1"), ("rekey", "86401"), ("backup", "nan"), ("backup", "1e9"),
        ("restore", "inf"), ("restore", "-1"), ("migrate", "1e30"), ("migrate", "3000000"),
        ("migrate", "-1"),
    ])
    func aLockTimeoutOutsideOfItsRangeIsRefused(_ command: String, _ seconds: String) throws {
        let options =
            switch command {
            case "rekey": newKey
            case "backup": ["--output", copy]
            case "restore": ["--from", copy]
            default: migrations
            }
        let result = ToolInProcess().run(
            [command] + opening + options + ["--lock-timeout=\(seconds)"]
        )
        #expect(result.status == 64, "\(result)")
        let message = "the value for '--lock-timeout' must be at least 0 and at most 86400 seconds"
        #expect(result.stderr.hasPrefix("error: \(message)"), "\(result)")
        #expect(try folder.snapshot() == before)
    }

    @Test(arguments: ["0", "-1", "nan", "inf", "86401", "soon"])
    func aKeychainTimeoutOutsideOfItsRangeIsRefused(_ seconds: String) {
        let result = ToolInProcess().run(
            ["status", "--db-path", database, "--keychain-service", "s"] + migrations
                + ["--keychain-timeout=\(seconds)"]
        )
        #expect(result.status == 64, "\(result)")
        #expect(result.stderr.contains("--keychain-timeout"))
    }

    // MARK: - The Database and Its Key

    @Test func noDatabaseNamed() throws {
        try expectRefusal(["status"] + key + migrations, "noDatabasePath", saying: "--db-path")
    }

    @Test(arguments: ["status", "verify", "rollback", "migrate"])
    func noKeyAtAll(_ command: String) throws {
        try expectRefusal(
            [command, "--db-path", database] + migrations,
            "noKey",
            saying: "--keychain-service",
            "--password-file",
            "--no-encryption"
        )
    }

    @Test func twoKeySources() throws {
        try expectRefusal(
            ["migrate", "--keychain-service", "s"] + opening + migrations,
            "severalKeySources",
            saying: "--password-file",
            "--keychain-service"
        )
        try expectRefusal(
            ["migrate", "--no-encryption"] + opening + migrations,
            "keyForPlaintext",
            saying: "--no-encryption"
        )
    }

    @Test func everyTwoOptionsAreOneTooMany() {
        let options = [
            ["--password", "p"], ["--password-file", "f"], ["--password-fd", "3"],
            ["--password-command", "c"], ["--keychain-service", "s"],
        ]
        for (index, first) in options.enumerated() {
            for second in options[(index + 1)...] {
                let result = ToolInProcess().run(
                    ["status", "--db-path", database] + migrations + first + second
                )
                #expect(result.status == 64)
                #expect(result.stderr.contains(": \(first[0]), \(second[0])\n"), "\(result)")
            }
        }
    }

    @Test func collectionWithoutAService() throws {
        try expectRefusal(
            ["status", "--keychain-collection", "c"] + opening + migrations,
            "collectionWithoutService"
        )
    }

    // MARK: - The Database as an Argument

    static let databaseCommands = [
        ["migrate"], ["plan"], ["rehearse"], ["status"], ["history"], ["rollback"], ["redo"],
        ["verify"],
        ["inspect"], ["encrypt"], ["decrypt"], ["rekey"], ["upgrade"],
        ["backup", "--output", "COPY"], ["salvage", "--output", "COPY"], ["key", "check"],
        ["key", "rotate"],
    ]

    @Test(arguments: databaseCommands)
    func databaseIsGivenOnceOnly(_ command: [String]) throws {
        try expectMessage(
            command + [database, "--db-path", "other.db"],
            "the database is given twice: '\(database)' and --db-path 'other.db'. Leave one out."
        )
    }

    /// The path is taken: what is missing next is the key.
    @Test(arguments: databaseCommands)
    func databaseMayBeAPlainArgument(_ command: [String]) throws {
        guard command != ["inspect"] else { return }
        let tool = ToolInProcess(environment: ["MIGRATIONKIT_MIGRATIONS": folder.path("migrations")]
        )
        let expected = command == ["key", "rotate"] ? "noItemNamed" : "noKey"
        for arguments in [[database], [database, "--db-path", database]] {
            let result = tool.run(command + arguments + ["--json"])
            #expect(try result.jsonError()["code"] as? String == expected, "\(result)")
        }
        #expect(try folder.snapshot() == before)
    }

    /// Otherwise `migrate up` would create a database.
    @Test(arguments: [
        "up", "run", "latest", "down", "status", "migrate", "help", "head", "All", "UP",
    ])
    func wordOfAnotherToolIsNoDatabase(_ word: String) throws {
        for command in ["migrate", "status", "rollback", "verify", "plan"] {
            try expectRefusal(
                [command, word] + key + migrations,
                "usage",
                saying: "'\(word)' isn't a database",
                "'--db-path \(word)'"
            )
        }
    }

    // MARK: - Standard Input

    /// The ways to say that a key comes from standard input.
    private static let inputs = [
        ["file", "-"], ["file", "/dev/stdin"], ["file", "/dev/fd/0"], ["file", "/proc/self/fd/0"],
        ["fd", "0"],
    ]

    private func expectOneKeyOnly(
        _ command: [String],
        _ input: [String],
        and other: [String],
        _ message: String = "standard input can give one of the two keys only."
    ) throws {
        try expectMessage(
            command + ["--db-path", database, "--raw-key"]
                + ["--password-\(input[0])", input[1]]
                + ["--new-raw-key", "--new-password-\(other[0])", other[1]],
            message
        )
    }

    @Test(arguments: inputs)
    func oneInputGivesOneKeyOnly(_ input: [String]) throws {
        try expectOneKeyOnly(["rekey"], input, and: ["fd", "0"])
        try expectOneKeyOnly(["rekey"], ["file", "-"], and: input)
    }

    @Test(arguments: ["--output", "--from"])
    func everyCommandSaysSo(_ option: String) throws {
        for command in option == "--from" ? ["restore"] : ["backup", "salvage"] {
            try expectOneKeyOnly([command, option, copy], ["fd", "0"], and: ["file", "-"])
        }
    }

    @Test func oneDescriptorGivesOneKeyOnly() throws {
        try expectOneKeyOnly(
            ["rekey"],
            ["fd", "3"],
            and: ["file", "/dev/fd/3"],
            "the descriptor 3 can give one of the two keys only."
        )
    }

    @Test(
        arguments: [
            ["--password-file", "-"], ["--password-fd", "0"], ["--password-file", "/dev/stdin"],
        ]
    )
    func standardInputGivesEitherTheDumpOrTheKey(_ key: [String]) {
        let result = ToolInProcess().run(["schema-load", "-", "--db-path", copy] + key)
        #expect(result.status == 64, "\(result)")
        #expect(result.stderr.contains("standard input can't give both the dump and the key"))
    }
}
