import TestSupport
import Testing

@testable import MigrationKitCLI

@Suite struct HelpTests {
    @Test(arguments: [[], ["migrate"], ["key"], ["key", "list"], ["schema-dump"]], [40, 50])
    func narrowHelpFitsAndBreaksNoWord(_ command: [String], _ width: Int) {
        let wide = ToolInProcess().run(command + ["--help"]).stdout
        let narrow = ToolInProcess(columns: width).run(command + ["--help"])
        #expect(narrow.status == 0)
        for line in narrow.stdout.split(separator: "\n") {
            #expect(line.count <= width || !line.dropFirst(6).contains(" "), "\(line)")
        }
        let words = narrow.stdout.split { $0.isWhitespace }
        #expect(words == wide.split { $0.isWhitespace })
    }

    @Test func helpNamesEveryCommand() {
        let help = ToolInProcess().run("--help").stdout
        for command in ToolCommands.all {
            #expect(help.contains("\n  \(command) "))
        }
        for asked in [["key", "--help"], ["key"], ["help", "key"]] {
            let help = ToolInProcess().run(asked).stdout
            for command in ToolCommands.key {
                #expect(help.contains("\n  \(command) "), "\(asked)")
            }
        }
        let fleet = ToolInProcess().run("fleet", "--help").stdout
        for command in ToolCommands.fleet { #expect(fleet.contains("\n  \(command) ")) }
    }

    @Test func versionIsANumberAndThoseOfTheLibraries() throws {
        let version = ToolInProcess().run("--version")
        #expect(version.status == 0)
        let text =
            /\d+\.\d+\.\d+\nSQLCipher 4\.\d.*, SQLite 3\.\d.*, OpenSSL 3\.\d.*\n(Known faults of this engine:\n(  .+\n)+)?/
        #expect(version.stdout.wholeMatch(of: text) != nil, "\(version)")

        let document = try ToolInProcess().run("--version", "--json").json()
        let words = ["version", "sqlcipher", "sqlite", "libcrypto"].compactMap {
            document[$0] as? String
        }
        try #require(words.count == 4)
        #expect(
            version.stdout.hasPrefix(
                "\(words[0])\nSQLCipher \(words[1]), SQLite \(words[2]), \(words[3])\n"
            )
        )
        let faults = try #require(document["faults"] as? [[String: Any]])
        for fault in faults {
            let name = try #require(fault["name"] as? String)
            #expect(version.stdout.contains("\n  - \(name): "))
        }
    }

    /// What makes a command what it is isn't found below thirty options that all commands have.
    @Test(arguments: ToolCommands.words)
    func ownOptionsComeFirst(_ command: [String]) throws {
        let help = ToolInProcess().run(command + ["--help"]).stdout
        let titles = help.matches(of: /(?m)^([A-Z ]+)(, WITH --TO)?:(?=\n)/).map { String($0.1) }
        let shared = HelpSections.shared
        let options = try #require(titles.firstIndex(of: "OPTIONS"), "\(titles)")
        #expect(titles[..<options].allSatisfy { $0 == "ARGUMENTS" }, "\(titles)")
        let groups = titles[(options + 1)...].filter { $0 != "SUBCOMMANDS" }
        let firstShared = groups.firstIndex(where: shared.contains) ?? groups.endIndex
        #expect(groups[firstShared...].allSatisfy(shared.contains), "\(titles)")

        let section = try #require(help.firstMatch(of: /\nOPTIONS:\n((  .*\n)+)/)).1
        let names = section.matches(of: /(?m)^  (-., )?--([a-z-]+)/).map { String($0.2) }
        let last = ["json", "quiet", "version", "help"].filter(names.contains)
        #expect(Array(names.suffix(last.count)) == last, "\(names)")
    }

    /// The recorded help is what the tool prints: `HelpSnapshotTests`.
    @Test func everyCommandCanBeQuiet() throws {
        let groups = [[], ["key"], ["fleet"]]
        for words in ToolCommands.words where !groups.contains(words) {
            let path = PackageFolder.path(ToolCommands.helpSnapshot(words))
            let help = try String(contentsOfFile: path, encoding: .utf8)
            #expect(help.contains("\n  -q, --quiet "), "\(words)")
        }
    }

    @Test func withoutACommandTheHelpIsShown() {
        let nothing = ToolInProcess().run([])
        #expect(nothing.status == 0)
        #expect(nothing.stdout.contains("SUBCOMMANDS:"))
    }
}
