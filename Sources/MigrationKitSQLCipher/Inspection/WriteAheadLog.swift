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
            // Which use of the log is meant, only its frames can tell.
            let start = Self.read(file, Self.frameHeaderCount) ?? header
            frameCount = Self.rest(of: file, start[8..<16], pageSize, from: 0).frameCount
            (committedFrameCount, damagedFrame) = (0, 1)
            return
        }
        var (whole, committed) = (0, 0)
        var isDamaged = false
        var writtenCount = 0
        while let frame = Self.read(file, Self.frameHeaderCount + pageSize) {
            let before = sum
            sum.add(frame)
            let isOfThisUse = frame[8..<16] == header[16..<24]
            let isWhole = sum.isEqual(to: frame, at: 16)
            guard isOfThisUse, isWhole else {
                let rest = Self.rest(of: file, header[16..<24], pageSize, from: whole)
                // The sum goes on from the log's own header, and so fits no frame of another use.
                isDamaged =
                    isWhole || isOfThisUse && Self.hasLostCommit(frame, after: before)
                    || rest.hasCommit
                writtenCount = max(rest.frameCount, whole + 1)
                break
            }
            whole += 1
            // The last frame of a transaction tells the database's size.
            if Self.word(frame, 4) != 0 { committed = whole }
        }
        frameCount = isDamaged ? writtenCount : whole
        committedFrameCount = committed
        damagedFrame = isDamaged ? whole + 1 : nil
    }

    /// Reads a log to which others may be writing. What looks damaged for that moves on; a writer
    /// may be stopped for a while between a frame's header and its page.
    ///
    /// - Returns: As ``init(path:)``.
    static func settled(path: String) -> WriteAheadLog? {
        var log = WriteAheadLog(path: path)
        var (readings, unchanged) = (1, 0)
        while let frame = log?.damagedFrame, unchanged < 4, readings < 50 {
            usleep(20_000)
            log = WriteAheadLog(path: path)
            readings += 1
            unchanged = log?.damagedFrame == frame ? unchanged + 1 : 0
        }
        return log
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

    /// What a use of the log, known by its salts, wrote behind the whole frames: how many frames
    /// there are up to its last, and whether a transaction was finished there. What an earlier use
    /// left behind has other salts, and what was rolled back was never finished.
    private static func rest(
        of file: FileHandle,
        _ salts: ArraySlice<UInt8>,
        _ pageSize: Int,
        from index: Int
    ) -> (frameCount: Int, hasCommit: Bool) {
        let count = frameHeaderCount + pageSize
        var (found, hasCommit) = (0, false)
        guard (try? file.seek(toOffset: UInt64(headerCount + index * count))) != nil else {
            return (found, hasCommit)
        }
        var number = index
        while let frame = read(file, count) {
            number += 1
            guard frame[8..<16] == salts else { continue }
            found = number
            if word(frame, 4) != 0 { hasCommit = true }
        }
        return (found, hasCommit)
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
