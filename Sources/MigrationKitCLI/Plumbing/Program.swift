import Foundation

/// The program whose command line is parsed: the standalone tool, or a host's own program.
///
/// ArgumentParser makes configurations and groups of options anew for every parse and help text, so
/// they may depend on it.
enum Program {
    @TaskLocal static var host = MigrationCLIHost.standalone

    /// What a word means that stands after the name of a command, which knows no other commands.
    ///
    /// Not the function itself: Swift 6.3's optimizer names no type of it, and a program ends at start.
    struct Meaning: Sendable {
        let of: @Sendable (_ word: String, _ command: String) -> String?
    }

    @TaskLocal static var meaning = Meaning { _, _ in nil }

    /// Its name in help texts.
    static var name: String {
        if hasFolder { return "migrationkit-cli" }
        if let name = host.commandName { return name }
        return URL(fileURLWithPath: CommandLine.arguments.first ?? "migrationkit").lastPathComponent
    }

    /// What it is, in one line.
    static var abstract: String {
        hasFolder
            ? "Migrates encrypted SQLite databases. A database is never left half migrated."
            : "Migrates this program's database."
    }

    /// Whether its migrations are files in a folder, to which new ones can be added.
    static var hasFolder: Bool { host.hasFolder }
}
