import Foundation
import MigrationKitKeys
import TestSupport
import Testing

/// Standard input, descriptors, the environment, and the order among them.
@Suite struct StreamSourceTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func probe(
        _ arguments: String...,
        input: String = "",
        environment: [String: String] = [:]
    ) throws -> String {
        try run(
            builtExecutable("KeyStoreProbe"),
            arguments,
            environment: environment,
            input: input.utf8,
            newSession: true
        ).stdout
    }

    @Test func standardInputIsReadToItsEnd() throws {
        #expect(try probe("stdin", input: "ab\ncd\n") == "secret 61620a6364\n")
        #expect(try probe("stdin") == "empty(source: \"standard input\")\n")
    }

    @Test func descriptorIsReadToItsEnd() throws {
        let script = "exec 5< \"$2\"; exec \"$1\" fd 5"
        let path = try folder.write("key", "key\n".utf8, mode: 0o644)
        let result = try run(
            "/bin/sh",
            ["-c", script, "sh", builtExecutable("KeyStoreProbe"), path]
        )
        #expect(result.stdout == "secret 6b6579\n")
    }

    @Test(arguments: ["9", "-1"])
    func descriptorThatIsNotOpenIsSaid(number: String) throws {
        #expect(try probe("fd", number) == "badDescriptor(\(number))\n")
    }

    @Test func descriptorThatIsOnlyForWritingIsSaid() throws {
        #expect(try probe("fd", "1") == "badDescriptor(1)\n")
    }

    @Test func credentialComesFirst() throws {
        try folder.write("migrationkit-password", "c".utf8, mode: 0o440)
        let file = try folder.write("file", "f".utf8)
        let environment = [
            "CREDENTIALS_DIRECTORY": folder.path, "MIGRATIONKIT_PASSWORD_FILE": file,
            "MIGRATIONKIT_PASSWORD": "p",
        ]
        let path = folder.path("migrationkit-password")
        #expect(
            try probe("implicit", environment: environment)
                == "the credential \"\(path)\"\nsecret 63\n"
        )
        try FileManager.default.removeItem(atPath: path)
        #expect(
            try probe("implicit", environment: environment) == "the file \"\(file)\"\nsecret 66\n"
        )
    }

    @Test func passwordVariableComesAfterTheFile() throws {
        #expect(
            try probe("implicit", environment: ["MIGRATIONKIT_PASSWORD": "p\n"])
                == "the environment variable MIGRATIONKIT_PASSWORD\nsecret 70\n"
        )
        #expect(
            try probe("implicit", environment: ["MIGRATIONKIT_PASSWORD": ""])
                .hasSuffix("empty(source: \"the environment variable MIGRATIONKIT_PASSWORD\")\n")
        )
    }

    @Test func nothingNamedAndNoTerminalIsNoSource() throws {
        #expect(try probe("implicit", "notes.db") == "none\n")
    }

    @Test func dictionaryServesAsEnvironment() {
        #expect(
            KeyResolver.implicitSource(
                environment: ["MIGRATIONKIT_PASSWORD_FILE": "f"],
                promptFor: nil
            )
                == .file(path: "f")
        )
        #expect(KeyResolver.implicitSource(environment: [:], promptFor: nil) == nil)
        #expect(
            KeyResolver.implicitSource(
                environment: ["CREDENTIALS_DIRECTORY": "."],
                promptFor: nil
            ) == nil
        )
    }

    @Test func lockLimitOfZeroIsNoFailure() throws {
        // Root may lock as much as it likes, unless it gives that up.
        let script = """
            ulimit -l 0
            [ "$(id -u)" != 0 ] || set -- setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock "$@"
            exec "$@"
            """
        let result = try run(
            "/bin/sh",
            ["-c", script, "sh", builtExecutable("KeyStoreProbe"), "memory"]
        )
        let lines = result.stdout.split(separator: "\n")
        let flags = try #require(lines.first, "\(result.stderr)").split(separator: " ")
        #expect(!flags.contains("lo"))
        #expect(flags.contains("dd"))
        #expect(lines.dropFirst() == ["6", "unmapped"])
    }

    @Test func sourcesAreNamedWithoutTheirSecrets() {
        let secret = Secret(utf8: "horse")
        let named: [(KeySource, String)] = [
            (.password(secret), "--password"),
            (.file(path: "key.txt"), "the file \"key.txt\""),
            (.standardInput, "standard input"),
            (.fileDescriptor(5), "the descriptor 5"),
            (
                .environment(variable: "MIGRATIONKIT_PASSWORD", value: secret),
                "the environment variable MIGRATIONKIT_PASSWORD"
            ),
            (
                .keyStore(service: "com.example.Notes", account: "main"),
                "secret store, service \"com.example.Notes\", username \"main\""
            ),
            (.keyStore(service: "s", account: nil), "secret store, service \"s\""),
            (.prompt("Passphrase: "), "the terminal"),
        ]
        for (source, name) in named { #expect("\(source)" == name) }
    }
}
