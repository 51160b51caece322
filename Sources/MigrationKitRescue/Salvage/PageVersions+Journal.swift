import MigrationKitPages

extension PageVersions {
    private static let magic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]

    /// Reads a rollback journal: the pages as they were before an unfinished change, which SQLite
    /// would undo when it opens the database.
    ///
    /// <https://www.sqlite.org/fileformat.html#the_rollback_journal>
    ///
    /// - Parameter tick: Called with the number of bytes that were read.
    /// - Throws: `EncryptedDatabaseError` if the disk can't read all of it; what `tick` throws.
    init(journal: UntouchedFile, form: PageForm, tick: (Int) throws -> Void) throws {
        let recordSize = form.pageSize + 8
        var start = 0
        while let header = try journal.read(at: start, count: 28), header.starts(with: Self.magic) {
            let sector = Int(header.word(20))
            guard (32...65536).contains(sector), Int(header.word(24)) == form.pageSize else {
                return
            }
            if start == 0 { pageCount = Int(header.word(16)) }
            let nonce = header.word(12)
            let rest = (journal.size - start - sector) / recordSize
            let count = header.word(8) == .max ? rest : min(rest, Int(header.word(8)))
            for index in 0..<max(0, count) {
                try tick(recordSize)
                let offset = start + sector + index * recordSize
                guard let bytes = try journal.read(at: offset, count: recordSize) else { continue }
                let number = Int(bytes.word(0))
                let page = Array(bytes[4..<(4 + form.pageSize)])
                frameCount += 1
                let sum = stride(from: form.pageSize - 200, to: 0, by: -200)
                    .reduce(nonce) { $0 &+ UInt32(page[$1]) }
                let isIntact =
                    form.provesPages
                    ? form.isIntact(page, number: number)
                    : sum == bytes.word(4 + form.pageSize)
                // The first image of a page is the original one.
                if isIntact {
                    if offsets[number] == nil { offsets[number] = offset + 4 }
                } else {
                    older.insert(number)
                    damagedFrames.append(frameCount)
                }
            }
            start += sector + max(0, count) * recordSize
            start = (start + sector - 1) / sector * sector
        }
        older.subtract(offsets.keys)
    }
}
