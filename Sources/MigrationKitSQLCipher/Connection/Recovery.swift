import CSQLCipher
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
    package init(of file: DatabaseFile) throws {
        let journal = try UntouchedFile.find(file.resolvedPath + "-journal").get()
        if let journal, let found = try Self.undoing(journal) {
            self = found
            return
        }
        let log = try UntouchedFile.find(file.resolvedPath + "-wal").get()
        if let log, let page = try WriteAheadLog(log)?.firstPage(in: log) {
            self = .firstPage(page)
            return
        }
        self = .nothing
    }

    /// The first eight bytes of the rollback journal of an unfinished change.
    /// <https://www.sqlite.org/fileformat.html#the_rollback_journal>
    static let journalMagic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]

    /// - Returns: `nil` if the journal belongs to a finished change.
    private static func undoing(_ journal: UntouchedFile) throws -> Recovery? {
        // The journal of a transaction over several databases ends with another file's name, and is
        // ignored if that file is missing. This case is left to SQLite.
        let end = try journal.read(at: journal.size - 8, count: 8)
        guard journal.size < 512 || end != journalMagic else { return .nothing }
        var start = 0
        while let header = try journal.read(at: start, count: 28), header.starts(with: journalMagic)
        {
            if start == 0, header.word(16) == 0 { return .emptyFile }
            let (sector, pageSize) = (Int(header.word(20)), Int(header.word(24)))
            guard (32...65536).contains(sector), (512...65536).contains(pageSize) else { break }
            let recordSize = pageSize + 8
            let rest = max(0, journal.size - start - sector) / recordSize
            let count = header.word(8) == .max ? rest : min(rest, Int(header.word(8)))
            for index in 0..<count {
                let offset = start + sector + index * recordSize
                guard let record = try journal.read(at: offset, count: recordSize) else { break }
                let sum = stride(from: pageSize - 200, to: 0, by: -200)
                    .reduce(header.word(12)) { $0 &+ UInt32(record[4 + $1]) }
                // SQLite undoes nothing after this record.
                guard sum == record.word(4 + pageSize) else { return .nothing }
                if record.word(0) == 1 { return .firstPage(Array(record[4..<(4 + pageSize)])) }
            }
            start += sector + count * recordSize
            start = (start + sector - 1) / sector * sector
        }
        return start == 0 ? nil : .nothing
    }
}

extension DatabaseFile {
    /// Lets SQLite finish what a killed program began, without a key: it undoes an unfinished
    /// change, or moves a write-ahead log into the file, page by page and without decrypting them.
    /// A connection without a key then finds that the first page isn't a database's, but by then
    /// that is done.
    ///
    /// - Throws: ``EncryptedDatabaseError`` if the log can't be read; a ``CipherCode``.
    func settleJournals() throws {
        let log = try UntouchedFile.find(resolvedPath + "-wal").get()
        let pageSize = try log.flatMap(WriteAheadLog.init)?.pageSize
        let file = try UnreadFile(absolutePath, isReadOnly: false)
        for sql in [
            "PRAGMA locking_mode = EXCLUSIVE",
            // A log is moved only by a connection that expects pages of the same size.
            pageSize.map { "PRAGMA page_size = \($0)" },
            "SELECT count(*) FROM sqlite_schema",
        ] {
            sqlite3_exec(file.connection, sql, nil, nil, nil)
        }
    }

    /// The size of the file after SQLite has undone an unfinished change to an empty file; `nil` if
    /// there is no file.
    ///
    /// - Throws: An ``EncryptedDatabaseError`` if what is there can't be a database, or a journal
    ///   can't be read.
    func recoveredSize() throws -> Int? {
        guard let size = try size(), size > 0, try hasHotJournal,
            case .emptyFile = try Recovery(of: self)
        else { return try self.size() }
        return 0
    }
}
