import MigrationKitPages
import Foundation

extension EncryptedDatabase {
    /// Whether a path leads to a file with content. A file that can't be read counts, so that it is
    /// never taken for a new one.
    package static func hasContent(_ path: String) -> Bool {
        do {
            return try DatabaseFile(path).recoveredSize() ?? 0 > 0
        } catch {
            return true
        }
    }

    /// The absolute form of a path that may be relative to the current folder.
    package static func absolutePath(of path: String) -> String {
        DatabaseFile(path).absolutePath
    }

    /// What a path must lead to before the user is asked for a key.
    package enum Expectation: Sendable {
        /// A file with any content.
        case file
        /// A plaintext file.
        case plaintext
        /// A file that isn't plaintext.
        case encrypted
        /// A file that isn't plaintext, or a place where one can be created.
        case encryptedOrNew
    }

    /// Throws for any problem with a path that shows without a key, so that nobody is asked in
    /// vain.
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
