import Foundation
import Glibc
import MigrationKitCommon
import MigrationKitPages

/// What is at a database's path and beside it, at one moment.
///
/// Opening decides by one look whether and how it opens the file. If that fails, it takes another look
/// to find out why: other programs may have changed something meanwhile.
package struct FileLook {
    package let file: DatabaseFile

    /// The file's size in bytes; `nil` if there is no file.
    package let size: Int?

    /// Where the file is if its name is a link: SQLite puts its journals there.
    private let place: String

    /// Where SQLite opens it: its links were looked at, and others can't change them any more.
    var pathWithoutLinks: String { DatabaseFile(place).pathInResolvedFolder }

    /// In the order of `journalSuffixes`.
    private let journals: [Found<stat>]

    init(_ file: DatabaseFile) throws {
        self.file = file
        guard file.isNamed else {
            (size, place, journals) = (nil, file.path, [])
            return
        }
        var status = stat()
        var code = lstat(file.absolutePath, &status) == 0 ? 0 : errno
        let isLink = code == 0 && status.st_mode & S_IFMT == S_IFLNK
        try file.checkLinks(includingItself: isLink)
        if isLink { code = stat(file.absolutePath, &status) == 0 ? 0 : errno }
        place = isLink ? file.resolvedPath : file.absolutePath
        guard code == 0 else {
            switch code {
            case ENOENT, ENOTDIR: size = nil
            case EACCES: throw EncryptedDatabaseError.permissionDenied(path: file.path)
            default:
                throw EncryptedDatabaseError.inputOutput(
                    path: file.path,
                    detail: systemReason(code)
                )
            }
            journals = DatabaseFile.journalSuffixes.map { [place] in Found(place + $0) }
            return
        }
        switch status.st_mode & S_IFMT {
        case S_IFREG: size = Int(status.st_size)
        case S_IFDIR: throw EncryptedDatabaseError.isDirectory(path: file.path)
        case let kind:
            throw EncryptedDatabaseError.notAFile(path: file.path, kind: Self.name(ofKind: kind))
        }
        journals = try Self.checkJournals(at: place, owner: status.st_uid)
    }

    private static func name(ofKind kind: mode_t) -> String {
        switch kind {
        case S_IFIFO: "a named pipe"
        case S_IFSOCK: "a socket"
        case S_IFCHR, S_IFBLK: "a device"
        default: "a special file"
        }
    }

    // MARK: - Journals

    /// Throws if a journal's name belongs to something that isn't a regular file: SQLite would open
    /// it, and opening a named pipe never returns. Or to a file of another user's: root's SQLite gives
    /// journals to the owner of the database, and any writes pages into them. In a folder that all may
    /// write, anybody can lay one; otherwise, users who share a database may leave each other's.
    ///
    /// - Parameters:
    ///   - path: The database, with its own links resolved.
    ///   - owner: The database's; `nil` if there is none.
    /// - Returns: What is there, in the order of `journalSuffixes`.
    /// - Throws: ``EncryptedDatabaseError/journalIsNoFile(path:kind:)``;
    ///   ``EncryptedDatabaseError/journalOfAnother(path:)``.
    @discardableResult
    static func checkJournals(
        at path: String,
        owner: uid_t? = nil
    ) throws -> [Found<stat>] {
        try DatabaseFile.journalSuffixes.map { suffix in
            let journal = path + suffix
            var status = stat()
            guard stat(journal, &status) == 0 else {
                return Found(failing: "stat", on: journal, errno)
            }
            let kind: String
            switch status.st_mode & S_IFMT {
            case S_IFREG:
                guard isOfAnother(status, journal, owner) else {
                    return status.st_size == 0 ? .empty : .content(status)
                }
                // SQLite gives a journal to the database's owner just after it has made it.
                let found = Polling.value(within: 0.1) { () -> Found<stat>? in
                    guard stat(journal, &status) == 0 else { return .absent }
                    return isOfAnother(status, journal, owner)
                        ? nil : status.st_size == 0 ? .empty : .content(status)
                }
                guard let found else {
                    throw EncryptedDatabaseError.journalOfAnother(path: journal)
                }
                return found
            case S_IFDIR: kind = "folder"
            case S_IFIFO: kind = "named pipe"
            case S_IFSOCK: kind = "socket"
            default: kind = "device"
            }
            throw EncryptedDatabaseError.journalIsNoFile(path: journal, kind: kind)
        }
    }

    private static func isOfAnother(_ status: stat, _ journal: String, _ owner: uid_t?) -> Bool {
        let owner = owner ?? geteuid()
        let isOfRoot = geteuid() == 0 && status.st_uid == 0 && owner != 0
        // By its owner alone, another name of one of the user's own files looks like their journal.
        let isOfOthers = ![owner, geteuid(), 0].contains(status.st_uid) || status.st_nlink > 1
        return isOfRoot || isOfOthers && isInFolderOfAll(journal)
    }

    /// Whether a file's folder can be written by every user of the machine, such as `/tmp`.
    private static func isInFolderOfAll(_ path: String) -> Bool {
        var status = stat()
        return stat(DatabaseFile(path).folder, &status) == 0 && status.st_mode & S_IWOTH != 0
    }

    private func journal(_ suffix: String) -> Found<stat> {
        zip(DatabaseFile.journalSuffixes, journals).first { $0.0 == suffix }?.1 ?? .absent
    }

    /// Whether there is a write-ahead log or a rollback journal, even an empty one.
    ///
    /// - Throws: ``EncryptedDatabaseError`` if this can't be checked, as the next four do.
    var hasJournal: Bool {
        get throws {
            try hasJournalContent || isThere("-wal") || isThere("-journal")
        }
    }

    /// Whether there is a write-ahead log with content.
    package var hasLog: Bool { get throws { try journal("-wal").get() != nil } }

    /// Whether there is a rollback journal with content.
    var hasRollbackJournal: Bool { get throws { try journal("-journal").get() != nil } }

    /// Whether there is a write-ahead log or a rollback journal with content, which may hold a change
    /// to the database.
    var hasJournalContent: Bool { get throws { try hasLog || hasRollbackJournal } }

    /// The size of the file after SQLite has undone an unfinished change to an empty file; `nil` if
    /// there is no file.
    ///
    /// The journal of such a change has no pages, so any could lie beside the file. It counts only if the
    /// file can't be a database with rows: it has a single page, or its first page wasn't written yet.
    var recoveredSize: Int? {
        get throws {
            guard let size, size > 0, try hasRollbackJournal, try file.hasHotJournal,
                case .emptyFile = try Recovery(by: self)
            else { return size }
            return try file.isUnwritten(size: size) ? 0 : size
        }
    }

    /// Whether the file has content, after such a change is undone, or its log has some. If that can't
    /// be read, it counts, so that the file is never taken for a new one.
    package var hasContent: Bool {
        (try? recoveredSize ?? 0) != 0 || (try? checkHasDatabase()) == nil
    }

    /// Throws if there is no database, or an empty file, beside a log or a journal that holds changes to
    /// one. SQLite would delete that when it creates a database here.
    ///
    /// - Throws: ``EncryptedDatabaseError/otherJournal(path:journal:mismatch:isSound:)``; other
    ///   ``EncryptedDatabaseError`` if a journal can't be read.
    package func checkHasDatabase() throws {
        guard size ?? 0 == 0, try hasJournalContent, let suffix = try file.journalWithPages else {
            return
        }
        throw JournalOwnership.Finding(suffix: suffix, mismatch: .missingDatabase)
            .error(path: file.path, isSound: nil)
    }

    /// Whether SQLite can read the file without creating anything beside it. With a rollback
    /// journal there is no log, and with the log's shared memory SQLite joins the processes that
    /// use it.
    var isReadableBesideOthers: Bool {
        isThere("-journal") || isThere("-wal") && isThere("-shm")
    }

    private func isThere(_ suffix: String) -> Bool {
        switch journal(suffix) {
        case .empty, .content: true
        case .absent, .unreadable: false
        }
    }

    // MARK: - Access

    /// Throws if the operating system doesn't allow the access that is needed.
    package func checkAccess(forWriting: Bool) throws {
        guard try allows(file.absolutePath, R_OK) else {
            throw EncryptedDatabaseError.permissionDenied(path: file.path)
        }
        guard forWriting else { return }
        guard try allows(file.absolutePath, W_OK) else {
            throw EncryptedDatabaseError.readOnly(path: file.path)
        }
        guard try isFolderWritable else {
            throw EncryptedDatabaseError.readOnlyFolder(path: file.path)
        }
    }

    /// Whether SQLite can create its journals beside the file. Links are followed.
    ///
    /// - Throws: ``EncryptedDatabaseError/inputOutput(path:detail:)`` if this can't be checked.
    package var isFolderWritable: Bool {
        get throws {
            let folder =
                place.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(place[...$0]) } ?? "."
            return try allows(folder, W_OK | X_OK)
        }
    }

    /// Whether the file can be read but not written, or its folder can't be written: because of the
    /// modes or the medium.
    ///
    /// - Throws: ``EncryptedDatabaseError/inputOutput(path:detail:)`` if this can't be checked.
    var isUnwritable: Bool {
        get throws {
            do {
                try checkAccess(forWriting: true)
                return false
            } catch EncryptedDatabaseError.permissionDenied {
                return false
            } catch EncryptedDatabaseError.readOnly, EncryptedDatabaseError.readOnlyFolder {
                return true
            }
        }
    }

    private func allows(_ path: String, _ mode: Int32) throws -> Bool {
        // With the effective user, which the kernel checks when a file is opened.
        guard faccessat(AT_FDCWD, path, mode, AT_EACCESS) != 0 else { return true }
        switch errno {
        // These mean that the disk failed, not that access is denied.
        case EIO, EINTR, ENOMEM, EMFILE, ENFILE:
            throw EncryptedDatabaseError.unreadable(file.path, "access", errno)
        default: return false
        }
    }

    // MARK: - Checks

    /// As ``DatabaseFile/checkLog()``. Beside an empty file, SQLite removes the log: it belongs to
    /// another database.
    package func checkLog() throws {
        if size ?? 0 > 0, try hasLog { try file.checkLog() }
    }

    /// As ``DatabaseFile/checkJournal()``.
    func checkJournal() throws {
        if try hasRollbackJournal { try file.checkJournal() }
    }
}
