import Foundation
import MigrationKitCommon

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

    /// Whether a record isn't there that its header counts, or isn't intact. SQLite writes back only those
    /// before it.
    package private(set) var isDamaged = false

    /// Whether all records are counted. A program that doesn't synchronize its journal doesn't: how many
    /// there were can't be told then.
    package private(set) var isCounted = true

    /// The header, if a file begins with one, and its change isn't finished.
    package static func header(of file: RawFile) throws(EncryptedDatabaseError) -> [UInt8]? {
        guard let header = try anyHeader(of: file), try joining(of: file) != .committed else {
            return nil
        }
        return header
    }

    private static func anyHeader(of file: RawFile) throws(EncryptedDatabaseError) -> [UInt8]? {
        guard let header = try file.read(at: 0, count: 28), header.starts(with: magic) else {
            return nil
        }
        return header
    }

    // MARK: - Several Databases

    /// What joins a journal to those of other databases in one transaction: a super-journal, with whose name
    /// it ends. The transaction is committed when SQLite removes that file.
    /// <https://www.sqlite.org/atomiccommit.html#_super_journal_file>
    package enum Joining {
        /// The transaction is about one database.
        case none
        /// The super-journal is there.
        case unfinished
        case committed
        /// The super-journal isn't at its place, but it, or its whole folder, has been moved. SQLite would
        /// take the transaction for a committed one.
        case moved
    }

    package static func joining(of file: RawFile) throws(EncryptedDatabaseError) -> Joining {
        guard let name = try superJournal(of: file), isSuperJournal(name) else { return .none }
        let path = String(decoding: name, as: UTF8.self)
        // Without a file, or with an empty one, SQLite takes the transaction for committed.
        func isThere(_ path: String) -> Bool {
            var status = stat()
            return stat(path, &status) == 0 && status.st_size > 0
        }
        if isThere(path) { return .unfinished }
        let (folder, base) = path.splitAtLastSlash
        return isThere(folder) && !isThere("\(file.path.splitAtLastSlash.folder)/\(base)")
            ? .committed : .moved
    }

    /// The name of the super-journal with which a journal ends.
    package static func superJournal(
        of file: RawFile
    ) throws(EncryptedDatabaseError) -> [UInt8]? {
        guard let end = try file.read(at: file.size - 16, count: 16), end.suffix(8) == magic[...]
        else { return nil }
        let count = Int(end.word(0))
        return try file.read(at: file.size - 16 - count, count: count)
    }

    /// Whether SQLite gives this name to super-journals: `-mj`, six digits, a 9, and two digits. It
    /// reads it to the first zero.
    package static func isSuperJournal(_ name: [UInt8]) -> Bool {
        !name.contains(0)
            && String(decoding: name.suffix(12), as: UTF8.self)
                .wholeMatch(of: /-mj[0-9A-F]{6}9[0-9A-F]{2}/) != nil
    }

    // MARK: - Pages

    /// Reads a journal once. It has no locks, so it may be opened directly.
    ///
    /// - Returns: `nil` if it belongs to a finished change.
    package init?(_ file: RawFile) throws(EncryptedDatabaseError) {
        guard let header = try Self.header(of: file) else { return nil }
        try self.init(file, header)
    }

    /// Reads a journal whatever ``joining(of:)`` says: if its super-journal is gone, SQLite takes its change
    /// for a finished one.
    package init?(evenIfCommitted file: RawFile) throws(EncryptedDatabaseError) {
        guard let header = try Self.anyHeader(of: file) else { return nil }
        try self.init(file, header)
    }

    private init(_ file: RawFile, _ first: [UInt8]) throws(EncryptedDatabaseError) {
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
            isCounted = header.word(8) != .max
            let count = isCounted ? min(rest, Int(header.word(8))) : rest
            if isCounted, Int(header.word(8)) > rest { isDamaged = true }
            var isAtEnd = false
            for index in 0..<count {
                let offset = start + sector + index * recordSize
                guard let record = try file.read(at: offset, count: recordSize) else { return }
                let number = Int(record.word(0))
                let isIntact = number > 0 && Self.hasSum(record, nonce: header.word(12))
                // After the last record of those that aren't counted, there may be older changes', which have
                // another nonce.
                if isAtEnd ? isIntact : isCounted && !isIntact {
                    isDamaged = true
                    return
                }
                isAtEnd = isAtEnd || !isIntact
                guard !isAtEnd else { continue }
                // The first image of a page is the original one.
                guard offsets[number] == nil else { continue }
                offsets[number] = offset + 4
                pages.append(number)
            }
            guard !isAtEnd else { return }
            start += sector + count * recordSize
            start = (start + sector - 1) / sector * sector
        }
    }

    /// Whether the sum of a record is right: of a page's number, the page, and its sum.
    ///
    /// - Parameter nonce: That of the header before it.
    package static func hasSum(_ record: [UInt8], nonce: UInt32) -> Bool {
        let pageSize = record.count - 8
        let sum = stride(from: pageSize - 200, to: 0, by: -200)
            .reduce(nonce) { $0 &+ UInt32(record[4 + $1]) }
        return sum == record.word(4 + pageSize)
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
