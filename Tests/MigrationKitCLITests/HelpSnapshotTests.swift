import Foundation
import TestSupport
import Testing

/// The help of every command, as people see it in 80 columns.
@Suite struct HelpSnapshotTests {
    @Test(arguments: ToolCommands.words)
    func helpIsAsItWas(_ command: [String]) throws {
        let help = ToolInProcess().run(command + ["--help"])
        #expect(help.status == 0)
        #expect(help.stderr.isEmpty)
        #expect(help.stdout.hasPrefix("OVERVIEW: "))
        for line in help.stdout.split(separator: "\n") {
            #expect(line.count <= 80, "\(line)")
        }
        try expectSnapshot(help.stdout, at: ToolCommands.helpSnapshot(command))
    }

    @Test func everySnapshotIsCompared() throws {
        let files = try FileManager.default.contentsOfDirectory(
            atPath: PackageFolder.path(ToolCommands.helpSnapshots)
        )
        let paths = files.map { "\(ToolCommands.helpSnapshots)/\($0)" }
        #expect(paths.sorted() == ToolCommands.words.map(ToolCommands.helpSnapshot).sorted())
    }
}
