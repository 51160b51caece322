import Foundation
import MigrationKitCLI

// notes add TITLE        adds a note
// notes list             lists the notes
// notes search WORDS     finds notes
// notes db …             the migration commands, on this app's own store

let arguments = Array(CommandLine.arguments.dropFirst())

func launch() async -> NotesStore {
    do {
        return try await NotesStore()
    } catch {
        let hint = (error as? LocalizedError)?.recoverySuggestion ?? ""
        FileHandle.standardError.write(Data("notes: \(error.localizedDescription)\n\(hint)\n".utf8))
        exit(1)
    }
}

switch (arguments.first, arguments.dropFirst().joined(separator: " ")) {
case ("add", let title) where !title.isEmpty:
    try await launch().add(title)
case ("list", ""):
    try await launch().titles().forEach { print($0) }
case ("search", let words) where !words.isEmpty:
    try await launch().titles(matching: words).forEach { print($0) }
case ("db", _):
    MigrationCLI.main(
        arguments: Array(arguments.dropFirst()),
        host: MigrationCLIHost(
            runner: try NotesStore.runner(),
            store: NotesStore.store,
            commandName: "notes db"
        )
    )
default:
    print("usage: notes add TITLE | list | search WORDS | db migrate|status|rollback|verify …")
    exit(64)
}
