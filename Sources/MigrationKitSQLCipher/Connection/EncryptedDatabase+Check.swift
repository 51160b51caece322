import MigrationKitPages
import Foundation

extension EncryptedDatabase {
    /// Whether there is a file with content at a path, or one that can't be read: that is never taken
    /// for a new one.
    package static func hasContent(_ path: String) -> Bool {
        do {
            return try DatabaseFile(path).recoveredSize() ?? 0 > 0
        } catch {
            return true
        }
    }

    /// Where a path leads that may be relative to the current folder.
    package static func absolutePath(of path: String) -> String {
        DatabaseFile(path).absolutePath
    }

    /// What a path must lead to before anybody is asked for a key.
    package enum Expectation: Sendable {
        /// A file, whatever is in it.
        case file
        /// A file in the clear.
        case plaintext
        /// A file that isn't in the clear.
        case encrypted
        /// The same, or a place where one can be created.
        case encryptedOrNew
    }

    /// Throws what can be said against a path without a key, so that nobody is asked for one in vain.
    ///
    /// - Throws: ``EncryptedDatabaseError``.
    package static func check(_ path: String, is expectation: Expectation) throws {
        let file = DatabaseFile(path)
        let size = try file.size()
        if expectation == .encryptedOrNew, size ?? 0 == 0 {
            return try size == nil ? file.checkCreation() : ()
        }
        guard let size else { throw EncryptedDatabaseError.noSuchFile(path: path) }
        if expectation == .file { return }
        switch size {
        case 0: throw EncryptedDatabaseError.empty(path: path)
        case 1: throw EncryptedDatabaseError.notADatabase(path: path)
        default: break
        }
        try file.checkAccess(forWriting: false)
        let inspection = try FileInspection(file)
        try expectation == .plaintext ? inspection.checkPlaintext() : inspection.checkEncrypted()
    }
}

extension DatabaseFile {
    /// Throws if the file, which is not there, can't be created.
    fileprivate func checkCreation() throws {
        try checkLink()
        let folder = URL(fileURLWithPath: absolutePath).deletingLastPathComponent().path
        guard isNamed, faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) == 0 else {
            throw cannotCreate(isNamed ? errno : ENOENT)
        }
    }
}
