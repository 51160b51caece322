import Foundation
import MigrationKitKeys
import TestSupport
import Testing

@Suite struct CommandSourceTests {
    private let resolver = KeyResolver { InMemoryKeyStore() }

    private func output(_ command: String) throws -> String {
        try resolver.secret(from: .command(command)).withUnsafeBytes {
            String(decoding: $0, as: UTF8.self)
        }
    }

    @Test(arguments: [
        "printf '<%s>' a 'b c' \"d\\\"e\" f\\ g '' \"h\\i\" x'y'\"z\"  \t k",
        "printf <%s> a \\\n b",
        "printf '<%s>' '$HOME' \\$HOME \"\\$HOME\" '*' 'ä \"ö'",
        "printf '<%s>' \"a\nb\" 'c\\d' \"e\\\\f\"",
    ])
    func wordsAreSplitAsAShellSplitsThem(command: String) throws {
        // The same line, its first words' marks apart, given to a real shell.
        let line = command.replacing("<%s>", with: "'<%s>'").replacing("''<%s>''", with: "'<%s>'")
        #expect(try output(command) == run("/bin/sh", ["-c", line]).stdout)
    }

    @Test(arguments: [
        "printf '%s|' $HOME", "printf '%s|' `id`", "printf '%s|' a ; id", "printf '%s|' ~ *",
    ])
    func nothingIsExpanded(command: String) throws {
        let words = command.split(separator: " ").dropFirst(2).map { "\($0)|" }.joined()
        #expect(try output(command) == words)
    }

    @Test(arguments: ["printf 'a", "printf \"a", "printf a\\", "printf \"a\\", "", "  ", "''"])
    func unbalancedCommandIsRefused(command: String) throws {
        #expect {
            try output(command)
        } throws: { error in
            if case KeySourceError.unusableCommand = error { true } else { false }
        }
    }

    @Test func oneNewlineIsDropped() throws {
        #expect(try output("printf 'key\\n\\n'") == "key\n")
    }

    @Test func failureOfTheCommandCountsWhateverItPrinted() throws {
        #expect(throws: KeySourceError.commandFailed(program: "sh", status: 3)) {
            try output("sh -c 'echo key; exit 3'")
        }
        #expect(throws: KeySourceError.commandFailed(program: "sh", status: 3)) {
            try output("sh -c 'exit 3'")
        }
        #expect(throws: KeySourceError.commandKilled(program: "sh", signal: SIGTERM)) {
            try output("sh -c 'echo key; kill -TERM $$'")
        }
        #expect(throws: KeySourceError.commandNotStarted(program: "no-such-program", code: ENOENT))
        {
            try output("no-such-program --key secret")
        }
    }

    @Test func commandThatPrintsNothingOrTooMuchIsRefused() throws {
        #expect(throws: KeySourceError.empty(source: "the command \"true\"")) {
            try output("true")
        }
        #expect(throws: KeySourceError.tooLarge(source: "the command \"yes\"", limit: 65536)) {
            try output("yes")
        }
    }

    @Test func descriptionShowsNoArgument() {
        #expect("\(KeySource.command("echo secret"))" == "the command \"echo\"")
        #expect("\(KeySource.command("echo 'secret"))" == "the password command")
    }

    @Test func childInheritsNoDescriptor() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        // 3 is the one with which the list itself is read.
        let open = try output("sh -c 'ls /proc/self/fd'").split(separator: "\n")
        #expect(open == ["0", "1", "2", "3"])
        #expect(try output("readlink /proc/self/fd/0") == "/dev/null")
    }

    @Test func childSeesNoneOfOurPasswordVariables() throws {
        let result = try run(
            builtExecutable("KeyStoreProbe"),
            ["command", "env"],
            environment: [
                "PATH": "/usr/bin:/bin", "MIGRATIONKIT_PASSWORD": "secret",
                "MIGRATIONKIT_PASSWORD_FILE": "file", "KEPT": "1",
            ]
        )
        let shown = stride(from: 7, to: result.stdout.utf8.count - 1, by: 2).compactMap { start in
            UInt8(String(result.stdout.dropFirst(start).prefix(2)), radix: 16)
        }
        let variables = String(decoding: shown, as: UTF8.self)
        #expect(variables.contains("KEPT=1"))
        #expect(!variables.contains("MIGRATIONKIT_PASSWORD"))
    }

    @Test func standardErrorIsPassedOn() throws {
        let result = try run(
            builtExecutable("KeyStoreProbe"),
            ["command", "sh -c 'echo why >&2; exit 1'"]
        )
        #expect(result.stderr == "why\n")
        #expect(result.stdout == "commandFailed(program: \"sh\", status: 1)\n")
    }
}
