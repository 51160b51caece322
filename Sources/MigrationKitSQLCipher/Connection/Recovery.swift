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

    /// The first eight bytes of the rollback journal of an unfinished change.
    /// <https://www.sqlite.org/fileformat.html#the_rollback_journal>
    static let journalMagic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]

    /// - Returns: `nil` if the journal belongs to a finished change.
    private static func undoing(_ journal: RawFile) throws -> Recovery? {
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
