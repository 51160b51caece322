import Foundation
import TestSupport
import Testing

/// The manual, read by the programs that show it.
@Suite struct ManualTests {
    let folder: TemporaryFolder
    /// The names of the pages.
    let names: [String]

    init() throws {
        folder = try Self.pages.get()
        names = try folder.names.map { String($0.dropLast(".1".count)) }
    }

    private static let pages = Result {
        let folder = try TemporaryFolder()
        // A debug build has one option more, which the snapshots of the help have, too.
        let tool = try builtExecutable("migrationkit-cli", besideTests: true)
        let result = try run(tool, ["manual", "--output-dir", folder.path])
        #expect(result.status == 0)
        #expect(result.stderr.isEmpty)
        return folder
    }

    /// A page as `man` shows it.
    private func shown(_ name: String = "migrationkit-cli", width: Int = 80) throws -> String {
        let result = try run(
            "man",
            ["--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-P", "cat", folder.path("\(name).1")],
            environment: [
                "PATH": "/usr/bin:/bin", "MANWIDTH": "\(width)", "LC_ALL": "C.UTF-8",
                "MAN_KEEP_FORMATTING": "", "GROFF_NO_SGR": "1",
            ]
        )
        #expect(result.status == 0)
        #expect(result.stderr.isEmpty, "\(name): \(result.stderr)")
        // Bold and underlined letters are letters struck over.
        return result.stdout.replacing(/.\u{8}/, with: "")
    }

    private func sections(of text: String) -> [String] {
        text.split(separator: "\n").filter { $0.first?.isLetter == true }
            .map(String.init).dropFirst().dropLast()
    }

    @Test func manShowsEveryPageWithoutAWarning() throws {
        for name in names {
            let text = try shown(name)
            for line in text.split(separator: "\n") {
                #expect(line.count <= 80, "\(name): \(line)")
            }
            #expect(sections(of: text).prefix(3) == ["NAME", "SYNOPSIS", "DESCRIPTION"], "\(name)")
        }
        let sections = try sections(of: shown())
        #expect(
            sections == [
                "NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "OPTIONS", "MIGRATION FILES",
                "SETTINGS", "ENVIRONMENT", "FILES", "EXIT STATUS", "EXAMPLES", "SEE ALSO",
            ]
        )
    }

    @Test func mandocFindsNothingWrong() throws {
        let files = names.map { folder.path("\($0).1") }
        let result = try run("mandoc", ["-T", "lint", "-W", "warning"] + files)
        #expect(result.status == 0)
        #expect(result.stdout.isEmpty, "\(result.stdout)")
        #expect(result.stderr.isEmpty)
        let rendered = try run("mandoc", ["-T", "utf8"] + files)
        #expect(rendered.status == 0)
    }

    /// Nothing that the help tells is missing.
    @Test(arguments: ToolCommands.words)
    func everyCommandHasAPageWithEveryOption(_ words: [String]) throws {
        let name = (["migrationkit-cli"] + words).joined(separator: "-")
        #expect(names.contains(name))
        let text = try shown(name, width: 400)
        let help = try String(
            contentsOfFile: PackageFolder.path(ToolCommands.helpSnapshot(words)),
            encoding: .utf8
        )
        let parts = help.components(separatedBy: "\nSUBCOMMANDS:\n")
        for subcommand in (parts.dropFirst().first ?? "").matches(of: /(?m)^  ([a-z-]+)\s/) {
            #expect(text.contains("\(name)-\(subcommand.1)(1)"), "\(subcommand.1)")
        }
        let options = parts[0].matches(of: /(?m)^  .*?(--[a-z-]+)/).map { String($0.1) }
        #expect(options.contains("--help"))
        // A group has nothing but its commands.
        for option in options where parts.count == 1 {
            let item = try Regex("\\n +(\\S+ ?, )*\(option)[ ,\\n]")
            #expect(text.contains(item), "\(option)")
        }
    }

    @Test func valuesOfAnOptionAreListed() throws {
        let text = try shown("migrationkit-cli-migrate")
        #expect(text.contains(/Values:\s+off,\s+sha1,\s+sha256,\s+sha512\./))
    }

    @Test func thereIsNoOtherPage() throws {
        let expected = ToolCommands.words.map { (["migrationkit-cli"] + $0).joined(separator: "-") }
        #expect(names.sorted() == expected.sorted())
    }

    @Test func aFolderThatIsNotThereIsAnError() throws {
        let result = try Tool().run("manual", "--output-dir", folder.path("nowhere"))
        #expect(result.status == 73, "\(result)")
    }

    @Test func itHasEveryVariableAndEveryExitCode() throws {
        let text = try shown()
        var variables: Set<String> = []
        for room in ["Sources", "Keys"] {
            let files = FileManager.default.enumerator(atPath: PackageFolder.path(room))
            for case let file as String in files ?? .init() where file.hasSuffix(".swift") {
                let source = try String(
                    contentsOfFile: PackageFolder.path("\(room)/\(file)"),
                    encoding: .utf8
                )
                variables.formUnion(source.matches(of: /MIGRATIONKIT_[A-Z_]+/).map { "\($0.0)" })
            }
        }
        #expect(variables.count >= 6)
        for variable in variables {
            #expect(text.contains(variable), "\(variable)")
        }
        let help = try Tool().run("--help").stdout.replacing(/\n */, with: " ")
        let codes = help.matches(of: /[ :](\d{1,3}) [a-z]/).map { String($0.1) }
        #expect(codes.count >= 12)
        for code in codes {
            #expect(text.contains(try Regex("\\n {5,7}\(code) ")), "\(code)")
        }
    }

    @Test func itHasEverySettingAndTheMarkersOfEveryForm() throws {
        let text = try shown(width: 400)
        let settings = try #require(
            text.components(separatedBy: "\nSETTINGS\n").last?
                .components(separatedBy: "\nENVIRONMENT\n").first
        )
        let shown = try Tool().run("status", "--show-settings", "--db-path", "x", "--json").json()
        let keys = try #require(shown["settings"] as? [[String: Any]])
            .compactMap { $0["name"] as? String }.filter { $0 != "config" }
        #expect(keys.count >= 10)
        for key in keys {
            // The text behind a short name is on the same line. groff indents by 5 or by 7 columns.
            #expect(settings.contains(try Regex("\n {5,7}\(key)(\n|  )")), "\(key)")
        }
        for marker in [
            "-- migrate:up", "-- migrate:down", "transaction:false", "-- +goose Up", ".up.sql",
            "V1__name.sql",
        ] {
            // Wherever a line ends.
            #expect(words(text).contains(marker), "\(marker)")
        }
    }

    private func words(_ text: String) -> String {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    /// A flag and the one that takes it back have one description, which says which is which.
    @Test func aFlagAndItsNegationHaveOneDescription() throws {
        let text = try shown("migrationkit-cli-migrate", width: 400)
        #expect(text.contains(/--allow-out-of-order ?, --no-allow-out-of-order\n/))
        #expect(!text.contains(/\n +--no-allow-out-of-order\n/))
    }

    @Test func everythingIsInstalledWhereItIsLookedFor() throws {
        let folder = try TemporaryFolder()
        let result = try run(
            PackageFolder.path("Scripts/install-tool"),
            [builtExecutable("migrationkit-cli"), folder.path("usr")]
        )
        #expect(result.status == 0, "\(result)")
        for file in [
            "bin/migrationkit-cli", "share/man/man1/migrationkit-cli.1",
            "share/man/man1/migrationkit-cli-key-rotate.1",
            "share/bash-completion/completions/migrationkit-cli",
            "share/zsh/site-functions/_migrationkit-cli",
            "share/fish/vendor_completions.d/migrationkit-cli.fish",
        ] {
            #expect(try !folder.data("usr/\(file)").isEmpty)
        }
        #expect(folder.mode("usr/bin/migrationkit-cli") == 0o755)
        #expect(folder.mode("usr/share/man/man1/migrationkit-cli.1") == 0o644)
        let found = try run(
            "man",
            ["-M", folder.path("usr/share/man"), "-w", "migrationkit-cli"]
        )
        #expect(found.stdout == folder.path("usr/share/man/man1/migrationkit-cli.1") + "\n")
    }
}
