import Foundation
import GRDB
import Glibc
import MigrationKitCommon
import MigrationKitGRDB
import MigrationKitPages

/// A database's file as the operating system sees it. This type opens it only to create it.
package struct DatabaseFile {
    package static let journalSuffixes = NewFiles.journalSuffixes

    /// The path as the caller gave it, for messages.
    package let path: String

    /// The path that SQLite gets: absolute, so that `:memory:` and `file:x` are names of files.
    package let absolutePath: String

    package init(_ path: String) {
        self.path = path
        // Not normalized: `..` behind a link would then mean another folder.
        absolutePath =
            path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    }

    /// The path of the folder that it is in.
    var folder: String { URL(fileURLWithPath: absolutePath).deletingLastPathComponent().path }

    /// Whether both are in the same folder, even under different paths.
    func isBeside(_ other: DatabaseFile) throws -> Bool {
        let folders = try [self, other].map { try FileIdentity.of($0.folder) }
        guard let own = folders[0], let others = folders[1] else { return false }
        return own.isSameFile(as: others)
    }

    /// Whether the path can name a file.
    package var isNamed: Bool { !path.isEmpty && !path.utf8.contains(0) }

    /// Looks at what is at the path and beside it.
    ///
    /// - Throws: An ``EncryptedDatabaseError`` if what is there can't be a database or its journal.
    package func look() throws -> FileLook {
        try FileLook(self)
    }

    /// The file's size in bytes; `nil` if there is no file.
    ///
    /// - Throws: As ``look()``.
    package func size() throws -> Int? { try look().size }

    /// The file with its links resolved once, so that a link that changes later has no effect.
    ///
    /// - Throws: `EncryptedDatabaseError.noSuchFile` if there is none; as ``look()`` does.
    package func resolved() throws -> DatabaseFile {
        guard try size() != nil else { throw EncryptedDatabaseError.noSuchFile(path: path) }
        return DatabaseFile(resolvedPath)
    }

    /// Creates the file, empty, readable and writable only by its owner.
    ///
    /// - Returns: `false` if somebody else has created it meanwhile.
    package func create() throws -> Bool {
        guard isNamed else {
            throw EncryptedDatabaseError.cannotCreate(path: path, reason: "not a file name")
        }
        try ReservedNameError.check(path)
        try FileLook.checkJournals(at: resolvedPath)
        let flags = O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC
        let descriptor = open(absolutePath, flags, 0o600)
        guard descriptor >= 0 else {
            let code = errno
            if code == EEXIST, try size() != nil { return false }
            throw cannotCreate(code)
        }
        defer { close(descriptor) }
        // The umask may have removed bits that the owner needs.
        guard fchmod(descriptor, 0o600) == 0 else {
            let reason = systemReason(errno)
            unlink(absolutePath)
            throw EncryptedDatabaseError.cannotCreate(path: path, reason: reason)
        }
        return true
    }

    /// Throws if the path is a link to a missing file, perhaps on a disk that isn't mounted.
    func checkLink() throws {
        var status = stat()
        guard try size() == nil, lstat(absolutePath, &status) == 0 else { return }
        throw cannotCreate(EEXIST)
    }

    /// The error if the operating system refuses to create the file, with its errno.
    package func cannotCreate(_ code: Int32) -> EncryptedDatabaseError {
        .cannotCreate(path: path, reason: Self.creationReason(code))
    }

    /// Removes a file that was created, unless something was written to it.
    func removeIfEmpty() {
        var status = stat()
        guard lstat(absolutePath, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_size == 0
        else { return }
        unlink(absolutePath)
    }

    /// The absolute path without links. If the file doesn't exist, only its folders' links are
    /// resolved.
    package var resolvedPath: String { realPath(absolutePath) ?? absolutePath }

    private static func creationReason(_ code: Int32) -> String {
        switch code {
        case ENOENT, ENOTDIR: "its folder does not exist"
        case EEXIST: "it is a link to a file that does not exist"
        default: systemReason(code)
        }
    }
}

// MARK: - Look

/// What is at a database's path and beside it, at one moment.
///
/// Whoever opens the file decides by one look. Another one explains a failure, since other programs may
/// have changed something meanwhile.
package struct FileLook {
    package let file: DatabaseFile

    /// The file's size in bytes; `nil` if there is no file.
    package let size: Int?

    /// Where the file is if its name is a link: SQLite puts its journals there.
    private let place: String

    /// In the order of `journalSuffixes`.
    private let journals: [Found<stat>]

    fileprivate init(_ file: DatabaseFile) throws {
        self.file = file
        guard file.isNamed else {
            (size, place, journals) = (nil, file.path, [])
            return
        }
        var status = stat()
        var isThere = lstat(file.absolutePath, &status) == 0
        if isThere, status.st_mode & S_IFMT == S_IFLNK {
            isThere = stat(file.absolutePath, &status) == 0
            let code = errno
            place = file.resolvedPath
            errno = code
        } else {
            place = file.absolutePath
        }
        guard isThere else {
            switch errno {
            case ENOENT, ENOTDIR: size = nil
            case EACCES: throw EncryptedDatabaseError.permissionDenied(path: file.path)
            case let code:
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
    fileprivate static func checkJournals(
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
    var recoveredSize: Int? {
        get throws {
            guard let size, size > 0, try hasRollbackJournal, try file.hasHotJournal,
                case .emptyFile = try Recovery(by: self)
            else { return size }
            return 0
        }
    }

    /// Whether the file has content, after such a change is undone. If that can't be read, it counts, so
    /// that the file is never taken for a new one.
    package var hasContent: Bool { (try? recoveredSize ?? 0) != 0 }

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

// MARK: - Write-Ahead Log

extension DatabaseFile {
    /// The file's status; all zero if there is no file.
    ///
    /// - Throws: ``EncryptedDatabaseError`` if the system can't report it, as the next two do.
    package var status: stat {
        get throws { try Self.status(absolutePath) }
    }

    private static func status(_ path: String) throws -> stat {
        var status = stat()
        guard stat(path, &status) != 0 else { return status }
        _ = try Found<Void>(failing: "stat", on: path, errno).get()
        return stat()
    }

    /// Changes when another program writes the file or its log.
    package var stamp: [Int] {
        get throws { try stampOfFile + Self.stamp(resolvedPath + "-wal") }
    }

    /// Changes when another program writes the file itself.
    var stampOfFile: [Int] {
        get throws { try Self.stamp(absolutePath) }
    }

    private static func stamp(_ path: String) throws -> [Int] {
        let status = try status(path)
        return [
            Int(status.st_ino), Int(status.st_size),
            status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
        ]
    }

    /// Throws if the write-ahead log holds commits that SQLite doesn't see because a frame is
    /// damaged. Opening the database for writing would lose them. This needs no key and reads only
    /// the log.
    ///
    /// - Throws: ``EncryptedDatabaseError/damagedLog(path:frame:)``; other
    ///   ``EncryptedDatabaseError`` if the log can't be read.
    package func checkLog() throws {
        if let frame = try confirmed({ try lostCommits()?.frame }) {
            throw EncryptedDatabaseError.damagedLog(path: path, frame: frame)
        }
    }

    /// Throws if the rollback journal of an unfinished change can't be read, since SQLite ignores one
    /// that it can't check; or if it counts on more pages than there are. The database's original size
    /// is in its header, and SQLite would make the file that long again, with zeros.
    /// <https://www.sqlite.org/fileformat.html#the_rollback_journal>
    ///
    /// - Throws: ``EncryptedDatabaseError/damaged(path:pages:)``; what ``checkSuperJournal()`` throws;
    ///   other ``EncryptedDatabaseError`` if the journal can't be read.
    func checkJournal() throws {
        try checkSuperJournal()
        let isTooLong = try confirmed { () -> Bool? in
            guard let (journal, header) = try hotJournal else { return nil }
            let originalSize = Int(header.word(16)) * Int(header.word(24))
            // What a change cuts off is in the journal.
            return try originalSize > Int(status.st_size) + journal.size ? true : nil
        }
        guard isTooLong == nil else {
            throw EncryptedDatabaseError.damaged(path: path, pages: [])
        }
    }

    /// Throws if the rollback journal ends with the name of a file that is no super-journal. SQLite
    /// would delete that file.
    ///
    /// - Throws: ``EncryptedDatabaseError/foreignJournal(path:)``; other ``EncryptedDatabaseError``
    ///   if the journal can't be read.
    func checkSuperJournal() throws {
        // SQLite reads the name whatever the journal begins with.
        let isForeign = try confirmed { () -> Bool? in
            guard let journal = try UntouchedFile.find(resolvedPath + "-journal").get() else {
                return nil
            }
            return try Self.superJournal(of: journal).map(Self.isSuperJournal) == false ? true : nil
        }
        guard isForeign == nil else {
            throw EncryptedDatabaseError.foreignJournal(path: path + "-journal")
        }
    }

    /// The rollback journal of an unfinished change, and its header.
    private var hotJournal: (UntouchedFile, header: [UInt8])? {
        get throws {
            guard let journal = try UntouchedFile.find(resolvedPath + "-journal").get(),
                let header = try journal.read(at: 0, count: 28),
                header.starts(with: Recovery.journalMagic)
            else { return nil }
            return (journal, header)
        }
    }

    /// The name with which the journal of a transaction over several databases ends.
    /// <https://www.sqlite.org/atomiccommit.html#_super_journal_file>
    private static func superJournal(of journal: UntouchedFile) throws -> [UInt8]? {
        guard let end = try journal.read(at: journal.size - 16, count: 16),
            end.suffix(8) == Recovery.journalMagic[...]
        else { return nil }
        let count = Int(end.word(0))
        return try journal.read(at: journal.size - 16 - count, count: count)
    }

    /// Whether SQLite gives this name to super-journals: `-mj`, six digits, a 9, and two digits. It
    /// reads it to the first zero.
    private static func isSuperJournal(_ name: [UInt8]) -> Bool {
        !name.contains(0)
            && String(decoding: name.suffix(12), as: UTF8.self)
                .wholeMatch(of: /-mj[0-9A-F]{6}9[0-9A-F]{2}/) != nil
    }

    /// Throws if the file lacks pages that the write-ahead log counts on. Moving the log into such a
    /// file repairs nothing, and would fill the gap with zeros.
    ///
    /// - Throws: ``EncryptedDatabaseError/damaged(path:pages:)``; other ``EncryptedDatabaseError``
    ///   if the log can't be read.
    func checkLength() throws {
        guard try confirmed({ try missingPage() }) == nil else {
            throw EncryptedDatabaseError.damaged(path: path, pages: [])
        }
    }

    /// The first page that is neither in the file nor in the log; `nil` if there is none.
    private func missingPage() throws -> Int? {
        let file = try UntouchedFile.find(resolvedPath + "-wal").get()
        guard let log = try file.flatMap(WriteAheadLog.init), log.databaseSize > 0 else {
            return nil
        }
        let pageCount = try Int(status.st_size) / log.pageSize
        guard pageCount < log.databaseSize else { return nil }
        return (pageCount + 1...log.databaseSize).first {
            log.committedPages[$0] == nil && $0 != DatabaseHeader.lockPage(pageSize: log.pageSize)
        }
    }

    /// Looks again if something is wrong and the files change: what looks damaged may be another
    /// program's unfinished write.
    private func confirmed<Finding>(_ look: () throws -> Finding?) throws -> Finding? {
        var stamp = try stamp
        for _ in 1...2 {
            guard let finding = try look() else { return nil }
            let current = try self.stamp
            guard current != stamp else { return finding }
            stamp = current
        }
        return try look()
    }

    /// The first frame from which on SQLite sees no commits, and how many commits it misses; `nil`
    /// if the log isn't damaged.
    fileprivate func lostCommits() throws -> (frame: Int, commitCount: Int?)? {
        let (log, isUnknown) = try WriteAheadLog.settled(path: resolvedPath + "-wal")
        guard let frame = log?.damagedFrame ?? (isUnknown ? 1 : nil) else { return nil }
        return (frame, log?.lostCommitCount)
    }
}

extension EncryptedDatabase {
    /// Throws if a database's write-ahead log holds commits that SQLite doesn't see because a frame
    /// before them is damaged. Opening such a database loses nothing, but the first write to it
    /// overwrites them.
    ///
    /// A transaction that was cut short by a power cut doesn't count. The check needs no key, reads
    /// only the log, and changes nothing. Without a file or a log, it does nothing.
    ///
    /// - Parameter path: The database. Links are followed.
    /// - Throws: ``EncryptedDatabaseError/damagedLog(path:frame:)``; other
    ///   ``EncryptedDatabaseError`` if the log can't be read.
    public static func checkLog(_ path: String) throws {
        try DatabaseFile(path).look().checkLog()
    }

    /// Cuts a damaged write-ahead log where SQLite stops reading it. Commits before that place are
    /// moved into the database, and those after it are lost.
    ///
    /// The next program that writes the database would do the same. A power cut leaves such a log
    /// if a program writes with `PRAGMA synchronous = NORMAL`, and those commits are lost in any
    /// case. <https://www.sqlite.org/pragma.html#pragma_synchronous>
    ///
    /// - Parameter writer: The database. It is open, so its key is right.
    /// - Returns: The first lost frame of the log, counted from 1, and the number of lost commits,
    ///   which is `nil` if the log doesn't say. The whole is `nil` if the log isn't damaged;
    ///   nothing is changed then.
    /// - Throws: ``EncryptedDatabaseError/locked(path:)`` if another program uses the database;
    ///   other ``EncryptedDatabaseError`` if the log can't be read.
    public static func dropLostCommits(
        in writer: any DatabaseWriter
    ) throws -> (frame: Int, commitCount: Int?)? {
        guard let path = try writer.unsafeRead({ $0.filePath }) else { return nil }
        let file = DatabaseFile(path)
        guard let lost = try file.lostCommits() else { return nil }
        try writer.writeWithoutTransaction { db in
            // <https://www.sqlite.org/pragma.html#pragma_wal_checkpoint>
            let row = try Row.fetchOne(db, sql: "PRAGMA main.wal_checkpoint(TRUNCATE)")
            guard row?[0] == 0 else { throw EncryptedDatabaseError.locked(path: path) }
            // Off until here, so that the log was kept.
            db.setCheckpointOnClose(true)
        }
        guard try file.lostCommits() == nil else {
            throw EncryptedDatabaseError.locked(path: path)
        }
        return lost
    }
}

extension DatabaseFile {
    /// Whether a journal beside the file has content that belongs to it: committed changes in a
    /// log, or the original pages of an unfinished change.
    ///
    /// - Throws: ``EncryptedDatabaseError`` if a journal can't be read.
    var holdsCommits: Bool {
        get throws {
            let log = try UntouchedFile.find(resolvedPath + "-wal").get().flatMap(
                WriteAheadLog.init
            )
            return try hasHotJournal || (log?.committedFrameCount ?? 0) > 0
        }
    }

    /// Whether a change to the file was begun and not finished.
    ///
    /// When a change is finished, SQLite removes the journal, truncates it, or overwrites its
    /// beginning. <https://www.sqlite.org/fileformat.html#the_rollback_journal>
    ///
    /// - Throws: ``EncryptedDatabaseError`` if the journal can't be read.
    package var hasHotJournal: Bool {
        get throws {
            let journal = try UntouchedFile.find(resolvedPath + "-journal").get()
            return try journal?.read(at: 0, count: 8) == Recovery.journalMagic
        }
    }
}
