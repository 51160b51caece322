import MigrationKitPages

/// The versions of pages in a journal beside a database. They take precedence over those in the
/// file.
struct PageVersions {
    /// The offset of the newest intact version, by page number.
    var offsets = PageNumbers()

    /// The pages whose newest version is damaged. An older version, from an earlier frame or from
    /// the file, is used: most of its rows are unchanged, but some may have been changed, moved or
    /// deleted since.
    var older: Set<Int> = []

    /// How many pages the database has after the last transaction.
    var pageCount: Int?

    /// The number of frames, or page images, that count, and the damaged ones among them, counted
    /// from 1.
    var frameCount = 0
    var damagedFrames: [Int] = []

    /// The offsets of a log's versions of the first page, also of damaged ones.
    var firstPages: [Int] = []
}

extension PageVersions {
    /// Reads a rollback journal: the pages as they were before an unfinished change, which SQLite
    /// would undo when it opens the database.
    ///
    /// <https://www.sqlite.org/fileformat.html#the_rollback_journal>
    ///
    /// - Parameter tick: Called with the number of bytes that were read.
    /// - Throws: `EncryptedDatabaseError` if the disk can't read all of it; what `tick` throws.
    init(journal: RawFile, form: PageForm, tick: (Int) throws -> Void) throws {
        let recordSize = form.pageSize + 8
        var start = 0
        while let header = try journal.read(at: start, count: 28),
            header.starts(with: RollbackJournal.magic)
        {
            let sector = Int(header.word(20))
            guard (32...65536).contains(sector), Int(header.word(24)) == form.pageSize else {
                return
            }
            if start == 0 { pageCount = Int(header.word(16)) }
            let nonce = header.word(12)
            let rest = max(0, (journal.size - start - sector) / recordSize)
            func record(_ index: Int) throws -> (bytes: [UInt8], hasSum: Bool)? {
                try tick(recordSize)
                let offset = start + sector + index * recordSize
                guard let bytes = try journal.read(at: offset, count: recordSize) else {
                    return nil
                }
                return (bytes, RollbackJournal.hasSum(bytes, nonce: nonce))
            }
            var count = min(rest, Int(header.word(8)))
            if header.word(8) == .max {
                // A program that doesn't synchronize its journal doesn't count the records. After the last
                // of this change, there may be those of older ones, which have another nonce.
                count = try (0..<rest).last { try record($0)?.hasSum == true }.map { $0 + 1 } ?? 0
            }
            for index in 0..<count {
                guard let (bytes, hasSum) = try record(index) else { continue }
                let offset = start + sector + index * recordSize
                let number = Int(bytes.word(0))
                let page = Array(bytes[4..<(4 + form.pageSize)])
                frameCount += 1
                let isIntact = form.provesPages ? form.isIntact(page, number: number) : hasSum
                // The first image of a page is the original one.
                if isIntact {
                    if offsets[number] == nil { offsets[number] = offset + 4 }
                } else {
                    older.insert(number)
                    damagedFrames.append(frameCount)
                }
            }
            if header.word(8) != .max, count < Int(header.word(8)) {
                damagedFrames.append(frameCount + 1)
            }
            start += sector + count * recordSize
            start = (start + sector - 1) / sector * sector
        }
        older = older.filter { offsets[$0] == nil }
    }
}

extension PageVersions {
    private static let headerCount = 32
    private static let frameHeaderCount = 24

    /// Reads a write-ahead log, including frames after damaged ones.
    ///
    /// SQLite itself reads no frame after the first wrong checksum, since the checksums form a
    /// chain. But each frame contains its checksum, so the chain can be resumed after a damaged
    /// frame. In an encrypted page, the HMAC alone proves the content and the page's number. Frames
    /// after the last finished transaction don't count, nor do frames of an earlier use of the
    /// file, which have other salts. If a damaged frame says that it ends a transaction, that is
    /// believed: one wrong bit among 4096 bytes is unlikely to be in that field.
    ///
    /// <https://www.sqlite.org/fileformat.html#the_write_ahead_log>
    ///
    /// - Parameters:
    ///   - untilDamage: Whether the frames after a damaged one are left out, as by SQLite.
    ///   - tick: Called with the number of bytes that were read.
    /// - Throws: `EncryptedDatabaseError` if the disk can't read all of it; what `tick` throws.
    init(
        log: RawFile,
        form: PageForm,
        untilDamage: Bool = false,
        tick: (Int) throws -> Void
    ) throws {
        guard let header = try log.read(at: 0, count: Self.headerCount) else { return }
        let frameSize = Self.frameHeaderCount + form.pageSize
        // The header may be damaged. The first frame also contains the salts.
        let isHeaderIntact = [false, true].contains { isBigEndian in
            LogSum(header[0..<24], after: nil, isBigEndian: isBigEndian)
                == LogSum(header, at: 24)
        }
        if isHeaderIntact, Int(header.word(8)) != form.pageSize { return }
        let isBigEndian = isHeaderIntact && header.word(0) & 1 == 1
        var salts = Array(header[16..<24])
        if !isHeaderIntact {
            damagedFrames.append(0)
            let first = try log.read(at: Self.headerCount, count: Self.frameHeaderCount)
            guard let first else { return }
            salts = Array(first[8..<16])
        }

        var last: LogSum? = isHeaderIntact ? LogSum(header, at: 24) : nil
        // The frames of a former use follow each other, too.
        var continuesThisUse = true
        // Frames that aren't authentic although their checksum is right, by page, as long as no later one
        // replaces them: those have the key before a change of the key.
        var foreign: [Int: [Int]] = [:]
        var pending: [(frame: UInt32, page: UInt32, isIntact: Bool, hasSum: Bool)] = []
        let count = (log.size - Self.headerCount) / frameSize
        for frame in 0..<max(0, count) {
            try tick(frameSize)
            let offset = Self.headerCount + frame * frameSize
            guard let bytes = try log.read(at: offset, count: frameSize) else {
                last = nil
                continue
            }
            let sum = LogSum(bytes, at: 16)
            let continuesChain = [isBigEndian, !isBigEndian].contains { isBigEndian in
                last.map {
                    LogSum(
                        bytes[Self.frameHeaderCount...],
                        after: LogSum(bytes[0..<8], after: $0, isBigEndian: isBigEndian),
                        isBigEndian: isBigEndian
                    ) == sum
                } ?? false
            }
            last = sum
            let isOfThisUse = Array(bytes[8..<16]) == salts
            continuesThisUse = isOfThisUse || continuesChain && continuesThisUse
            if untilDamage, !isOfThisUse || !continuesChain { break }
            guard continuesThisUse else { continue }
            let page = Array(bytes[Self.frameHeaderCount...])
            var number = Int(bytes.word(0))
            var isIntact = form.isIntact(page, number: number)
            if form.provesPages, !isIntact, let right = Self.number(near: number, of: page, form) {
                (number, isIntact) = (right, true)
            }
            // For a plaintext page, there is only the checksum.
            if !form.provesPages { isIntact = continuesChain }
            pending.append((UInt32(frame), UInt32(number), isIntact, continuesChain))
            let size = Int(bytes.word(4))
            // The last frame of a transaction has the database's size.
            guard size > 0 else { continue }
            for (frame, page, isIntact, hasSum) in pending.lazy.map({ (Int($0), Int($1), $2, $3) })
            {
                frameCount += 1
                let offset = Self.headerCount + frame * frameSize + Self.frameHeaderCount
                if page == 1 { firstPages.append(offset) }
                if isIntact {
                    offsets[page] = offset
                    older.remove(page)
                    foreign[page] = nil
                } else {
                    older.insert(page)
                    if hasSum {
                        foreign[page, default: []].append(frame + 1)
                    } else {
                        damagedFrames.append(frame + 1)
                    }
                }
            }
            pending = []
            // A damaged size would hide pages.
            if isIntact, continuesChain || pageCount == nil { pageCount = size }
        }
        damagedFrames = (damagedFrames + foreign.values.joined()).sorted()
    }

    /// The frame's original page number, if one bit of it was flipped.
    private static func number(near number: Int, of page: [UInt8], _ form: PageForm) -> Int? {
        (0..<32).map { number ^ 1 << $0 }.first { $0 > 0 && form.isIntact(page, number: $0) }
    }
}

/// <https://www.sqlite.org/fileformat.html#checksum_algorithm>
private struct LogSum: Equatable {
    private var first: UInt32 = 0
    private var second: UInt32 = 0

    init(_ bytes: [UInt8], at offset: Int) {
        (first, second) = (bytes.word(offset), bytes.word(offset + 4))
    }

    init(_ bytes: ArraySlice<UInt8>, after sum: LogSum?, isBigEndian: Bool) {
        if let sum { self = sum }
        bytes.withUnsafeBytes { buffer in
            for offset in stride(from: 0, to: buffer.count - 7, by: 8) {
                let one = buffer.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
                let two = buffer.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
                first &+= (isBigEndian ? one.bigEndian : one.littleEndian) &+ second
                second &+= (isBigEndian ? two.bigEndian : two.littleEndian) &+ first
            }
        }
    }
}
