import MigrationKitCommon
import Foundation

/// What is in a database's write-ahead log. <https://www.sqlite.org/fileformat.html#the_write_ahead_log>
public struct WriteAheadLog: Equatable, Sendable {
    /// The size of a page in bytes.
    public let pageSize: Int

    /// The frames, each a page, that are whole, and where one is damaged, that one and all behind it.
    /// What earlier uses of the file left behind them doesn't count.
    public let frameCount: Int

    /// The frames that belong to finished transactions: what a reader sees.
    public let committedFrameCount: Int

    /// The first frame, counted from 1, that is not as it was written, if a finished transaction is
    /// lost by it. A last transaction that a loss of power has stopped was never finished, whatever
    /// of it is there.
    public let damagedFrame: Int?

    /// How many finished transactions there are from the damaged frame on. SQLite sees none of them.
    public let lostCommitCount: Int

    /// The pages that a finished transaction has in the log, and the last frame, from 0, of each.
    package private(set) var committedPages: [Int: Int] = [:]

    package static let headerCount = 32
    private static let frameHeaderCount = 24

    /// Reads a log once. Its file has no locks of its own, so that it may be opened by hand.
    ///
    /// - Returns: `nil` if it is no log of any page size.
    package init?(_ file: UntouchedFile) throws(EncryptedDatabaseError) {
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
            // Only the frames show which use of the log is meant. SQLite synchronizes the header
            // before it writes any, so that no loss of power leaves frames without it.
            let first = try file.read(at: Self.headerCount, count: Self.frameHeaderCount)
            let rest = try Self.rest(of: file, (first ?? header)[8..<16], pageSize, from: 0)
            frameCount = rest.frameCount
            (committedFrameCount, damagedFrame) = (0, rest.commitCount > 0 ? 1 : nil)
            lostCommitCount = rest.commitCount
            return
        }
        var (whole, committed) = (0, 0)
        var pending: [Int: Int] = [:]
        var isDamaged = false
        var (writtenCount, hiddenCount) = (0, 0)
        while let frame = try Self.frame(whole, of: file, pageSize) {
            let before = sum
            sum.add(frame)
            let isOfThisUse = frame[8..<16] == header[16..<24]
            let isWhole = sum.isEqual(to: frame, at: 16)
            guard isOfThisUse, isWhole else {
                let rest = try Self.rest(of: file, header[16..<24], pageSize, from: whole)
                // The sum goes on from the log's own header, and so fits no frame of another use.
                isDamaged =
                    isWhole || rest.commitCount > 1
                    || isOfThisUse && Self.hidesCommit(frame, after: before, rest.commitCount)
                writtenCount = max(rest.frameCount, whole + 1)
                // The damage may have made the frame look like one of another use.
                hiddenCount = rest.commitCount + (isOfThisUse || frame.word(4) == 0 ? 0 : 1)
                break
            }
            pending[Int(frame.word(0))] = whole
            whole += 1
            // The last frame of a transaction has the database's size.
            guard frame.word(4) != 0 else { continue }
            committed = whole
            committedPages.merge(pending) { $1 }
            pending = [:]
        }
        frameCount = isDamaged ? writtenCount : whole
        committedFrameCount = committed
        damagedFrame = isDamaged ? whole + 1 : nil
        lostCommitCount = isDamaged ? hiddenCount : 0
    }

    /// Reads a log to which others may be writing. What looks damaged for that moves on; a writer
    /// may be stopped for a while between a frame's header and its page.
    ///
    /// - Returns: The log, if it is one of any page size; otherwise whether something is in it all
    ///   the same.
    /// - Throws: ``EncryptedDatabaseError`` if it can't be read.
    package static func settled(
        path: String
    ) throws(EncryptedDatabaseError) -> (log: WriteAheadLog?, isUnknown: Bool) {
        func read() throws(EncryptedDatabaseError) -> (log: WriteAheadLog?, isUnknown: Bool) {
            guard let file = try UntouchedFile.find(path).get() else { return (nil, false) }
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

    /// Whether there is anything but zeros where frames may be. After a loss of power a new log may
    /// be as long as it was to be, and nothing be in it yet.
    private static func hasContentBehindHeader(
        _ file: UntouchedFile
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

    /// Whether a finished transaction is hidden by a frame that is not as it was written, and isn't
    /// just one whose writing a loss of power has stopped.
    ///
    /// Such a loss leaves the last transaction in part, its end among what is there or not. It is
    /// none of the finished ones. As sectors are written as a whole, more than one word of a frame
    /// is missing then: a frame that one other word makes whole has been changed since.
    ///
    /// - Parameter commitCount: How many transactions end in the frame or behind it.
    private static func hidesCommit(
        _ frame: [UInt8],
        after sum: Checksum,
        _ commitCount: Int
    ) -> Bool {
        guard let change = sum.changedWord(of: frame) else { return false }
        // It may be the word that marks the end of a transaction.
        return commitCount > 0 || change == .databaseSize
    }

    /// What a use of the log, known by its salts, wrote behind the whole frames: how many frames
    /// there are up to its last, and how many transactions were finished there. What an earlier use
    /// left behind has other salts, and what was rolled back was never finished.
    private static func rest(
        of file: UntouchedFile,
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

    /// The finished transactions' frames that something holds for.
    ///
    /// - Parameters:
    ///   - path: The log that this was read from.
    ///   - condition: Gets a page and its number.
    /// - Returns: The frames and their pages, both counted from 1.
    /// - Throws: ``EncryptedDatabaseError`` if the log can't be read.
    package func committedFrames(
        path: String,
        where condition: (_ page: [UInt8], _ number: Int) -> Bool
    ) throws(EncryptedDatabaseError) -> [(frame: Int, page: Int)] {
        guard let file = try UntouchedFile.find(path).get() else { return [] }
        var found: [(frame: Int, page: Int)] = []
        for index in 0..<committedFrameCount {
            guard let frame = try Self.frame(index, of: file, pageSize) else { break }
            let number = Int(frame.word(0))
            if condition(Array(frame[Self.frameHeaderCount...]), number) {
                found.append((index + 1, number))
            }
        }
        return found
    }

    /// The database's first page as the last finished transaction has it; `nil` if none in the log
    /// has changed it.
    package func firstPage(in file: UntouchedFile) throws(EncryptedDatabaseError) -> [UInt8]? {
        guard let index = committedPages[1] else { return nil }
        let frame = try Self.frame(index, of: file, pageSize)
        return frame.map { Array($0[Self.frameHeaderCount...]) }
    }

    /// A frame, counted from 0; `nil` where the log ends before.
    private static func frame(
        _ index: Int,
        of file: UntouchedFile,
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

        /// Adds a frame: the page's number, the size behind a transaction, the page.
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

        /// The one 32-bit word of a frame that, were it another, would make its sum right; `nil` if
        /// there is none.
        ///
        /// Each pair of words makes (a, b) into (a + b + x, a + 2b + x + y). So what the sum is off
        /// by is traced back, pair by pair, to where it may have come in: into both halves by the
        /// first word, into the second half by the second. That anything else looks like this for a
        /// page of 4096 bytes has a chance of one in four million.
        ///
        /// - Parameter frame: One that follows what was summed up so far.
        func changedWord(of frame: [UInt8]) -> Word? {
            var sum = self
            sum.add(frame)
            var first = frame.word(16) &- sum.first
            var second = frame.word(20) &- sum.second
            // Of the sum itself, as it stands in the frame.
            var isOther = (first == 0) != (second == 0)
            let pairCount = 1 + (frame.count - WriteAheadLog.frameHeaderCount) / 8
            for pair in (0..<pairCount).reversed() {
                // A change of a word's highest bits may have come in at several places.
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
