import Foundation

/// What is in a database's write-ahead log. <https://www.sqlite.org/fileformat.html#the_write_ahead_log>
public struct WriteAheadLog: Equatable, Sendable {
    /// The size of a page in bytes.
    public let pageSize: Int

    /// The frames, each a page, that are whole. What earlier uses of the file left behind them
    /// doesn't count.
    public let frameCount: Int

    /// The frames that belong to finished transactions: what a reader sees.
    public let committedFrameCount: Int

    /// The first frame, counted from 1, that is not as it was written, if a finished transaction is
    /// lost by it.
    public let damagedFrame: Int?

    static let headerCount = 32
    private static let frameHeaderCount = 24

    /// Reads a log once. Its file has no locks of its own, so that it may be opened by hand.
    ///
    /// - Returns: `nil` if the file is empty, or no log of any page size.
    init?(path: String) {
        guard let file = FileHandle(forReadingAtPath: path) else { return nil }
        defer { try? file.close() }
        guard let header = Self.read(file, Self.headerCount),
            // The last bit tells the order of bytes in sums.
            Self.word(header, 0) & ~1 == 0x377f_0682
        else { return nil }
        let isBigEndian = Self.word(header, 0) & 1 == 1
        let pageSize = Int(Self.word(header, 8))
        guard (512...65536).contains(pageSize), pageSize.nonzeroBitCount == 1 else { return nil }
        self.pageSize = pageSize

        var sum = Checksum(isBigEndian: isBigEndian)
        sum.add(header[0..<24])
        guard sum.isEqual(to: header, at: 24) else {
            (frameCount, committedFrameCount, damagedFrame) = (0, 0, 1)
            return
        }
        var (whole, committed) = (0, 0)
        var isDamaged = false
        while let frame = Self.read(file, Self.frameHeaderCount + pageSize) {
            let before = sum
            sum.add(frame)
            let isOfThisUse = frame[8..<16] == header[16..<24]
            let isWhole = sum.isEqual(to: frame, at: 16)
            guard isOfThisUse, isWhole else {
                // The sum goes on from the log's own header, and so fits no frame of another use.
                isDamaged =
                    isWhole || isOfThisUse && Self.hasLostCommit(frame, after: before)
                    || Self.losesTransaction(file, header, pageSize, from: whole)
                break
            }
            whole += 1
            // The last frame of a transaction tells the database's size.
            if Self.word(frame, 4) != 0 { committed = whole }
        }
        (frameCount, committedFrameCount) = (whole, committed)
        damagedFrame = isDamaged ? whole + 1 : nil
    }

    /// Reads a log to which others may be writing. What looks damaged for that moves on.
    ///
    /// - Returns: As ``init(path:)``.
    static func settled(path: String) -> WriteAheadLog? {
        var last: WriteAheadLog?
        for _ in 0..<10 {
            let log = WriteAheadLog(path: path)
            if log?.damagedFrame == nil || log == last { return log }
            last = log
        }
        return last
    }

    /// Whether a frame would be whole and the last of a transaction if one bit were another in what
    /// tells so.
    private static func hasLostCommit(_ frame: [UInt8], after sum: Checksum) -> Bool {
        (32..<64).contains { bit in
            var repaired = frame
            repaired[bit / 8] ^= 1 << (bit % 8)
            var sum = sum
            sum.add(repaired)
            return sum.isEqual(to: frame, at: 16) && word(repaired, 4) != 0
        }
    }

    /// Whether a transaction of this use of the log was finished behind the whole frames. What an
    /// earlier use left behind has other salts, and what was rolled back was never finished.
    private static func losesTransaction(
        _ file: FileHandle,
        _ header: [UInt8],
        _ pageSize: Int,
        from index: Int
    ) -> Bool {
        let count = frameHeaderCount + pageSize
        guard (try? file.seek(toOffset: UInt64(headerCount + index * count))) != nil else {
            return false
        }
        while let frame = read(file, count) {
            if frame[8..<16] == header[16..<24], word(frame, 4) != 0 { return true }
        }
        return false
    }

    /// The finished transactions' frames that something holds for.
    ///
    /// - Parameters:
    ///   - path: The log that this was read from.
    ///   - condition: Gets a page and its number.
    /// - Returns: The frames and their pages, both counted from 1.
    func committedFrames(
        path: String,
        where condition: (_ page: [UInt8], _ number: Int) -> Bool
    ) -> [(frame: Int, page: Int)] {
        guard let file = FileHandle(forReadingAtPath: path) else { return [] }
        defer { try? file.close() }
        guard (try? file.seek(toOffset: UInt64(Self.headerCount))) != nil else { return [] }
        var found: [(frame: Int, page: Int)] = []
        for index in 0..<committedFrameCount {
            guard let frame = Self.read(file, Self.frameHeaderCount + pageSize) else { break }
            let number = Int(Self.word(frame, 0))
            if condition(Array(frame[Self.frameHeaderCount...]), number) {
                found.append((index + 1, number))
            }
        }
        return found
    }

    private static func read(_ file: FileHandle, _ count: Int) -> [UInt8]? {
        guard let data = try? file.read(upToCount: count), data.count == count else { return nil }
        return Array(data)
    }

    private static func word(_ bytes: [UInt8], _ offset: Int) -> UInt32 {
        bytes[offset..<(offset + 4)].reduce(0) { $0 << 8 | UInt32($1) }
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
            WriteAheadLog.word(bytes, offset) == first
                && WriteAheadLog.word(bytes, offset + 4) == second
        }

        private func word(_ buffer: UnsafeRawBufferPointer, _ offset: Int) -> UInt32 {
            let word = buffer.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
            return isBigEndian ? UInt32(bigEndian: word) : UInt32(littleEndian: word)
        }
    }
}
