/// The rollback journal of an unfinished change: the pages as they were before it.
/// <https://www.sqlite.org/fileformat.html#the_rollback_journal>
package struct RollbackJournal {
    /// The first eight bytes. When a change is finished, SQLite removes the journal, truncates it, or
    /// overwrites them.
    package static let magic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]

    /// The size of a page in bytes.
    package let pageSize: Int

    /// The size of the database in pages before the change. 0 if the file was new.
    package let originalPageCount: Int

    /// The pages that SQLite would write back, each with the offset of its bytes.
    package private(set) var offsets = PageNumbers()

    /// The pages in ``offsets``, in the journal's order.
    package private(set) var pages: [Int] = []

    /// Whether a record that should be there isn't intact. SQLite writes back only those before it.
    package private(set) var isCutShort = false

    /// The header, if a file begins with one.
    package static func header(of file: RawFile) throws(EncryptedDatabaseError) -> [UInt8]? {
        guard let header = try file.read(at: 0, count: 28), header.starts(with: magic) else {
            return nil
        }
        return header
    }

    /// Reads a journal once. It has no locks, so it may be opened directly.
    ///
    /// - Returns: `nil` if it belongs to a finished change.
    package init?(_ file: RawFile) throws(EncryptedDatabaseError) {
        guard let first = try Self.header(of: file) else { return nil }
        originalPageCount = Int(first.word(16))
        pageSize = Int(first.word(24))
        var start = 0
        while let header = try file.read(at: start, count: 28), header.starts(with: Self.magic) {
            let sector = Int(header.word(20))
            guard (32...65536).contains(sector), (512...65536).contains(pageSize),
                Int(header.word(24)) == pageSize
            else { return }
            let recordSize = pageSize + 8
            let rest = max(0, file.size - start - sector) / recordSize
            // A program that doesn't synchronize its journal doesn't count the records.
            let count = header.word(8) == .max ? rest : min(rest, Int(header.word(8)))
            for index in 0..<count {
                let offset = start + sector + index * recordSize
                guard let record = try file.read(at: offset, count: recordSize) else { return }
                let sum = stride(from: pageSize - 200, to: 0, by: -200)
                    .reduce(header.word(12)) { $0 &+ UInt32(record[4 + $1]) }
                guard sum == record.word(4 + pageSize) else {
                    isCutShort = true
                    return
                }
                let number = Int(record.word(0))
                // The first image of a page is the original one.
                guard number > 0, offsets[number] == nil else { continue }
                offsets[number] = offset + 4
                pages.append(number)
            }
            start += sector + count * recordSize
            start = (start + sector - 1) / sector * sector
        }
    }

    /// A page before the change; `nil` if the journal doesn't have it.
    package func page(_ number: Int, in file: RawFile) throws(EncryptedDatabaseError) -> [UInt8]? {
        guard let offset = offsets[number] else { return nil }
        return try file.read(at: offset, count: pageSize)
    }
}

extension SharedBytes {
    /// A database's bytes as they are after its unfinished change is undone.
    package convenience init(
        undoing journal: RollbackJournal,
        in file: RawFile,
        of database: SharedBytes
    ) {
        let offsets = journal.offsets
        self.init(pages: journal.originalPageCount, of: journal.pageSize, in: file, over: database)
        {
            offsets[$0]
        }
    }

    /// A database's bytes as they are after the commits in its log are written into it.
    package convenience init(
        replaying log: WriteAheadLog,
        in file: RawFile,
        over database: SharedBytes
    ) {
        self.init(pages: log.databaseSize, of: log.pageSize, in: file, over: database) {
            log.committedPages[$0].map(log.offset(ofFrame:))
        }
    }

    /// - Parameter place: Where a page is in the other file; `nil` if that doesn't have it.
    private convenience init(
        pages count: Int,
        of pageSize: Int,
        in file: RawFile,
        over database: SharedBytes,
        place: @escaping @Sendable (_ number: Int) -> Int?
    ) {
        self.init(count: count * pageSize) { buffer, offset in
            let code = database.readPart(into: buffer, at: offset)
            guard code == .ok || code.rawValue == CipherCode.shortRead else { return code }
            let numbers = offset / pageSize + 1...(offset + max(1, buffer.count) - 1) / pageSize + 1
            for number in numbers {
                guard let place = place(number) else { continue }
                guard let page = try? file.read(at: place, count: pageSize) else {
                    return CipherCode(CipherCode.failedRead)
                }
                let start = (number - 1) * pageSize
                let part = max(start, offset)..<min(start + pageSize, offset + buffer.count)
                let target = UnsafeMutableRawBufferPointer(
                    rebasing: buffer[part.lowerBound - offset..<part.upperBound - offset]
                )
                target.copyBytes(from: page[part.lowerBound - start..<part.upperBound - start])
            }
            return .ok
        }
    }

    /// The first of a database's bytes.
    package func prefix(_ count: Int) -> SharedBytes {
        SharedBytes(count: min(count, self.count)) { self.readPart(into: $0, at: $1) }
    }
}
