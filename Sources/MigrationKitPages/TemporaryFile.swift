import CSQLCipher
import Foundation
import MigrationKitCommon

/// What SQLite would put into a temporary file: rows that it sorts, temporary tables, the pages that
/// a statement changes.
///
/// It is in memory as long as there is room. Then it moves into a file without a name, which is
/// encrypted with a key of its own. If the folder can't be written, it stays in memory.
///
/// The methods return a result code of SQLite.
package final class TemporaryFile {
    // SQLite may let several threads sort, each with files of its own, which one of them then merges.
    private let content: Locked<TemporaryContent>

    /// - Parameters:
    ///   - room: The memory that this file shares with others.
    ///   - place: Returns the path of a database. If there is no more room, the file is created in
    ///     the same folder. `nil` for no folder.
    package init(room: MemoryRoom, beside place: @escaping () -> String?) {
        content = Locked(TemporaryContent(room: room, place: place))
    }

    package var size: Int { content.withLock { $0.count } }

    /// Whether it is in a file.
    package var isOnDisk: Bool { content.withLock { $0.isOnDisk } }

    /// Fills a buffer. Bytes past the end are zero.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int32 {
        content.withLock { $0.read(into: buffer, at: offset) }
    }

    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Int32 {
        content.withLock { $0.write(bytes, at: offset) }
    }

    /// Cuts the file off, or appends zeros.
    package func setSize(_ size: Int) -> Int32 {
        content.withLock { $0.setSize(size) }
    }
}

/// What is in a temporary file, in memory or on the disk.
private struct TemporaryContent {
    private enum Place {
        case memory(MemoryPieces)
        case disk(EncryptedSectors)
    }

    private var place: Place
    private(set) var count = 0
    private var staysInMemory = false
    private let database: () -> String?

    init(room: MemoryRoom, place database: @escaping () -> String?) {
        place = .memory(MemoryPieces(room))
        self.database = database
    }

    var isOnDisk: Bool {
        if case .disk = place { return true }
        return false
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int32 {
        let found = max(0, min(buffer.count, count - offset))
        let (part, rest) = (buffer.part(0, found), buffer.part(found, buffer.count))
        rest.initializeMemory(as: UInt8.self, repeating: 0)
        let code =
            switch place {
            case .memory(let pieces): pieces.read(into: part, at: offset)
            case .disk(let sectors): sectors.read(into: part, at: offset)
            }
        return code == SQLITE_OK && !rest.isEmpty ? CipherCode.shortRead : code
    }

    mutating func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Int32 {
        let code = store(bytes, at: offset)
        if code == SQLITE_OK { count = max(count, offset + bytes.count) }
        return code
    }

    mutating func setSize(_ size: Int) -> Int32 {
        var code = SQLITE_OK
        if size < count {
            switch place {
            case .memory(let pieces): pieces.cut(at: size)
            case .disk(let sectors): code = sectors.cut(at: size)
            }
        }
        if code == SQLITE_OK { count = size }
        return code
    }

    private mutating func store(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Int32 {
        if case .memory(let pieces) = place {
            let range = offset..<(offset + bytes.count)
            if pieces.make(range, beyondRoom: staysInMemory) {
                return pieces.write(bytes, at: offset)
            }
            let code = moveToDisk(pieces)
            if staysInMemory {
                guard pieces.make(range, beyondRoom: true) else { return SQLITE_NOMEM }
                return pieces.write(bytes, at: offset)
            }
            guard code == SQLITE_OK else { return code }
        }
        guard case .disk(let sectors) = place else { return SQLITE_NOMEM }
        return sectors.write(bytes, at: offset)
    }

    private mutating func moveToDisk(_ pieces: MemoryPieces) -> Int32 {
        guard let path = database() else {
            staysInMemory = true
            return SQLITE_OK
        }
        switch UnnamedFile.create(beside: path) {
        case .success(let descriptor):
            guard let sectors = EncryptedSectors(descriptor) else { return SQLITE_ERROR }
            let code = pieces.forEach(below: count) { sectors.write($0, at: $1) }
            if code == SQLITE_OK { place = .disk(sectors) }
            return code
        case .failure(let error) where UnnamedFile.refusals.contains(error.code):
            staysInMemory = true
            return SQLITE_OK
        case .failure(let error):
            return [.ENOSPC, .EDQUOT].contains(error.code) ? SQLITE_FULL : SQLITE_CANTOPEN
        }
    }
}

/// How much memory the temporary files of a process may still take.
package final class MemoryRoom: Sendable {
    private let free: Locked<Int>

    /// - Parameter count: In bytes.
    package init(_ count: Int) {
        free = Locked(count)
    }

    /// - Parameter limited: Whether nothing is taken if there is not enough.
    @discardableResult
    package func take(_ count: Int, limited: Bool) -> Bool {
        free.withLock {
            guard $0 >= count || !limited else { return false }
            $0 -= count
            return true
        }
    }

    package func give(_ count: Int) {
        free.withLock { $0 += count }
    }
}

/// Bytes in memory that goes back to the system as soon as it isn't used. Bytes that were never
/// written are zero.
private final class MemoryPieces {
    private static let size = 256 << 10

    private var pieces: [UnsafeMutableRawPointer?] = []
    private let room: MemoryRoom

    init(_ room: MemoryRoom) {
        self.room = room
    }

    deinit {
        for index in pieces.indices { free(index) }
    }

    private func free(_ index: Int) {
        guard let piece = pieces[index] else { return }
        munmap(piece, Self.size)
        room.give(Self.size)
        pieces[index] = nil
    }

    /// Makes memory for a range.
    ///
    /// - Parameter beyondRoom: Whether it is made even if there is no more room.
    /// - Returns: Whether there is memory for all of it.
    func make(_ range: Range<Int>, beyondRoom: Bool) -> Bool {
        guard !range.isEmpty else { return true }
        let last = (range.upperBound - 1) / Self.size
        for index in (range.lowerBound / Self.size)...last {
            while index >= pieces.count { pieces.append(nil) }
            guard pieces[index] == nil else { continue }
            guard room.take(Self.size, limited: !beyondRoom) else { return false }
            let access = PROT_READ | PROT_WRITE
            let piece = mmap(nil, Self.size, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
            guard piece != MAP_FAILED else {
                room.give(Self.size)
                return false
            }
            pieces[index] = piece
        }
        return true
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int32 {
        forEach(of: offset..<(offset + buffer.count)) { index, start, range in
            let target = buffer.part(range.lowerBound, range.upperBound)
            // The file may be longer than what was written.
            if index < pieces.count, let piece = pieces[index] {
                target.copyMemory(from: .init(start: piece + start, count: range.count))
            } else {
                target.initializeMemory(as: UInt8.self, repeating: 0)
            }
        }
        return SQLITE_OK
    }

    /// Writes to memory that was made.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Int32 {
        forEach(of: offset..<(offset + bytes.count)) { index, start, range in
            guard let piece = pieces[index] else { return }
            UnsafeMutableRawBufferPointer(start: piece + start, count: range.count)
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[range]))
        }
        return SQLITE_OK
    }

    func cut(at size: Int) {
        let whole = size / Self.size
        for index in pieces.indices where index >= whole {
            let start = index == whole ? size % Self.size : 0
            if start == 0 { free(index) }
            guard let piece = pieces[index] else { continue }
            UnsafeMutableRawBufferPointer(start: piece + start, count: Self.size - start)
                .initializeMemory(as: UInt8.self, repeating: 0)
        }
        pieces.removeLast(max(0, pieces.count - (size + Self.size - 1) / Self.size))
    }

    /// Calls `body` with what was written, and where, until it fails.
    func forEach(
        below count: Int,
        _ body: (_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> Int32
    ) -> Int32 {
        for (index, piece) in pieces.enumerated() {
            let start = index * Self.size
            guard let piece, start < count else { continue }
            let code = body(.init(start: piece, count: min(Self.size, count - start)), start)
            guard code == SQLITE_OK else { return code }
        }
        return SQLITE_OK
    }

    /// Calls `body` with each piece of a range, where the range begins in it, and the part of the
    /// range.
    private func forEach(of range: Range<Int>, _ body: (Int, Int, Range<Int>) -> Void) {
        var offset = range.lowerBound
        while offset < range.upperBound {
            let (index, start) = offset.quotientAndRemainder(dividingBy: Self.size)
            let end = min(range.upperBound, (index + 1) * Self.size)
            let part = (offset - range.lowerBound)..<(end - range.lowerBound)
            body(index, start, part)
            offset = end
        }
    }
}

extension UnsafeMutableRawBufferPointer {
    fileprivate func part(_ start: Int, _ end: Int) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: self[start..<end])
    }
}
