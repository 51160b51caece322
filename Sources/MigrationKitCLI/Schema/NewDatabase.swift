import Foundation
import GRDB
import MigrationKitSQLCipher

/// A database that is made beside its place, and put there once it is whole: nobody meets it before,
/// and what fails leaves nothing.
final class NewDatabase {
    private let path: String

    /// Where it is made.
    let draft: String

    /// - Parameter path: Where the database is to be.
    /// - Throws: ``SchemaCommandError/databaseExists(path:)``; an `EncryptedDatabaseError` if
    ///   nothing can be created there.
    init(at path: String) throws {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        guard faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) == 0 else {
            throw Self.cannotCreate(path, errno)
        }
        var status = stat()
        guard lstat(path, &status) != 0 else {
            throw SchemaCommandError.databaseExists(path: path)
        }
        self.path = path
        draft = "\(path)-loading-\(String(UInt32.random(in: .min ... .max), radix: 16))"
    }

    /// Checks that the file was made where it was to be.
    ///
    /// - Throws: ``SchemaCommandError/opensAnotherFile``.
    func checkIsThere() throws {
        guard access(draft, F_OK) == 0 else { throw SchemaCommandError.opensAnotherFile }
    }

    /// Closes the database and puts it to its place, unless somebody else has put a file there.
    ///
    /// - Throws: ``SchemaCommandError/databaseExists(path:)``; an `EncryptedDatabaseError`.
    func publish(_ writer: any DatabaseWriter) throws {
        // What a write-ahead log holds belongs into the file before that goes elsewhere.
        try writer.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
        }
        try writer.close()
        // Unlike rename(2), link(2) replaces nothing.
        guard link(draft, path) == 0 else {
            guard errno != EEXIST else { throw SchemaCommandError.databaseExists(path: path) }
            throw Self.cannotCreate(path, errno)
        }
        discard()
        syncFolder()
    }

    /// Removes the draft, and what SQLite has kept beside it.
    func discard() {
        for suffix in ["", "-journal", "-wal", "-shm"] { unlink(draft + suffix) }
    }

    private static func cannotCreate(_ path: String, _ code: Int32) -> EncryptedDatabaseError {
        let isMissing = code == ENOENT || code == ENOTDIR
        return .cannotCreate(
            path: path,
            reason: isMissing
                ? "its folder does not exist" : String(cString: strerror(code)).lowercased()
        )
    }

    /// Has the disk keep the new name. Best effort: the content is there under one name or the other.
    private func syncFolder() {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }
}
