import MigrationKitCommon
import MigrationKitPages
import MigrationKitSQLCipher

/// The pages of a damaged database, each in the version that is used.
///
/// This is the newest intact version: from the write-ahead log, from a rollback journal that must
/// be undone, or from the file. Only one page at a time is in memory, and a few bytes for each
/// other page.
final class SalvagePages {
    enum State: UInt8 {
        /// The newest version is intact.
        case intact
        /// The newest version is damaged, but an older one is intact.
        case older
        case damaged
        /// The file ends before it.
        case missing
    }

    private(set) var form: PageForm
    /// How many pages can be looked for: those of the file, and those of the log or the journal.
    let pageCount: Int
    /// How many pages the database has according to its header, or to the log or the journal; `nil` if
    /// none of them says. Damage can make it any number, so only what leads to a page proves that there
    /// was one.
    let statedCount: Int?
    /// The pages after this one are what is left of a longer database, unless a tree leads to them.
    private(set) var lastPage: Int
    /// The greatest page after the file's end that another page leads to; 0 if there is none.
    private(set) var greatestMissing = 0
    /// The header of the first page, if it can be read.
    let header: [UInt8]?
    /// `nil` if it is empty.
    private let file: RawFile?
    private let fileSize: Int
    private let beside: RawFile?
    private let versions: PageVersions
    /// The page with SQLite's lock bytes, which has no content, and so no damage.
    private let lockPage: Int
    private(set) var states: [State]
    /// The kind of each page: a kind of ``TreePage``, or 0.
    private(set) var kinds: [UInt8]
    /// How many cells each b-tree page has.
    private var cellCounts: [UInt16]
    /// The indexes that don't fit their tables; known after ``contradictions(_:)``.
    private(set) var unequalIndexes: [StructureCheck.Report.UnequalIndex] = []

    /// - Parameters:
    ///   - file: The database.
    ///   - beside: The log or the journal.
    ///   - versions: The versions in that file.
    init(file: RawFile?, beside: RawFile?, versions: PageVersions, form: PageForm) {
        self.file = file
        self.beside = beside
        self.versions = versions
        self.form = form
        lockPage = DatabaseHeader.lockPage(pageSize: form.pageSize)
        let first = Self.read(1, file, beside, versions, form)
        header = first.flatMap { DatabaseHeader($0) == nil ? nil : Array($0.prefix(100)) }
        if let header, Int(header[20]) >= form.reservedCount, Int(header[20]) <= form.pageSize - 480
        {
            self.form.reservedCount = Int(header[20])
        }
        fileSize = file?.size ?? 0
        let inFile = (fileSize + form.pageSize - 1) / form.pageSize
        // Limited by the file's size, so that a wrong number in a log doesn't use all memory.
        let limit = inFile + versions.frameCount + (1 << 20)
        pageCount = max(1, min(max(inFile, versions.offsets.greatestPage ?? 0), limit))
        statedCount = versions.pageCount ?? header.flatMap { DatabaseHeader($0)?.pageCount }
        lastPage = max(1, min(statedCount ?? pageCount, pageCount))
        states = Array(repeating: .missing, count: pageCount + 1)
        kinds = Array(repeating: 0, count: pageCount + 1)
        cellCounts = Array(repeating: 0, count: pageCount + 1)
    }

    /// Checks every page.
    ///
    /// - Parameter visit: Receives each page, and its content if it is a b-tree page.
    func scan(_ visit: (_ number: Int, TreePage?) throws -> Void) rethrows {
        for number in 1...pageCount {
            var tree: TreePage?
            if number == lockPage {
                states[number] = .intact
            } else if let content = Self.read(number, file, beside, versions, form) {
                states[number] = versions.older.contains(number) ? .older : .intact
                tree = TreePage(content, number: number, usableSize: form.usableSize)
                kinds[number] = tree?.kind.rawValue ?? 0
                cellCounts[number] = UInt16(clamping: tree?.cells.count ?? 0)
            } else {
                states[number] = number * form.pageSize > fileSize ? .missing : .damaged
            }
            try visit(number, tree)
        }
    }

    /// Notes that a tree has a page.
    func noteUse(of number: Int) {
        // The number of pages is wrong, so all others count, too.
        if number > lastPage { lastPage = pageCount }
    }

    /// Notes that another page leads to a page after the file's end.
    func noteMissing(_ number: Int) {
        guard number > pageCount, number <= statedCount ?? 0 else { return }
        greatestMissing = max(greatestMissing, number)
    }

    /// Finds out how many bytes of a page SQLite doesn't use, if the header doesn't say.
    ///
    /// A page is filled from its end. If settings are changed before the first page is written, the
    /// first settings determine how many bytes are reserved, so there may be more than the current
    /// settings need.
    func guessReservedCount() {
        let most = CipherSettings.current.reservedCount
        guard header == nil, form.isEncrypted, form.reservedCount < most else { return }
        let end = form.pageSize - most
        var reachCount = 0
        for number in 1...pageCount where kind(number)?.isLeaf == true {
            guard let tree = tree(number) else { continue }
            if tree.cells.contains(where: { $0.overflow == nil && $0.local.upperBound > end }) {
                reachCount += 1
            }
        }
        if reachCount == 0 { form.reservedCount = most }
    }

    /// Whether a page exists, and isn't the first. A file may have only that one.
    func canBeFree(_ number: Int) -> Bool { number >= 2 && number <= pageCount }

    /// The kind of a page; `nil` if it isn't a b-tree page, or doesn't exist.
    func kind(_ number: Int) -> TreeKind? {
        kinds.indices.contains(number) ? TreeKind(rawValue: kinds[number]) : nil
    }

    /// The content of a page; `nil` if it doesn't exist, or is damaged.
    ///
    /// A failing disk may read a page once and not again. From then on, the page counts as damaged.
    func content(_ number: Int) -> [UInt8]? {
        guard (1...pageCount).contains(number), number != lockPage,
            states[number] == .intact || states[number] == .older
        else { return nil }
        let content = Self.read(number, file, beside, versions, form)
        if content == nil { states[number] = .damaged }
        return content
    }

    /// Whether each page of the log or the journal could be read.
    var readsAllBeside: Bool {
        (1...pageCount).allSatisfy {
            versions.offsets[$0] == nil || states[$0] == .intact || states[$0] == .older
        }
    }

    func tree(_ number: Int) -> TreePage? {
        content(number).flatMap { TreePage($0, number: number, usableSize: form.usableSize) }
    }

    /// The pages that belong to a tree of the schema and can't be as SQLite leaves them, although each may
    /// be intact. A row may be lost on such a page, or below it.
    ///
    /// Free pages, pointer maps and what the header says of them don't count: rows depend on none of them.
    func contradictions(_ monitor: ConversionMonitor) throws -> Set<Int> {
        guard var header else { return [] }
        let (count, size) = (lastPage, form.pageSize)
        func put(_ value: Int, at offset: Int) {
            header.replaceSubrange(offset..<offset + 4, with: Self.bytes(value))
        }
        header.replaceSubrange(16..<18, with: [UInt8(size >> 8 & 0xff), UInt8(size >> 16)])
        (header[18], header[19], header[20]) = (1, 1, UInt8(form.reservedCount))
        put(min(Int(header.word(44)), 4), at: 44)
        put(count, at: 28)
        for offset in [32, 36, 52, 64] { put(0, at: offset) }
        header.replaceSubrange(92..<96, with: header[24..<28])
        let start = header
        let pages = Locked(self)
        let bytes = SharedBytes(count: count * size) { buffer, offset in
            pages.withLock { pages in
                for place in stride(from: 0, to: buffer.count, by: size) {
                    let number = (offset + place) / size + 1
                    // A damaged page is reported as that.
                    let content = pages.content(number) ?? [UInt8](repeating: 0, count: size)
                    let part = content.prefix(buffer.count - place)
                    UnsafeMutableRawBufferPointer(rebasing: buffer[place...]).copyBytes(from: part)
                }
                if offset == 0 { buffer.copyBytes(from: start.prefix(buffer.count)) }
            }
            return .ok
        }
        let check = StructureCheck(
            keys: ContentKeys(),
            readsFreePages: false,
            mostFindings: count
        )
        let report = try check.run(DecryptedPages(plaintext: bytes)) { _ in
            try monitor.checkCancellation()
        }
        unequalIndexes = report.unequalIndexes
        return report.pagesWithFindings
    }

    /// How many rows, or entries, are on a page.
    func cellCount(_ number: Int) -> Int { Int(cellCounts[number]) }

    private static func bytes(_ value: Int) -> [UInt8] {
        withUnsafeBytes(of: UInt32(value).bigEndian, Array.init)
    }

    private static func read(
        _ number: Int,
        _ file: RawFile?,
        _ beside: RawFile?,
        _ versions: PageVersions,
        _ form: PageForm
    ) -> [UInt8]? {
        // Pages that the disk can't read are reported as damaged.
        let bytes =
            versions.offsets[number].map { try? beside?.read(at: $0, count: form.pageSize) }
            ?? (try? file?.read(at: (number - 1) * form.pageSize, count: form.pageSize))
        guard let bytes, form.isIntact(bytes, number: number) else { return nil }
        return form.content(bytes, number: number)
    }
}
