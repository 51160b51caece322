import CSQLCipher
import Foundation
import GRDB
import MigrationKitGRDB
import MigrationKitPages

/// What the journals beside a database hold, and whether SQLite may be let near them.
extension DatabaseFile {
    /// Whether a journal beside the file has content that belongs to it: committed changes in a
    /// log, or the original pages of an unfinished change.
    ///
    /// - Throws: ``EncryptedDatabaseError`` if a journal can't be read.
    var holdsCommits: Bool {
        get throws {
            let log = try RawFile.find(resolvedPath + "-wal").get().flatMap(
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
            let journal = try RawFile.find(resolvedPath + "-journal").get()
            return try journal.flatMap(RollbackJournal.header) != nil
        }
    }

    /// Whether a file that was new before its unfinished change has no rows yet: it has one page, or its
    /// first page wasn't written.
    ///
    /// - Parameter size: The file's size in bytes.
    /// - Throws: ``EncryptedDatabaseError`` if the file or its journal can't be read.
    func isUnwritten(size: Int) throws -> Bool {
        let journal = try RawFile.find(resolvedPath + "-journal").get()
        guard let journal = try journal.flatMap({ try RollbackJournal($0) }),
            size > journal.pageSize
        else {
            return true
        }
        do {
            let connection = try CipherConnection(immutable: absolutePath)
            return try connection.bytes(at: 0, count: CipherSettings.saltCount)
                .allSatisfy { $0 == 0 }
        } catch {
            throw FileInspection.cannotRead(self, error)
        }
    }

    /// The first page as a log or a journal has it, the log's newest one; `nil` if it has none.
    ///
    /// - Parameter suffix: `-wal` or `-journal`.
    /// - Throws: ``EncryptedDatabaseError`` if the file can't be read.
    func firstPage(inJournal suffix: String) throws -> [UInt8]? {
        guard let file = try RawFile.find(resolvedPath + suffix).get() else { return nil }
        return suffix == "-wal"
            ? try WriteAheadLog(file)?.firstPage(in: file)
            : try RollbackJournal(file)?.page(1, in: file)
    }

    /// The suffix of the log or journal that holds pages which SQLite would write into a database; `nil`
    /// if there is none.
    ///
    /// - Throws: ``EncryptedDatabaseError`` if one can't be read.
    package var journalWithPages: String? {
        get throws {
            let log = try RawFile.find(resolvedPath + "-wal").get().flatMap(WriteAheadLog.init)
            if try log?.committedFrameCount ?? 0 > 0 || lostCommits() != nil { return "-wal" }
            let journal = try RawFile.find(resolvedPath + "-journal").get()
            let pages = try journal.flatMap { try RollbackJournal($0) }?.pages ?? []
            return pages.isEmpty ? nil : "-journal"
        }
    }

    // MARK: - Checks

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
            // After a power cut, anything may be there: both numbers have 32 bits.
            let (originalSize, isImpossible) = Int(header.word(16))
                .multipliedReportingOverflow(by: Int(header.word(24)))
            // What a change cuts off is in the journal.
            return try isImpossible || originalSize > Int(status.st_size) + journal.size
                ? true : nil
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
            guard let journal = try RawFile.find(resolvedPath + "-journal").get() else {
                return nil
            }
            let name = try RollbackJournal.superJournal(of: journal)
            return name.map(RollbackJournal.isSuperJournal) == false ? true : nil
        }
        guard isForeign == nil else {
            throw EncryptedDatabaseError.foreignJournal(path: path + "-journal")
        }
    }

    /// The rollback journal of an unfinished change, and its header.
    private var hotJournal: (RawFile, header: [UInt8])? {
        get throws {
            guard let journal = try RawFile.find(resolvedPath + "-journal").get(),
                let header = try RollbackJournal.header(of: journal)
            else { return nil }
            return (journal, header)
        }
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
        let file = try RawFile.find(resolvedPath + "-wal").get()
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
    func confirmed<Finding>(_ look: () throws -> Finding?) throws -> Finding? {
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

    // MARK: - Recovery

    /// Lets SQLite finish what a killed program began, without a key: it undoes an unfinished
    /// change, or moves a write-ahead log into the file, page by page and without decrypting them.
    /// A connection without a key then finds that the first page isn't a database's, but by then
    /// that is done.
    ///
    /// - Throws: ``EncryptedDatabaseError`` if the log can't be read; a ``CipherCode``.
    func settleJournals() throws {
        try checkSuperJournal()
        let log = try RawFile.find(resolvedPath + "-wal").get()
        let pageSize = try log.flatMap(WriteAheadLog.init)?.pageSize
        let file = try KeylessConnection(absolutePath, isReadOnly: false)
        for sql in [
            "PRAGMA locking_mode = EXCLUSIVE",
            // A log is moved only by a connection that expects pages of the same size.
            pageSize.map { "PRAGMA page_size = \($0)" },
            "SELECT count(*) FROM sqlite_schema",
        ] {
            sqlite3_exec(file.connection, sql, nil, nil, nil)
        }
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
