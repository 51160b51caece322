import TestSupport
import Testing

@Suite struct HelpTests {
    static let commands = [
        "migrate", "plan", "status", "history", "rollback", "redo", "verify", "inspect", "baseline",
        "repair", "schema-dump", "schema-load", "encrypt", "decrypt", "rekey", "upgrade",
        "backup", "restore", "salvage", "key", "create",
    ]
    static let keyCommands = ["generate", "set", "show", "delete", "list", "check", "rotate"]

    @Test(arguments: [[]] + commands.map { [$0] } + keyCommands.map { ["key", $0] })
    func helpFitsEightyColumns(
        _ command: [String]
    ) throws {
        let help = try Tool().run(command + ["--help"])
        #expect(help.status == 0)
        #expect(help.stderr.isEmpty)
        #expect(help.stdout.hasPrefix("OVERVIEW: "))
        for line in help.stdout.split(separator: "\n") {
            #expect(line.count <= 80, "\(line)")
        }
    }

    @Test(arguments: [[], ["migrate"], ["key"], ["key", "list"], ["schema-dump"]], [40, 50])
    func narrowHelpFitsAndBreaksNoWord(_ command: [String], _ width: Int) throws {
        var tool = try Tool()
        let wide = try tool.run(command + ["--help"]).stdout
        tool.environment["COLUMNS"] = "\(width)"
        let narrow = try tool.run(command + ["--help"])
        #expect(narrow.status == 0)
        for line in narrow.stdout.split(separator: "\n") {
            #expect(line.count <= width || !line.dropFirst(6).contains(" "), "\(line)")
        }
        let words = narrow.stdout.split { $0.isWhitespace }
        #expect(words == wide.split { $0.isWhitespace })
    }

    @Test func helpNamesEveryCommand() throws {
        let help = try Tool().run("--help").stdout
        for command in Self.commands {
            #expect(help.contains("\n  \(command) "))
        }
        for asked in [["key", "--help"], ["key"], ["help", "key"]] {
            let help = try Tool().run(asked).stdout
            for command in Self.keyCommands {
                #expect(help.contains("\n  \(command) "), "\(asked)")
            }
        }
    }

    @Test func versionIsANumber() throws {
        let version = try Tool().run("--version")
        #expect(version.status == 0)
        #expect(version.stdout.wholeMatch(of: /\d+\.\d+\.\d+\n/) != nil)
    }

    @Test func withoutACommandTheHelpIsShown() throws {
        let nothing = try Tool().run([])
        #expect(nothing.status == 0)
        #expect(nothing.stdout.contains("SUBCOMMANDS:"))
    }
}
