import ArgumentParser
import MigrationKitCommon
import Foundation
import Testing

@testable import MigrationKitCLI

/// README and the pages say what the tool does: their tables are complete, their commands are
/// accepted, and their links and paths lead somewhere.
@Suite struct DocumentationTests {
    private static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private static let pages: [String] = {
        let folder = root.appending(path: "Documentation").path
        let names = FileManager.default.enumerator(atPath: folder)?.allObjects as? [String] ?? []
        return ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"]
            + names.filter { $0.hasSuffix(".md") }.sorted().map { "Documentation/\($0)" }
    }()

    private func text(_ path: String) throws -> String {
        try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
    }

    private func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: Self.root.appending(path: path).path)
    }

    /// The cells of the first table with this heading, a row each.
    private func table(headed heading: String, in page: String) throws -> [[String]] {
        let lines = try text(page).components(separatedBy: "\n")
        let start = try #require(lines.firstIndex { $0.hasPrefix("| \(heading) |") })
        return lines[(start + 2)...].prefix { $0.hasPrefix("|") }.map { line in
            line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast()
                .map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    /// The texts in the first group of a pattern.
    private func matches(of pattern: String, in text: String) throws -> [String] {
        try text.matches(of: Regex(pattern, as: (Substring, Substring).self)).map { String($0.1) }
    }

    private func words(of line: String) throws -> [String] {
        try matches(of: "('[^']*'|[^ ']+)", in: line).map { word in
            word.hasPrefix("'") ? String(word.dropFirst().dropLast()) : word
        }
    }

    /// An anchor as GitHub makes it.
    static func anchor(of heading: some StringProtocol) -> String {
        heading.lowercased().replacingOccurrences(of: " ", with: "-")
            .filter { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" }
    }

    @Test func readmeIsShort() throws {
        #expect(try text("README.md").components(separatedBy: "\n").count <= 151)
    }

    @Test(arguments: pages) func linksLeadSomewhere(page: String) throws {
        let folder = URL(filePath: page).deletingLastPathComponent().relativePath
        for link in try matches(of: #"\]\(([^)]+)\)"#, in: text(page)) where !link.contains("://") {
            let parts = link.split(separator: "#", omittingEmptySubsequences: false)
            let target =
                parts[0].isEmpty
                ? page
                : URL(filePath: "/\(folder)/\(parts[0])").standardized.path.dropFirst().description
            #expect(exists(target), "\(link)")
            if parts.count > 1 {
                let headings = try matches(of: "(?m)^#+ (.*)$", in: text(target))
                #expect(headings.map { Self.anchor(of: $0) }.contains(String(parts[1])), "\(link)")
            }
        }
    }

    /// It is the front page of the site, whose groups are the navigation.
    @Test func everyPageIsOnTheFrontPage() throws {
        let front = "Documentation/README.md"
        let links = try matches(of: #"(?m)^- \[[^\]]+\]\(([^)]+)\)"#, in: text(front))
        let listed = links.map {
            String(URL(filePath: "/Documentation/\($0)").standardized.path.dropFirst())
        }
        for page in Self.pages where page != front && !page.hasPrefix("Documentation/lint/") {
            #expect(listed.contains(page), "\(page)")
        }
        let built = try text("Scripts/docs").split { $0.isWhitespace }
        for parent in ["Sources", "Keys"] {
            let rooms = try FileManager.default
                .contentsOfDirectory(atPath: Self.root.appending(path: parent).path)
            for room in rooms.map({ "\(parent)/\($0)" })
            where exists("\(room)/\(URL(filePath: room).lastPathComponent).docc") {
                #expect(listed.contains(room), "\(room)")
                #expect(built.contains(Substring(room)), "\(room)")
            }
        }
    }

    @Test(arguments: pages) func pathsAreThere(page: String) throws {
        let folders = "Sources|Keys|Tests|Scripts|Schemas|Documentation|Examples|Benchmarks"
        let paths = try matches(of: "`((?:\(folders))/[^` ]+)", in: text(page))
        for path in paths where path.range(of: "NAME|[*…]", options: .regularExpression) == nil {
            #expect(exists(path), "\(path)")
        }
    }

    @Test(arguments: pages) func commandsAreAccepted(page: String) throws {
        let lines = try matches(of: #"(?m)^ *\$ migrationkit-cli (.*)$"#, in: text(page))
        for line in lines {
            let command = line.components(separatedBy: "  #")[0].components(separatedBy: " | ")[0]
            #expect(throws: Never.self, "\(command)") {
                _ = try RootCommand.parseAsRoot(words(of: command))
            }
        }
    }

    /// A name that isn't ours can be taken by a stranger, whose program would then be run.
    @Test func nothingIsInstalledByANameThatAStrangerCanTake() throws {
        let folders = [
            "README.md", "Documentation", "Packaging", "Sources", "Keys", "Examples", "Scripts",
        ]
        let installs =
            #"(?:pipx?3?|python3? -m pip|npm|npx|cargo|brew|gem|go)"#
            + #" (?:install|add|i|get|run)((?: [^\s`"',;]+)*)"#
        for file in folders.flatMap(files(in:)) {
            guard let text = try? text(file) else { continue }
            for words in try matches(of: installs, in: text) {
                let names = words.split(separator: " ").filter { !$0.hasPrefix("-") }
                for name in names where name.lowercased().contains("migrationkit") {
                    #expect(name.contains("/"), "\(file): \(words)")
                }
            }
        }
    }

    /// The paths of a folder's files, or the path of a file.
    private func files(in path: String) -> [String] {
        let folder = Self.root.appending(path: path).path
        guard let names = FileManager.default.enumerator(atPath: folder)?.allObjects as? [String],
            !names.isEmpty
        else { return [path] }
        return names.map { "\(path)/\($0)" }
    }

    @Test func everyCommandIsInTheTable() throws {
        let listed = try table(headed: "command", in: "README.md")
            .flatMap { try matches(of: "`([a-z-]+)[^`]*`", in: $0[0]) }
        let commands = RootCommand.configuration.subcommands
            .map { $0.configuration }.filter { $0.shouldDisplay }.compactMap { $0.commandName }
        #expect(listed.sorted() == commands.sorted())
    }

    @Test func everySettingIsInTheTable() throws {
        let rows = try table(
            headed: "in the file, and as an option",
            in: "Documentation/Settings.md"
        )
        let listed = rows.dropLast().map { $0.prefix(2).map { $0.replacing("`", with: "") } }
        #expect(listed == SettingsKey.allCases.map { [$0.rawValue, $0.variable ?? ""] })
    }

    @Test func everyExitCodeIsInTheTable() throws {
        let listed = try table(headed: "code", in: "Documentation/ExitCodes.md")
            .flatMap { $0[0].components(separatedBy: ", ") }
        #expect(listed.sorted() == ErrorCode.ExitStatus.meanings.map { "\($0.code)" }.sorted())
    }

    @Test func everyRoomIsInTheTable() throws {
        let listed = try table(headed: "room", in: "CONTRIBUTING.md").map { $0[0] }
        for parent in ["Sources", "Keys"] {
            let rooms = try FileManager.default
                .contentsOfDirectory(atPath: Self.root.appending(path: parent).path)
            for room in rooms where !room.hasPrefix("C") {
                #expect(listed.contains("`\(parent)/\(room)`"), "\(parent)/\(room)")
            }
        }
    }

    @Test func versionIsReleasedOrNot() throws {
        let changes = try text("CHANGELOG.md")
        #expect(
            changes.contains("## [Unreleased]")
                || changes.contains("## [\(MigrationCLI.version)]")
        )
    }
}
