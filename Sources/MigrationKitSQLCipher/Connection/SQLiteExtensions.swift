import CSQLCipher
import Foundation
import GRDB
import MigrationKitCommon

/// Extensions of SQLite, which bring functions, collations or tokenizers that a schema needs.
///
/// <https://www.sqlite.org/loadext.html>
package enum SQLiteExtensions {
    private static let paths = Locked<[String]>([])

    /// Has the connections of this process load an extension from now on.
    ///
    /// - Parameter path: The shared library. It runs with the rights of this process.
    /// - Throws: ``SQLiteExtensionError``.
    package static func use(_ path: String) throws {
        // Without a slash, the system would look for it elsewhere.
        let path = path.contains("/") ? path : "./\(path)"
        guard access(path, R_OK) == 0 else {
            throw SQLiteExtensionError(path: path, reason: systemReason(errno))
        }
        paths.withLock { $0.append(path) }
        try DatabaseQueue().inDatabase(load(on:))
    }

    /// Loads them on a connection whose key is set: one may read the schema.
    package static func load(on db: Database) throws {
        let paths = paths.withLock { $0 }
        guard !paths.isEmpty else { return }
        // SQL can't load any, since this isn't left on.
        sqlite3_enable_load_extension(db.sqliteConnection, 1)
        defer { sqlite3_enable_load_extension(db.sqliteConnection, 0) }
        for path in paths {
            var message: UnsafeMutablePointer<CChar>?
            defer { sqlite3_free(message) }
            let code = sqlite3_load_extension(db.sqliteConnection, path, nil, &message)
            guard code == SQLITE_OK else {
                throw SQLiteExtensionError(path: path, reason: message.map { String(cString: $0) })
            }
        }
    }
}

/// An extension can't be loaded.
package struct SQLiteExtensionError: CodedError, Equatable {
    let path: String
    let reason: String?

    package var errorDescription: String? {
        "the extension \(path) can't be loaded" + (reason.map { ": \($0)" } ?? "")
    }

    package var recoverySuggestion: String? {
        "Give a shared library that is an extension of SQLite, built for this machine."
    }

    package var code: ErrorCode { ErrorCode("unusableExtension", .noInput) }
}
