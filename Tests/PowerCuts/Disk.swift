/// A folder and its files, as a file system holds them.
struct Disk {
    fileprivate struct File {
        var bytes: [UInt8]
        var size: Int
    }

    /// How much of an operation reached the disk before the cut.
    enum Portion: Equatable {
        case none
        case all
        /// Of a write: the sectors whose bits are set, and whether the file's new size did. A write
        /// of more than 64 sectors begins again with the first bit.
        case part(sectors: UInt64, size: Bool)
    }

    /// What a disk writes at once, or not at all.
    static let sectorSize = 512

    private var entries: [String: Int]
    private var contents: [Int: File]
    /// What a file is filled with where it was made longer and its content is missing. SQLite
    /// assumes that it can be anything.
    var filler: UInt8 = 0

    init(_ recording: Recording) {
        entries = recording.initialEntries
        contents = recording.initialContents.mapValues { File(bytes: $0, size: $0.count) }
    }

    /// The contents by name. A folder's name ends with `/`, and without that there is nothing in it.
    var files: [String: [UInt8]] {
        entries.filter { name, _ in
            guard let end = name.firstIndex(of: "/") else { return true }
            return entries[String(name[...end])] != nil
        }.mapValues { number in
            guard let file = contents[number] else { return [] }
            if file.bytes.count == file.size { return file.bytes }
            if file.bytes.count > file.size { return Array(file.bytes[..<file.size]) }
            return file.bytes
                + [UInt8](repeating: filler, count: file.size - file.bytes.count)
        }
    }

    mutating func apply(_ operation: Operation, _ portion: Portion = .all) {
        switch (portion, operation.kind) {
        case (.none, _): return
        case (.part, .write): break
        // What is no write has no parts.
        case (.part(_, size: false), _): return
        default: break
        }
        switch operation.kind {
        case .create(let file, let name), .link(let file, let name): entries[name] = file
        case .rename(let file, let from, let to):
            // A rename is one change of a folder: the old entry or the new one, never neither.
            if entries[from] == file { entries[from] = nil }
            entries[to] = file
        case .unlink(let name): entries[name] = nil
        case .write(let file, let offset, let bytes):
            guard case .part(let sectors, let size) = portion else {
                contents[file, default: File(bytes: [], size: 0)]
                    .write(bytes[...], at: offset, filler)
                contents[file]?.extend(to: offset + bytes.count)
                return
            }
            for (index, range) in Self.sectors(offset, bytes.count).enumerated()
            where sectors >> UInt64(index % 64) & 1 == 1 {
                contents[file, default: File(bytes: [], size: 0)]
                    .write(
                        bytes[(range.lowerBound - offset)..<(range.upperBound - offset)],
                        at: range.lowerBound,
                        filler
                    )
            }
            if size {
                contents[file, default: File(bytes: [], size: 0)].extend(to: offset + bytes.count)
            }
        case .setSize(let file, let size):
            contents[file, default: File(bytes: [], size: 0)].setSize(size)
        case .syncFile, .syncFolder, .keyStore, .said, .exited: break
        }
    }

    /// Where the sectors begin and end that a write is made of.
    static func sectors(_ offset: Int, _ count: Int) -> [Range<Int>] {
        var ranges: [Range<Int>] = []
        var start = offset
        while start < offset + count {
            let end = min(offset + count, (start / sectorSize + 1) * sectorSize)
            ranges.append(start..<end)
            start = end
        }
        return ranges
    }
}

extension Disk.File {
    fileprivate mutating func write(_ new: ArraySlice<UInt8>, at offset: Int, _ filler: UInt8) {
        if offset == bytes.count {
            bytes += new
            return
        }
        let end = offset + new.count
        if end > bytes.count {
            bytes += [UInt8](repeating: filler, count: end - bytes.count)
        }
        bytes.withUnsafeMutableBytes { target in
            new.withUnsafeBytes { source in
                UnsafeMutableRawBufferPointer(rebasing: target[offset..<end]).copyMemory(
                    from: source
                )
            }
        }
    }

    fileprivate mutating func extend(to end: Int) {
        size = max(size, end)
    }

    fileprivate mutating func setSize(_ new: Int) {
        if bytes.count > new { bytes.removeLast(bytes.count - new) }
        size = new
    }
}
