import MigrationKitPages

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
    /// - Parameter tick: Called with the number of bytes that were read.
    /// - Throws: `EncryptedDatabaseError` if the disk can't read all of it; what `tick` throws.
    init(log: UntouchedFile, form: PageForm, tick: (Int) throws -> Void) throws {
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
        var pending: [(frame: Int, page: Int, isIntact: Bool)] = []
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
            guard isOfThisUse || continuesChain else { continue }
            let page = Array(bytes[Self.frameHeaderCount...])
            var number = Int(bytes.word(0))
            var isIntact = form.isIntact(page, number: number)
            if form.provesPages, !isIntact, let right = Self.number(near: number, of: page, form) {
                (number, isIntact) = (right, true)
            }
            // For a plaintext page, there is only the checksum.
            if !form.provesPages { isIntact = continuesChain }
            pending.append((frame, number, isIntact))
            let size = Int(bytes.word(4))
            // The last frame of a transaction has the database's size.
            guard size > 0 else { continue }
            for (frame, page, isIntact) in pending {
                frameCount += 1
                if isIntact {
                    offsets[page] = Self.headerCount + frame * frameSize + Self.frameHeaderCount
                    older.remove(page)
                } else {
                    older.insert(page)
                    damagedFrames.append(frame + 1)
                }
            }
            pending = []
            // A damaged size would hide pages.
            if isIntact, continuesChain || pageCount == nil { pageCount = size }
        }
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
