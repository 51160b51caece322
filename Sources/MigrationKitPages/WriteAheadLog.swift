import MigrationKitCommon
import Foundation

/// The content of a database's write-ahead log.
/// <https://www.sqlite.org/fileformat.html#the_write_ahead_log>
public struct WriteAheadLog: Equatable, Sendable {
    /// The size of a page in bytes.
    public let pageSize: Int

    /// The number of frames, each with one page: the intact ones and, after a damaged one, all that
    /// follow. Frames from earlier uses of the file don't count.
    public let frameCount: Int

    /// The number of frames in finished transactions, which are what a reader sees.
    public let committedFrameCount: Int

    /// The first damaged frame, counted from 1, if it hides a finished transaction. A last
    /// transaction that a power cut interrupted doesn't count: it was never finished, however much
    /// of it is there.
    public let damagedFrame: Int?

    /// How many finished transactions follow from the damaged frame on. SQLite sees none of them.
    public let lostCommitCount: Int

    /// The database's size in pages after the last finished transaction; 0 without one.
    package private(set) var databaseSize = 0

    /// The pages of finished transactions in the log, each with its last frame, counted from 0.
    package private(set) var committedPages = PageNumbers()

    /// Whether each of the database's pages is in a committed frame from some frame on.
    ///
    /// - Parameter frame: Counted from 0.
    package func hasEveryPage(from frame: Int = 0) -> Bool {
        committedPages.hasEveryPage(of: databaseSize, pageSize: pageSize, from: frame)
    }

    package static let headerCount = 32
    static let frameHeaderCount = 24

    /// Reads a log once. The log file has no locks, so it may be opened directly.
    ///
    /// - Returns: `nil` if it isn't a log with a valid page size.
    package init?(_ file: RawFile) throws(EncryptedDatabaseError) {
        guard let header = try file.read(at: 0, count: Self.headerCount),
            // The last bit gives the byte order of the checksums.
            header.word(0) & ~1 == 0x377f_0682
        else { return nil }
        let isBigEndian = header.word(0) & 1 == 1
        let pageSize = Int(header.word(8))
        guard (512...65536).contains(pageSize), pageSize.nonzeroBitCount == 1 else { return nil }
        self.pageSize = pageSize

        var sum = Checksum(isBigEndian: isBigEndian)
        sum.add(header[0..<24])
        guard sum.isEqual(to: header, at: 24) else {
            // Only the frames show which use of the log is current. SQLite synchronizes the header
            // before it writes frames, so no power cut leaves frames without it.
            let first = try file.read(at: Self.headerCount, count: Self.frameHeaderCount)
            let rest = try Self.rest(of: file, (first ?? header)[8..<16], pageSize, from: 0)
            frameCount = rest.frameCount
            (committedFrameCount, damagedFrame) = (0, rest.commitCount > 0 ? 1 : nil)
            lostCommitCount = rest.commitCount
            return
        }
        var (whole, committed) = (0, 0)
        // The pages of the frames since the last finished transaction.
        var pending: [UInt32] = []
        var isDamaged = false
        var (writtenCount, hiddenCount) = (0, 0)
        while let frame = try Self.frame(whole, of: file, pageSize) {
            let before = sum
            sum.add(frame)
            let isOfThisUse = frame[8..<16] == header[16..<24]
            // SQLite takes a frame without a page's number for the end, too.
            let isWhole = frame.word(0) != 0 && sum.isEqual(to: frame, at: 16)
            guard isOfThisUse, isWhole else {
                let rest = try Self.rest(of: file, header[16..<24], pageSize, from: whole)
                // The checksum continues from the log's header, so it fits no frame of another use.
                isDamaged =
                    isWhole || rest.commitCount > 1
                    || isOfThisUse && Self.hidesCommit(frame, after: before, rest.commitCount)
                writtenCount = max(rest.frameCount, whole + 1)
                // The damage may make the frame look like one of another use.
                hiddenCount = rest.commitCount + (isOfThisUse || frame.word(4) == 0 ? 0 : 1)
                break
            }
            pending.append(frame.word(0))
            whole += 1
            // The last frame of a transaction contains the database's size.
            guard frame.word(4) != 0 else { continue }
            committed = whole
            databaseSize = Int(frame.word(4))
            for (index, page) in zip(whole - pending.count..<whole, pending) {
                committedPages[Int(page)] = index
            }
            pending.removeAll(keepingCapacity: true)
        }
        frameCount = isDamaged ? writtenCount : whole
        committedFrameCount = committed
        damagedFrame = isDamaged ? whole + 1 : nil
        lostCommitCount = isDamaged ? hiddenCount : 0
    }

    /// Reads a log to which others may be writing. A frame that only looks damaged because it is
    /// being written changes soon; but a writer may pause between a frame's header and its page.
    ///
    /// - Returns: The log, if it is one with a valid page size; otherwise whether it has any
    ///   content.
    /// - Throws: ``EncryptedDatabaseError`` if it can't be read.
    package static func settled(
        path: String
    ) throws(EncryptedDatabaseError) -> (log: WriteAheadLog?, isUnknown: Bool) {
        func read() throws(EncryptedDatabaseError) -> (log: WriteAheadLog?, isUnknown: Bool) {
            guard let file = try RawFile.find(path).get() else { return (nil, false) }
            if let log = try WriteAheadLog(file) { return (log, false) }
            return (nil, try hasContentBehindHeader(file))
        }
        var found = try read()
        var (readings, unchanged) = (1, 0)
        while let frame = found.log?.damagedFrame, unchanged < 4, readings < 50 {
            Polling.pause()
            found = try read()
            readings += 1
            unchanged = found.log?.damagedFrame == frame ? unchanged + 1 : 0
        }
        return found
    }

    /// Whether anything but zeros follows the header. After a power cut, a new log may have its
    /// full size but no content yet.
    private static func hasContentBehindHeader(
        _ file: RawFile
    ) throws(EncryptedDatabaseError) -> Bool {
        let step = 1 << 16
        var offset = headerCount
        while offset < file.size {
            let count = min(step, file.size - offset)
            guard let bytes = try file.read(at: offset, count: count) else { break }
            if bytes.contains(where: { $0 != 0 }) { return true }
            offset += count
        }
        return false
    }

    /// Whether a damaged frame hides a finished transaction, and isn't only the result of a power
    /// cut during the last write.
    ///
    /// A power cut leaves only a part of the last transaction, with or without its end. That one
    /// isn't finished. Disks write whole sectors, so more than one word of a frame is missing then.
    /// If changing a single word would make a frame intact, the frame was damaged later.
    ///
    /// - Parameter commitCount: How many transactions end in the frame or after it.
    private static func hidesCommit(
        _ frame: [UInt8],
        after sum: Checksum,
        _ commitCount: Int
    ) -> Bool {
        guard let change = sum.changedWord(of: frame) else { return false }
        // The damaged word may be the one that marks the end of a transaction.
        return commitCount > 0 || change == .databaseSize
    }

    /// What a use of the log, identified by its salts, wrote after the intact frames: how many
    /// frames there are up to its last one, and how many transactions were finished there. Frames
    /// of an earlier use have other salts, and transactions that were rolled back were never
    /// finished.
    private static func rest(
        of file: RawFile,
        _ salts: ArraySlice<UInt8>,
        _ pageSize: Int,
        from index: Int
    ) throws(EncryptedDatabaseError) -> (frameCount: Int, commitCount: Int) {
        var (found, commitCount) = (0, 0)
        var number = index
        while let frame = try frame(number, of: file, pageSize) {
            number += 1
            guard frame[8..<16] == salts else { continue }
            found = number
            if frame.word(4) != 0 { commitCount += 1 }
        }
        return (found, commitCount)
    }

    /// The frames of finished transactions that meet a condition.
    ///
    /// - Parameters:
    ///   - path: The log that this was read from.
    ///   - condition: Receives a page and its number.
    /// - Returns: The frames and their pages, both counted from 1.
    /// - Throws: ``EncryptedDatabaseError`` if the log can't be read.
    package func committedFrames(
        path: String,
        where condition: (_ page: [UInt8], _ number: Int) -> Bool
    ) throws(EncryptedDatabaseError) -> [(frame: Int, page: Int)] {
        guard let file = try RawFile.find(path).get() else { return [] }
        var found: [(frame: Int, page: Int)] = []
        for index in 0..<committedFrameCount {
            guard let (number, page, _) = try frame(index, in: file) else { break }
            if condition(page, number) {
                found.append((index + 1, number))
            }
        }
        return found
    }

    /// The database's first page after the last finished transaction; `nil` if no frame has it.
    package func firstPage(in file: RawFile) throws(EncryptedDatabaseError) -> [UInt8]? {
        try committedPages[1].flatMap { index throws(EncryptedDatabaseError) in
            try frame(index, in: file)?.page
        }
    }

    /// Where the page of a frame is, counted from 0.
    func offset(ofFrame index: Int) -> Int {
        Self.headerCount + index * (Self.frameHeaderCount + pageSize) + Self.frameHeaderCount
    }

    /// The page of a frame, counted from 0, and its number; `nil` if the log ends before.
    ///
    /// - Returns: Also the database's size in pages, if the frame ends a transaction.
    package func frame(
        _ index: Int,
        in file: RawFile
    ) throws(EncryptedDatabaseError) -> (number: Int, page: [UInt8], size: Int?)? {
        guard let frame = try Self.frame(index, of: file, pageSize) else { return nil }
        let size = Int(frame.word(4))
        return (Int(frame.word(0)), Array(frame[Self.frameHeaderCount...]), size > 0 ? size : nil)
    }

    /// A frame, counted from 0; `nil` if the log ends before.
    private static func frame(
        _ index: Int,
        of file: RawFile,
        _ pageSize: Int
    ) throws(EncryptedDatabaseError) -> [UInt8]? {
        let count = frameHeaderCount + pageSize
        return try file.read(at: headerCount + index * count, count: count)
    }

    /// <https://www.sqlite.org/fileformat.html#checksum_algorithm>
    private struct Checksum {
        let isBigEndian: Bool
        var first: UInt32 = 0
        var second: UInt32 = 0

        /// Adds a frame: the page's number, the database's size after a transaction, and the page.
        mutating func add(_ frame: [UInt8]) {
            add(frame[0..<8])
            add(frame[WriteAheadLog.frameHeaderCount...])
        }

        mutating func add(_ bytes: ArraySlice<UInt8>) {
            bytes.withUnsafeBytes { buffer in
                for offset in stride(from: 0, to: buffer.count - 7, by: 8) {
                    first &+= word(buffer, offset) &+ second
                    second &+= word(buffer, offset + 4) &+ first
                }
            }
        }

        func isEqual(to bytes: [UInt8], at offset: Int) -> Bool {
            bytes.word(offset) == first && bytes.word(offset + 4) == second
        }

        /// A place in a frame.
        enum Word {
            case databaseSize, other
        }

        /// The single 32-bit word of a frame that would have to change to make its checksum right;
        /// `nil` if there is none.
        ///
        /// Each pair of words turns (a, b) into (a + b + x, a + 2b + x + y). So the difference of
        /// the checksums is traced back, pair by pair, to where it may have begun: the first word
        /// changes both halves, the second word changes the second half. For a page of 4096 bytes,
        /// the chance that other damage looks like this is one in four million.
        ///
        /// - Parameter frame: The frame that follows those already added.
        func changedWord(of frame: [UInt8]) -> Word? {
            var sum = self
            sum.add(frame)
            var first = frame.word(16) &- sum.first
            var second = frame.word(20) &- sum.second
            // For the checksum itself, as stored in the frame.
            var isOther = (first == 0) != (second == 0)
            let pairCount = 1 + (frame.count - WriteAheadLog.frameHeaderCount) / 8
            for pair in (0..<pairCount).reversed() {
                // A change of a word's highest bits may have begun at several places.
                if pair == 0, first == 0 { return .databaseSize }
                isOther = isOther || first == second || first == 0
                (first, second) = (2 &* first &- second, second &- first)
            }
            return isOther ? .other : nil
        }

        private func word(_ buffer: UnsafeRawBufferPointer, _ offset: Int) -> UInt32 {
            let word = buffer.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
            return isBigEndian ? UInt32(bigEndian: word) : UInt32(littleEndian: word)
        }
    }
}
