import Foundation
import TestSupport
import Testing

/// The commands of a program with a store of its own, as a process.
@Suite struct StoreToolTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try folder.write("notes.key", (ToolFolder.randomDigits(count: 64) + "\n").utf8)
    }

    private func run(_ arguments: String...) throws -> ProcessResult {
        try TestSupport.run(
            builtExecutable("StoreToolProbe", besideTests: true),
            [folder.path] + arguments,
            // None of this is about the program's own store.
            environment: [
                "MIGRATIONKIT_DB_PATH": folder.path("other.db"),
                "MIGRATIONKIT_KEYCHAIN_SERVICE": "other", "MIGRATIONKIT_PASSWORD": "other",
            ],
            newSession: true
        )
    }

    @Test func theCommandsWorkOnTheProgramsStore() throws {
        let status = try run("status")
        #expect(status.status == 66)
        #expect(try folder.names == ["notes.key"])

        let migrated = try run("migrate")
        #expect(migrated.status == 0, "\(migrated)")
        #expect(migrated.stdout.hasPrefix("Created \(folder.path("notes.db"))."))
        #expect(try folder.names == ["notes.db", "notes.key"])
        for command in [
            ["status"], ["verify", "--full"], ["inspect"], ["key", "check"], ["schema-dump"],
        ] {
            let result = try TestSupport.run(
                builtExecutable("StoreToolProbe", besideTests: true),
                [folder.path] + command,
                newSession: true
            )
            #expect(result.status == 0, "\(command): \(result)")
        }
    }

    @Test func textsNameWhatPeopleType() throws {
        #expect(try run("migrate", "--help").stdout.contains("USAGE: notes db migrate"))
        let wrong = try run("migrate", "--nonsense")
        #expect(wrong.status == 64)
        #expect(!wrong.stderr.contains("StoreToolProbe"))
    }

    @Test func aKeyThatIsMissingIsNamed() throws {
        try FileManager.default.removeItem(atPath: folder.path("notes.key"))
        let result = try run("migrate", "--json")
        #expect(result.status == 66)
        #expect(try result.jsonError()["code"] as? String == "noSuchKeyFile")
        #expect(try folder.names.isEmpty)
    }
}
