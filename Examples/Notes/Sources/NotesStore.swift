import Foundation
import GRDB
import KeyStore
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

    /// The migrations that are shipped with the app.
    static func runner() throws -> GRDBMigrationRunner {
        try GRDBMigrationRunner(
            steps: MigrationFolder(
                path: Bundle.module.bundleURL.appendingPathComponent("migrations").path
            ).steps,
            requiredIndexes: [.init(table: "notes", index: "notes_folder")]
        )
    }

    let database: DatabaseQueue

    /// What an app does at launch: gets its key, opens its store, brings it up to date.
    init() throws {
        let keys = SecretServiceKeyStore()
        let key = try Self.key(in: keys)
        database = try EncryptedDatabase.open(
            Self.path,
            key: key,
            options: .init(createsFile: true)
        )
        try Self.runner().migrate(in: database)
    }

    /// The key of the store: the one in the secret store, or at the first launch a new one.
    ///
    /// A new key is made only where no file exists. A file whose key is not found is an error to
    /// tell the user about; a new key would not open it.
    private static func key(in keys: some KeyStore) throws -> DatabaseKey {
        do {
            return try keys.key(service: service, account: account)
        } catch KeyStoreError.itemNotFound where !FileManager.default.fileExists(atPath: path) {
            let key = try DatabaseKey.generate()
            try keys.store(key, service: service, account: account)
            // Read it back: the file is created with a key that is known to be kept.
            return try keys.key(service: service, account: account)
        }
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
