import Foundation
import GRDB
import MigrationKitGRDB
import MigrationKitSQL
import MigrationKitSQLCipher
import SecretService

/// The app's encrypted store: its file, its key in the desktop's secret store, its migrations.
struct NotesStore {
    static let service = "org.example.Notes"
    static let account = "main"

    static var path: String {
        ProcessInfo.processInfo.environment["NOTES_DB"] ?? "notes.db"
    }

    /// The migrations that are shipped with the app, and what must hold after them.
    static func runner() throws -> GRDBMigrationRunner {
        func folder(_ name: String) -> String {
            Bundle.module.bundleURL.appendingPathComponent(name).path
        }
        return try GRDBMigrationRunner(
            steps: MigrationFolder(path: folder("migrations")).steps,
            requiredIndexes: [.init(table: "notes", index: "notes_folder")]
        ).checking(CheckQuery.inFolder(folder("checks")))
    }

    /// The file and its key.
    static var store: EncryptedStore {
        EncryptedStore(
            path: path,
            keyStore: SecretServiceKeyStore(),
            service: service,
            account: account,
            label: "Notes"
        )
    }

    let database: DatabaseQueue

    /// What an app does at launch: opens its store with the key that the desktop's secret store
    /// keeps, and brings it up to date. At the first launch key and file are made.
    init() async throws {
        database = try await Self.store.asyncOpen()
        try await Self.runner().asyncMigrate(in: database)
    }

    func add(_ title: String) throws {
        try database.write { db in
            try db.execute(
                sql: """
                    INSERT INTO notes (folder_id, title)
                    SELECT id, ? FROM folders ORDER BY position LIMIT 1
                    """,
                arguments: [title]
            )
        }
    }

    func titles(matching words: String? = nil) throws -> [String] {
        try database.read { db in
            guard let words else {
                return try String.fetchAll(db, sql: "SELECT title FROM notes ORDER BY updated_at")
            }
            return try String.fetchAll(
                db,
                sql: """
                    SELECT notes.title FROM note_search
                    JOIN note_search_keys ON note_search_keys.key = note_search.rowid
                    JOIN notes ON notes.id = note_search_keys.note_id
                    WHERE note_search MATCH ?
                    ORDER BY rank
                    """,
                arguments: [words]
            )
        }
    }
}
