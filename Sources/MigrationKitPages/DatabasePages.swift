import CSQLCipher
import Foundation
import MigrationKitCommon
import Synchronization

/// The pages of a database at one instant, as they are stored: in its file and, if they are newer, in
/// its write-ahead log. Threads may read them at once.
package final class DatabasePages: Sendable {
    package let pageSize: Int
    package let count: Int

    private let file: SharedBytes
    private let log: LogPages?

    /// - Parameters:
    ///   - connection: Stays open, and keeps others from writing what is read here: by a lock, or by
    ///     a read transaction.
    ///   - log: The pages in the log; `nil` if the file has all of them.
    package init(
        of connection: OpaquePointer?,
        pageSize: Int,
        count: Int,
        log: LogPages? = nil
    ) throws(CipherCode) {
        file = try SharedBytes(of: connection)
        self.pageSize = pageSize
        self.count = count
        self.log = log
    }

    /// The first bytes of the file, which aren't encrypted.
    package func start() throws(CipherCode) -> [UInt8] {
        try file.bytes(count: CipherSettings.saltCount)
    }

    /// Fills a buffer with consecutive pages. Where the file ends too early, there are zeros.
    ///
    /// - Throws: A ``CipherCode``; an ``EncryptedDatabaseError`` if the log can't be read.
    func read(_ numbers: Range<Int>, into buffer: UnsafeMutableRawBufferPointer) throws {
        try readFile(numbers.lowerBound, into: buffer)
        guard let log else { return }
        for (index, number) in numbers.enumerated() where log.contains(number) {
            let page = UnsafeMutableRawBufferPointer(
                rebasing: buffer[index * pageSize..<(index + 1) * pageSize]
            )
            if try !log.read(number, into: page) { try readFile(number, into: page) }
        }
    }

    private func readFile(_ number: Int, into buffer: UnsafeMutableRawBufferPointer) throws {
        let offset = (number - 1) * pageSize
        let code = file.readPart(into: buffer, at: offset)
        guard code == .ok || code.rawValue == CipherCode.shortRead else { throw code }
    }

    /// Whether the file ends before the end of a page.
    func isCutShort(_ number: Int) -> Bool {
        number * pageSize > file.count && log?.contains(number) != true
    }
}

/// The pages that a write-ahead log holds for one instant.
/// <https://www.sqlite.org/fileformat.html#the_write_ahead_log>
package struct LogPages: Sendable {
    private let file: RawFile
    private let pageSize: Int
    private let salts: ArraySlice<UInt8>
    /// Each page with its last frame, counted from 0.
    private let frames: PageNumbers

    /// The pages of a log that nobody writes.
    ///
    /// - Parameters:
    ///   - path: The log.
    ///   - pages: The pages of its finished transactions.
    /// - Returns: `nil` if there is none.
    package init?(path: String, pages: WriteAheadLog) throws(EncryptedDatabaseError) {
        guard let file = try RawFile.find(path).get(),
            let header = try file.read(at: 0, count: WriteAheadLog.headerCount)
        else { return nil }
        self.file = file
        pageSize = pages.pageSize
        salts = header[16..<24]
        frames = pages.committedPages
    }

    /// The pages of a log to which others write meanwhile.
    ///
    /// - Parameters:
    ///   - path: The log.
    ///   - instant: What a read transaction sees, which is open until the pages are read.
    /// - Returns: `nil` if the file has all of them.
    package init?(path: String, _ instant: LogInstant) throws(EncryptedDatabaseError) {
        guard instant.frameCount > 0, let file = try RawFile.find(path).get() else {
            return nil
        }
        var frames = PageNumbers()
        for index in 0..<instant.frameCount {
            let offset =
                WriteAheadLog.headerCount
                + index * (WriteAheadLog.frameHeaderCount + instant.pageSize)
            guard let header = try file.read(at: offset, count: WriteAheadLog.frameHeaderCount),
                header[8..<16] == instant.salts
                // It was begun anew: see `read(_:into:)`.
            else { return nil }
            frames[Int(header.word(0))] = index
        }
        self.file = file
        pageSize = instant.pageSize
        salts = instant.salts
        self.frames = frames
    }

    func contains(_ number: Int) -> Bool { frames[number] != nil }

    /// Reads a page.
    ///
    /// A log is restarted, and its frames overwritten, only if all readers have all that they see in
    /// the file: restarting it needs the locks that its readers hold (`WAL_READ_LOCK(1)` and up). A
    /// reader that doesn't need the log holds `WAL_READ_LOCK(0)`, which keeps newer pages out of the
    /// file. So what was overwritten is in the file.
    /// <https://www.sqlite.org/walformat.html#wal_locks>
    ///
    /// A frame's header is written before its page. If the header is still the old one after the page
    /// was read, the page is the old one, too.
    ///
    /// - Returns: Whether the page was still there. Otherwise the file has it.
    func read(
        _ number: Int,
        into page: UnsafeMutableRawBufferPointer
    ) throws(EncryptedDatabaseError) -> Bool {
        guard let index = frames[number] else { return false }
        let offset = WriteAheadLog.headerCount + index * (WriteAheadLog.frameHeaderCount + pageSize)
        guard
            let content = try file.read(
                at: offset + WriteAheadLog.frameHeaderCount,
                count: pageSize
            ),
            let header = try file.read(at: offset, count: WriteAheadLog.frameHeaderCount),
            header[8..<16] == salts, Int(header.word(0)) == number
        else { return false }
        page.copyBytes(from: content)
        return true
    }
}

/// The part of a write-ahead log that a transaction sees which begins now.
///
/// It is the header of the log's index, which SQLite keeps in shared memory.
/// <https://www.sqlite.org/walformat.html#the_wal_index_header>
package struct LogInstant: Equatable {
    private let header: [UInt8]

    private static let headerCount = 48
    /// The size of the first piece of the index, in which the header is.
    private static let pieceCount: Int32 = 32 * 1024

    /// Reads the header, of which there are two copies. A writer changes the second one first.
    ///
    /// - Parameter connection: It has read from the log.
    /// - Returns: `nil` if it is just being changed.
    /// - Throws: A ``CipherCode`` if the memory can't be shared.
    package init?(of connection: OpaquePointer?) throws(CipherCode) {
        guard let memory = try MainFile(of: connection).sharedMemory(count: Self.pieceCount) else {
            return nil
        }
        let first = Array(UnsafeRawBufferPointer(start: memory, count: Self.headerCount))
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        let second = Array(
            UnsafeRawBufferPointer(start: memory + Self.headerCount, count: Self.headerCount)
        )
        guard first == second, first[12] == 1 else { return nil }
        header = first
    }

    /// Finds out what a transaction sees.
    ///
    /// A transaction that begins takes the header as it is then. The header has a counter that every
    /// commit changes. So if the header is the same before and after the beginning, it is the one
    /// that the transaction took.
    ///
    /// - Parameters:
    ///   - connection: It uses a write-ahead log, and is in no transaction.
    ///   - begin: Begins a transaction, and reads something in it.
    /// - Returns: `nil` if somebody has committed meanwhile. The transaction is open all the same.
    package static func of(
        _ connection: OpaquePointer?,
        beginning begin: () throws -> Void
    ) throws -> LogInstant? {
        let before = try LogInstant(of: connection)
        try begin()
        let after = try LogInstant(of: connection)
        return before == after ? after : nil
    }

    /// How many frames belong to finished transactions.
    var frameCount: Int { number(16) }

    var pageSize: Int {
        let size = header.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 14, as: UInt16.self) }
        // 65536 doesn't fit, and is stored as 1.
        return size == 1 ? 65536 : Int(size)
    }

    /// As they are in each frame of this use of the log.
    var salts: ArraySlice<UInt8> { header[32..<40] }

    /// Other than a file, the index has the byte order of the machine.
    private func number(_ offset: Int) -> Int {
        Int(header.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self) })
    }
}
