import MigrationKitPages

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
    let pageCount: Int
    /// The header of the first page, if it can be read.
    let header: [UInt8]?
    private let file: RawFile
    private let beside: RawFile?
    private let versions: PageVersions
    /// The page with SQLite's lock bytes, which has no content, and so no damage.
    private let lockPage: Int
    private(set) var states: [State]
    /// The kind of each page: a kind of ``TreePage``, or 0.
    private(set) var kinds: [UInt8]

    /// - Parameters:
    ///   - file: The database.
    ///   - beside: The log or the journal.
    ///   - versions: The versions in that file.
    init(file: RawFile, beside: RawFile?, versions: PageVersions, form: PageForm) {
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
        let inFile = (file.size + form.pageSize - 1) / form.pageSize
        // Limited by the file's size, so that a wrong number doesn't use all memory.
        let limit = inFile + versions.frameCount + (1 << 20)
        let told = versions.pageCount ?? header.flatMap { DatabaseHeader($0)?.pageCount }
        pageCount = max(1, min(told ?? max(inFile, versions.offsets.greatestPage ?? 0), limit))
        states = Array(repeating: .missing, count: pageCount + 1)
        kinds = Array(repeating: 0, count: pageCount + 1)
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
            } else {
                states[number] = number * form.pageSize > file.size ? .missing : .damaged
            }
            try visit(number, tree)
        }
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

    func tree(_ number: Int) -> TreePage? {
        content(number).flatMap { TreePage($0, number: number, usableSize: form.usableSize) }
    }

    private static func read(
        _ number: Int,
        _ file: RawFile,
        _ beside: RawFile?,
        _ versions: PageVersions,
        _ form: PageForm
    ) -> [UInt8]? {
        // Pages that the disk can't read are reported as damaged.
        let bytes =
            versions.offsets[number].map { try? beside?.read(at: $0, count: form.pageSize) }
            ?? (try? file.read(at: (number - 1) * form.pageSize, count: form.pageSize))
        guard let bytes, form.isIntact(bytes, number: number) else { return nil }
        return form.content(bytes, number: number)
    }
}
