import MigrationKitPages

/// What happens to a database's first page when SQLite next opens the file, because a program was
/// stopped in the middle of a change.
///
/// A power cut may tear that page, and then no key opens it. The intact page is in the journal
/// beside the file, and SQLite will restore it, whatever the key. So the key is tested on this page
/// before SQLite opens the file.
package enum Recovery {
    /// It stays as it is.
    case nothing
    /// It is replaced by this one.
    case firstPage([UInt8])
    /// It is removed: the file was new, and becomes empty again.
    case emptyFile

    /// Examines the files beside a database, and changes nothing.
    ///
    /// - Throws: ``EncryptedDatabaseError`` if one of them can't be read.
    package init(by look: FileLook) throws {
        func journal(_ suffix: String) throws -> RawFile? {
            try RawFile.find(look.file.resolvedPath + suffix).get()
        }
        if try look.hasRollbackJournal, let journal = try journal("-journal"),
            let found = try Self.undoing(journal)
        {
            self = found
            return
        }
        if try look.hasLog, let log = try journal("-wal"),
            let page = try WriteAheadLog(log)?.firstPage(in: log)
        {
            self = .firstPage(page)
            return
        }
        self = .nothing
    }

    /// - Returns: `nil` if the journal belongs to a finished change.
    private static func undoing(_ file: RawFile) throws -> Recovery? {
        guard let journal = try RollbackJournal(file) else { return nil }
        guard journal.originalPageCount > 0 else { return .emptyFile }
        return try journal.page(1, in: file).map(Recovery.firstPage) ?? .nothing
    }
}
