import Foundation
import TestSupport
import Testing

/// The question on a real terminal.
@Suite struct PromptTests {
    private let text = "Passphrase for notes.db: "

    // Without Swift's backtraces, which on a terminal are what SIGQUIT leads to.
    private func ask() throws -> TerminalProcess {
        let process = try TerminalProcess(
            builtExecutable("KeyStoreProbe"),
            ["prompt", text],
            environment: ["SWIFT_BACKTRACE": "enable=no"]
        )
        try #require(process.wait(for: text), "\(process.text)")
        return process
    }

    @Test func answerIsReadWithoutEcho() throws {
        let process = try ask()
        #expect(!process.echoes)
        process.type("hörse\n".utf8)
        let result = process.finish()
        #expect(result.status == 0)
        #expect(result.stdout == "\(text)\r\nsecret 68c3b6727365\r\n")
        #expect(process.echoes)
    }

    @Test func lineCanBeEdited() throws {
        let process = try ask()
        // Kill the line, then erase a character.
        process.type("wrong\u{15}keyy\u{7F}\n".utf8)
        #expect(process.finish().stdout.hasSuffix("secret 6b6579\r\n"))
    }

    @Test(
        arguments: [(SIGTERM, 0), (SIGHUP, 0), (SIGINT, 0), (SIGINT, 3), (SIGQUIT, 28)]
            as [(Int32, UInt8)]
    )
    func signalEndsTheProcessWithTheTerminalAsItWas(signal: Int32, key: UInt8) throws {
        let process = try ask()
        #expect(!process.echoes)
        process.type("half".utf8)
        // By a control character, or by kill(1).
        if key != 0 { process.type([key]) } else { process.send(signal) }
        let result = process.finish()
        #expect(result.signal == signal)
        #expect(process.echoes)
        #expect(!result.stdout.contains("half"))
    }

    @Test func questionIsAskedAgainAfterAStop() throws {
        let process = try ask()
        process.type([26])
        #expect(process.wait(for: text))
        #expect(!process.echoes)
        process.type("key\n".utf8)
        #expect(process.finish().stdout.hasSuffix("secret 6b6579\r\n"))
        #expect(process.echoes)
    }

    @Test func endOfInputCancels() throws {
        let process = try ask()
        process.type([4])
        let result = process.finish()
        #expect(result.status == 1)
        #expect(result.stdout.hasSuffix("promptCancelled\r\n"))
        #expect(process.echoes)
    }

    @Test func emptyAnswerIsRefused() throws {
        let process = try ask()
        process.type("\n".utf8)
        #expect(process.finish().stdout.hasSuffix("empty(source: \"the terminal\")\r\n"))
    }

    @Test func noTerminalIsSaid() throws {
        let result = try run(
            builtExecutable("KeyStoreProbe"),
            ["prompt", text],
            newSession: true
        )
        #expect(result.stdout == "noTerminal\n")
    }

    @Test func terminalIsAskedOnWhenNothingElseIsNamed() throws {
        let process = try TerminalProcess(
            builtExecutable("KeyStoreProbe"),
            ["implicit", "notes.db"],
            environment: [:]
        )
        #expect(process.wait(for: "the terminal"))
        #expect(process.wait(for: text))
        process.type("key\n".utf8)
        #expect(process.finish().stdout.hasSuffix("secret 6b6579\r\n"))
    }

    @Test func secretIsNotTypedIntoATerminalThatShowsIt() throws {
        let process = try TerminalProcess(builtExecutable("KeyStoreProbe"), ["stdin"])
        #expect(process.finish().stdout == "terminal(source: \"standard input\")\r\n")
    }
}
