import Foundation
import TestSupport
import Testing

/// The help of every command, as people see it in 80 columns.
@Suite struct HelpSnapshotTests {
    static let folder = "Tests/EndToEndTests/Snapshots/Help"
    static let all =
        [[]] + HelpTests.commands.map { [$0] } + HelpTests.keyCommands.map { ["key", $0] }

    @Test(arguments: all)
    func helpIsAsItWas(_ command: [String]) throws {
        let help = try Tool().run(command + ["--help"])
        #expect(help.status == 0)
        try expectSnapshot(help.stdout, at: "\(Self.folder)/\(Self.name(of: command)).txt")
    }

    @Test func everySnapshotIsCompared() throws {
        let files = try FileManager.default.contentsOfDirectory(
            atPath: PackageFolder.path(Self.folder)
        )
        #expect(files.sorted() == Self.all.map { "\(Self.name(of: $0)).txt" }.sorted())
    }

    private static func name(of command: [String]) -> String {
        command.isEmpty ? "migrationkit-cli" : command.joined(separator: "-")
    }
}
