import MigrationKitPages
import Foundation
import GRDB

extension EncryptedDatabaseError {
    /// Translates an error of SQLite for a database that was already open.
    ///
    /// A migration may meet a full disk, a lock or a damaged page long after the database was
    /// opened.
    ///
    /// - Parameters:
    ///   - error: An error from GRDB.
    ///   - path: The database, for the message.
    /// - Returns: `nil` if the error is not about the file, such as a mistake in the SQL or a
    ///   constraint.
    public init?(_ error: DatabaseError, path: String) {
        switch error.resultCode {
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            self = .locked(path: path)
        case .SQLITE_FULL:
            self = .diskFull(path: path)
        case .SQLITE_NOTADB, .SQLITE_CORRUPT:
            self = .damaged(path: path, pages: [])
        case .SQLITE_PERM:
            self = .permissionDenied(path: path)
        case .SQLITE_READONLY:
            self = Self.refusedWrite(error, path: path)
        case .SQLITE_IOERR, .SQLITE_PROTOCOL:
            self = .inputOutput(path: path, detail: Self.describe(error))
        case .SQLITE_CANTOPEN:
            // SQLite also returns this code for the journal, which is what fails once the file is
            // open.
            self =
                (try? DatabaseFile(path).look().isFolderWritable) ?? true
                ? .inputOutput(path: path, detail: Self.describe(error))
                : .readOnlyFolder(path: path)
        default:
            return nil
        }
    }

    /// Translates a result code of SQLite if there is no further detail.
    package init(_ code: CipherCode, path: String) {
        let error = DatabaseError(resultCode: ResultCode(rawValue: code.rawValue))
        self =
            Self(error, path: path) ?? .inputOutput(path: path, detail: "SQLite \(code.rawValue)")
    }

    private static func refusedWrite(_ error: DatabaseError, path: String) -> Self {
        switch error.extendedResultCode {
        case .SQLITE_READONLY_ROLLBACK, .SQLITE_READONLY_RECOVERY: .needsRecovery(path: path)
        case .SQLITE_READONLY_DIRECTORY, .SQLITE_READONLY_CANTINIT: .readOnlyFolder(path: path)
        // The file has been renamed or removed, or can't be checked.
        case .SQLITE_READONLY_DBMOVED: .inputOutput(path: path, detail: describe(error))
        default: .readOnly(path: path)
        }
    }

    private static func describe(_ error: DatabaseError) -> String {
        "\(error.message ?? "unknown error") (SQLite \(error.extendedResultCode.rawValue))"
    }
}
