import Foundation
import TestSupport

/// A page such as `Documentation/Commands.md`: what somebody sees who runs commands in a folder, one
/// after the other, without what differs from run to run.
struct CommandPage {
    let folder: TemporaryFolder
    private let secrets: PrivateSecretService
    /// The page so far.
    private(set) var text: String

    /// - Parameter beginning: What the page begins with.
    init(_ beginning: String) throws {
        folder = try TemporaryFolder()
        secrets = try PrivateSecretService()
        text = beginning
        try secrets.folder.makeFolder("bin")
        try FileManager.default.createSymbolicLink(
            atPath: secrets.folder.path("bin/migrationkit-cli"),
            withDestinationPath: builtExecutable("migrationkit-cli")
        )
    }

    /// Begins the part of a command, with what its help says first.
    mutating func begin(_ words: [String]) throws {
        let help = try String(
            contentsOfFile: PackageFolder.path(ToolCommands.helpSnapshot(words)),
            encoding: .utf8
        )
        let paragraph = help.components(separatedBy: "\n\n")[0]
        text += "\n## \(words.joined(separator: " "))\n"
        say(paragraph.replacing("OVERVIEW: ", with: "").replacing("\n", with: " "))
    }

    mutating func say(_ paragraph: String) {
        text += "\n\(paragraph)\n"
    }

    /// Runs lines as a shell does, and shows each with all that it prints.
    ///
    /// - Parameter bus: Another session than the page's own.
    mutating func run(_ lines: String..., on bus: PrivateSecretService? = nil) throws {
        var block = ""
        for line in lines {
            let result = try runUnseen(line, on: bus)
            let data = (bus ?? secrets).folder.path("data")
            let output = result.stdout.replacing(data, with: "/home/me/.local/share")
            block += "$ \(line)\n" + Self.readable(output, in: folder.path)
            if result.status != 0 {
                block += "$ echo $?\n\(result.status.map(String.init) ?? "killed")\n"
            }
        }
        text += "\n```console\n\(block)```\n"
    }

    /// Runs a line that the page doesn't show.
    @discardableResult
    func runUnseen(_ line: String, on bus: PrivateSecretService? = nil) throws -> ProcessResult {
        try TestSupport.run(
            "/bin/sh",
            ["-c", "cd '\(folder.path)'; { \(line)\n} 2>&1"],
            environment: (bus ?? secrets).environment.merging(
                ["PATH": "\(secrets.folder.path("bin")):/usr/bin:/bin", "TZ": "UTC"]
            ) { $1 },
            newSession: true
        )
    }

    /// Locks the default collection of the page's session for some lines.
    mutating func locked(_ body: (inout CommandPage) throws -> Void) throws {
        try secrets.lock()
        try body(&self)
        try secrets.unlock()
    }

    /// Writes a migration.
    func write(_ name: String, up: String, down: String) throws {
        try folder.write(
            "migrations/\(name).sql",
            "-- migrate:up\n\(up)\n\n-- migrate:down\n\(down)\n".utf8
        )
    }

    /// With plausible values in the place of what differs.
    private static func readable(_ output: String, in folder: String) -> String {
        output.replacingWhatDiffers(folder: folder, key: "<key>")
            .replacing("FOLDER", with: "/home/me/notes")
            .replacing("YYYY-MM-DD hh:mm +zzzz", with: "2026-11-24 09:30 +0000")
            .replacing("YYYY-MM-DDThh:mm:ssZ", with: "2026-11-24T09:30:00Z")
            .replacing("YYYY-MM-DD", with: "2026-11-24")
            // In a table, what follows stays below its heading.
            .replacing(/<n> ms( +)/) { "2 ms  \($0.1)" }
            .replacing("<n> ms", with: "2 ms")
            // The tests may run in one.
            .replacing(/warning this runs in a container\n( +.*\n)+/, with: "")
            .replacing(/\b[0-9a-f]{64}\b/, with: String(repeating: "0123456789abcdef", count: 4))
    }
}
