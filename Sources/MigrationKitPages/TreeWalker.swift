/// A part of a b-tree that one thread walks: an inner page with its leaves, or a root that is a leaf.
struct WalkUnit: Sendable {
    var page: Int
    let isTable: Bool
    /// Whether the page has leaves below it.
    let isInner: Bool
    /// The inner page that leads here; 0 for a root.
    var parent = 0
    /// The rowids are greater than this; `nil` for the first part.
    var after: Int64?
    /// The rowids are not greater than this; `nil` for the last part.
    var through: Int64?
    /// In an index: the entry between this part and the next one.
    var separator: TreeContent?
}

/// One thread's walk over b-trees.
final class TreeWalker: @unchecked Sendable {
    // `@unchecked`: one thread at a time uses it.

    private(set) var findings: [String] = []
    private(set) var readFailure: CipherCode?
    private(set) var results: [(index: Int, content: TreeContent, columns: StoredColumns)] = []

    private let reader: PageReader
    private let layout: DatabaseLayout
    private let keys: ContentKeys
    private let shared: WalkState
    private let mostFindings: Int
    /// The pages that this walk has reached.
    private var reached: PageSet
    private(set) var freePages: PageSet
    private var innerUsage: PageUsage
    private var leafUsage: PageUsage
    private let inner: WalkBuffer
    private let leaf: WalkBuffer
    private let overflow: WalkBuffer
    /// The first bytes of the item that was added last, if they were asked for.
    private var kept: [UInt8] = []
    /// What the rows of the current part have.
    private var columns = StoredColumns()

    private static let deepest = 20

    init(
        _ reader: PageReader,
        _ layout: DatabaseLayout,
        _ keys: ContentKeys,
        _ shared: WalkState,
        mostFindings: Int
    ) {
        self.mostFindings = mostFindings
        self.reader = reader
        self.layout = layout
        self.keys = keys
        self.shared = shared
        reached = PageSet(layout.pageCount)
        freePages = PageSet(layout.pageCount)
        innerUsage = PageUsage(pageSize: layout.pageSize)
        leafUsage = PageUsage(pageSize: layout.pageSize)
        inner = WalkBuffer(layout.pageSize)
        leaf = WalkBuffer(layout.pageSize)
        overflow = WalkBuffer(layout.pageSize)
    }

    private func note(_ page: Int, _ finding: String) {
        guard findings.count < mostFindings else { return }
        findings.append("page \(page): \(finding)")
    }

    // MARK: - Pages

    /// Claims a page and reads it.
    private func read(_ page: Int, into buffer: WalkBuffer) -> Bool {
        claim(page) && readAgain(page, into: buffer)
    }

    /// Reads a page without claiming it.
    private func readAgain(_ page: Int, into buffer: WalkBuffer) -> Bool {
        do {
            try reader.read(page, into: buffer.page)
        } catch {
            if error.isReadFailure { readFailure = error }
            note(page, "can't be read (SQLite \(error.rawValue))")
            return false
        }
        shared.advance(by: layout.pageSize)
        return true
    }

    private func exists(_ page: Int) -> Bool {
        let exists = page >= 1 && page <= layout.pageCount && page != layout.lockPage
        if !exists { note(page, "isn't a page of the file") }
        return exists
    }

    private func claim(_ page: Int) -> Bool {
        guard exists(page) else { return false }
        guard reached.insert(page), layout.maps?.isMap(page) != true else {
            note(page, "is used twice")
            return false
        }
        return true
    }

    /// Checks what the pointer map says of a page.
    private func checkMap(_ page: Int, _ kind: PointerMaps.Kind, from parent: Int) {
        guard let maps = layout.maps, !maps.leads(to: page, as: kind, from: parent) else { return }
        note(page, "the pointer map is wrong")
    }

    // MARK: - Free Pages and Roots

    /// <https://www.sqlite.org/fileformat.html#the_freelist>
    func walkFreelist() {
        var trunk = layout.header.withUnsafeBytes { $0.word(32) }
        var rest = layout.header.withUnsafeBytes { $0.word(36) }
        while trunk != 0, shared.goesOn {
            checkMap(trunk, .free, from: 0)
            guard read(trunk, into: inner) else { return }
            rest -= 1
            let count = inner.bytes.word(4)
            guard count <= layout.usableSize / 4 - 2 else {
                return note(trunk, "has too many free pages")
            }
            for index in 0..<count {
                let page = inner.bytes.word(8 + 4 * index)
                checkMap(page, .free, from: 0)
                if claim(page) { _ = freePages.insert(page) }
            }
            rest -= count
            trunk = inner.bytes.word(0)
        }
        if rest != 0 { note(1, "the freelist has another length") }
    }

    func checkRoots(_ trees: [StoredTree]) {
        guard layout.maps != nil else { return }
        for tree in trees where tree.root > 1 { checkMap(tree.root, .root, from: 0) }
        // The greatest root page, which auto-vacuum needs to know.
        // <https://www.sqlite.org/fileformat.html#incremental_vacuum_settings>
        let greatest = layout.header.withUnsafeBytes { $0.word(52) }
        if trees.map(\.root).max() != greatest { note(1, "the greatest root page differs") }
    }

    /// Reads those pages in a range that are in a set, so that each is authenticated. What they contain
    /// isn't checked.
    func readPages(_ range: ClosedRange<Int>, of pages: PageSet) {
        for page in range where page <= layout.pageCount && pages.contains(page) {
            _ = readAgain(page, into: leaf)
        }
    }

    /// The pages that several walks have reached. Notes those that more than one has.
    func union(_ walkers: [TreeWalker]) -> PageSet {
        var all = PageSet(layout.pageCount)
        for walker in walkers {
            if let page = all.formUnion(walker.reached) { note(page, "is used twice") }
        }
        return all
    }

    /// Notes the pages that nothing leads to.
    func findUnused(_ reached: PageSet) {
        for page in reached.missing() where page != layout.lockPage {
            guard layout.maps?.isMap(page) != true else { continue }
            note(page, StructureCheck.neverUsed)
            return
        }
    }

    // MARK: - Trees

    /// Splits a tree into parts, and checks the pages above these.
    func plan(_ tree: StoredTree) -> [WalkUnit] {
        guard let depth = depth(of: tree) else { return [] }
        var units = [WalkUnit(page: tree.root, isTable: tree.isTable, isInner: depth > 0)]
        for _ in 1..<max(depth, 1) {
            units = units.flatMap { unit in
                var parts: [WalkUnit] = []
                eachChild(of: unit) { child, after, through, separator in
                    var part = unit
                    (part.page, part.parent) = (child, unit.page)
                    (part.after, part.through) = (after, through)
                    part.separator = separator.map {
                        var content = TreeContent()
                        content.append($0, isOrdered: true, keys)
                        return content
                    }
                    parts.append(part)
                }
                // After the last child comes what comes after its parent.
                if !parts.isEmpty { parts[parts.count - 1].separator = unit.separator }
                return parts
            }
        }
        return units
    }

    /// The number of inner pages above each leaf; `nil` if the first leaf can't be found.
    private func depth(of tree: StoredTree) -> Int? {
        var page = tree.root
        for depth in 0...Self.deepest {
            guard exists(page), readAgain(page, into: inner) else { return nil }
            guard let view = view(of: inner, page), view.kind.isTable == tree.isTable else {
                note(page, "is of the wrong kind")
                return nil
            }
            if view.kind.isLeaf { return depth }
            guard let cell = view.cellCount > 0 ? view.cell(0)?.child : view.rightmost else {
                note(page, "has a cell outside of its content")
                return nil
            }
            page = cell
        }
        note(tree.root, "the tree is too deep")
        return nil
    }

    private func view(of buffer: WalkBuffer, _ page: Int) -> TreePageView? {
        TreePageView(buffer.bytes, number: page, usableSize: layout.usableSize)
    }

    /// Walks one part, and keeps the digest of its content.
    func walk(_ unit: WalkUnit, at index: Int) {
        var content = TreeContent()
        columns = StoredColumns()
        if unit.isInner {
            eachChild(of: unit) { child, after, through, separator in
                walkLeaf(child, unit, from: unit.page, after, through, &content)
                if let separator { content.append(separator, isOrdered: true, keys) }
            }
        } else {
            walkLeaf(unit.page, unit, from: unit.parent, unit.after, unit.through, &content)
        }
        results.append((index, content, columns))
    }

    /// Checks an inner page, and calls `body` for each child, with the bounds of its rowids, and with
    /// the entry that follows it.
    private func eachChild(
        of unit: WalkUnit,
        _ body: (
            _ child: Int, _ after: Int64?, _ through: Int64?, _ separator: ItemHash.Value?
        ) -> Void
    ) {
        let page = unit.page
        if unit.parent > 0 { checkMap(page, .tree, from: unit.parent) }
        guard read(page, into: inner) else { return }
        guard let view = view(of: inner, page), !view.kind.isLeaf,
            view.kind.isTable == unit.isTable
        else { return note(page, "is of the wrong kind") }
        innerUsage.clear()
        var after = unit.after
        for index in 0..<view.cellCount {
            guard shared.goesOn else { return }
            guard let cell = view.cell(index), innerUsage.add(cell.offset, cell.end) else {
                return note(page, "has a cell outside of its content, or two in one place")
            }
            var separator: ItemHash.Value?
            if unit.isTable {
                guard after.map({ cell.rowid > $0 }) ?? true,
                    unit.through.map({ cell.rowid <= $0 }) ?? true
                else { return note(page, "has rowids out of order") }
            } else {
                guard let item = item(cell, in: inner, page) else { return }
                separator = item
            }
            body(cell.child, after, unit.isTable ? cell.rowid : nil, separator)
            after = unit.isTable ? cell.rowid : nil
        }
        if !view.accounts(for: &innerUsage) { note(page, "has overlapping or lost bytes") }
        body(view.rightmost, after, unit.through, nil)
    }

    private func walkLeaf(
        _ page: Int,
        _ unit: WalkUnit,
        from parent: Int,
        _ after: Int64?,
        _ through: Int64?,
        _ content: inout TreeContent
    ) {
        guard shared.goesOn else { return }
        if parent > 0 { checkMap(page, .tree, from: parent) }
        guard read(page, into: leaf) else { return }
        guard let view = view(of: leaf, page), view.kind.isLeaf,
            view.kind.isTable == unit.isTable, view.cellCount > 0 || parent == 0
        else { return note(page, "is of the wrong kind") }
        leafUsage.clear()
        var last = after
        for index in 0..<view.cellCount {
            guard let cell = view.cell(index), leafUsage.add(cell.offset, cell.end) else {
                return note(page, "has a cell outside of its content, or two in one place")
            }
            if unit.isTable {
                if let last, cell.rowid <= last {
                    return note(page, "has rowids out of order")
                }
                last = cell.rowid
            }
            guard let item = item(cell, in: leaf, page, isRow: unit.isTable) else { return }
            content.append(item, isOrdered: !unit.isTable, keys)
        }
        if let last, let through, last > through { note(page, "has rowids out of order") }
        if !view.accounts(for: &leafUsage) { note(page, "has overlapping or lost bytes") }
    }

    // MARK: - Rows and Entries

    /// The hash of a cell's record, with what is on overflow pages.
    ///
    /// - Parameters:
    ///   - isRow: Whether it is a row with a rowid, and counts for ``columns``.
    ///   - keepsAll: Whether the record's bytes are kept.
    /// - Returns: `nil` after a finding.
    private func item(
        _ cell: TreeCell,
        in buffer: WalkBuffer,
        _ page: Int,
        isRow: Bool = false,
        keepsAll: Bool = false
    ) -> ItemHash.Value? {
        var hash = ItemHash(keys, rowid: cell.rowid)
        let local = UnsafeRawBufferPointer(rebasing: buffer.bytes[cell.local])
        hash.add(local)
        guard cell.overflow != nil || keepsAll else {
            guard
                isRow
                    ? columns.add(local, count: cell.payloadCount, isWhole: true)
                    : RecordHeader.isValid(local, count: cell.payloadCount)
            else {
                note(page, "has a record whose header is wrong")
                return nil
            }
            return hash.finish()
        }
        kept.removeAll(keepingCapacity: true)
        kept += local
        let most = keepsAll ? cell.payloadCount : min(cell.payloadCount, RecordHeader.most)
        var place = 0
        let stated = local.varint(&place, end: local.count) ?? 0
        let headerCount = min(Int(clamping: stated), most)
        guard walkOverflow(of: cell, page, keeping: keepsAll ? most : headerCount, &hash)
        else { return nil }
        let isValid = kept.withUnsafeBytes {
            isRow
                ? columns.add($0, count: cell.payloadCount, isWhole: false)
                : RecordHeader.isValid($0, count: cell.payloadCount)
        }
        guard isValid else {
            note(page, "has a record whose header is wrong")
            return nil
        }
        return hash.finish()
    }

    /// <https://www.sqlite.org/fileformat.html#cell_payload_overflow_pages>
    private func walkOverflow(
        of cell: TreeCell,
        _ page: Int,
        keeping most: Int,
        _ hash: inout ItemHash
    ) -> Bool {
        var rest = cell.payloadCount - cell.local.count
        var (next, last) = (cell.overflow ?? 0, page)
        while rest > 0 {
            checkMap(next, last == page ? .firstOverflow : .overflow, from: last)
            guard shared.goesOn, read(next, into: overflow) else { return false }
            let count = min(rest, layout.usableSize - 4)
            let part = UnsafeRawBufferPointer(rebasing: overflow.bytes[4..<4 + count])
            hash.add(part)
            if kept.count < most { kept += part }
            rest -= count
            last = next
            next = overflow.bytes.word(0)
        }
        if next != 0 { note(last, "doesn't end its overflow chain") }
        return next == 0
    }

    // MARK: - The Schema

    /// The objects of the database. Their b-tree itself is walked later.
    func readSchema() -> [StoredObject] {
        let (mine, count) = (reached, findings.count)
        var objects: [StoredObject] = []
        var isReadable = true
        for unit in plan(layout.schema) {
            if unit.isInner {
                eachChild(of: unit) { child, _, _, _ in
                    isReadable = readObjects(on: child, &objects) && isReadable
                }
            } else {
                isReadable = readObjects(on: unit.page, &objects) && isReadable
            }
        }
        // The walk finds what is wrong with the pages again.
        findings.removeSubrange(count...)
        reached = mine
        if !isReadable { note(1, "the schema can't be read") }
        return objects
    }

    private func readObjects(on page: Int, _ objects: inout [StoredObject]) -> Bool {
        guard exists(page), readAgain(page, into: leaf), let view = view(of: leaf, page),
            view.kind == .leafTable
        else { return false }
        for index in 0..<view.cellCount {
            guard let cell = view.cell(index),
                item(cell, in: leaf, page, keepsAll: true) != nil,
                let object = StoredObject(record: kept, encoding: layout.header[59]),
                object.isPlausible
            else { return false }
            objects.append(object)
        }
        return true
    }
}

/// The memory of one page.
private final class WalkBuffer {
    let page: UnsafeMutableRawBufferPointer

    init(_ pageSize: Int) {
        page = UnsafeMutableRawBufferPointer.allocate(byteCount: pageSize, alignment: 16)
        page.initializeMemory(as: UInt8.self, repeating: 0)
    }

    deinit { page.deallocate() }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(page) }
}

/// A set of pages, with one bit for each page of the file.
package struct PageSet {
    private var words: [UInt64]
    private let pageCount: Int

    package init(_ pageCount: Int) {
        self.pageCount = pageCount
        words = Array(repeating: 0, count: pageCount / 64 + 1)
    }

    package func contains(_ page: Int) -> Bool { words[page / 64] >> UInt64(page % 64) & 1 == 1 }

    /// - Returns: Whether the page wasn't in the set.
    @discardableResult
    package mutating func insert(_ page: Int) -> Bool {
        let bit: UInt64 = 1 << UInt64(page % 64)
        defer { words[page / 64] |= bit }
        return words[page / 64] & bit == 0
    }

    /// - Returns: A page that is in both sets.
    mutating func formUnion(_ other: PageSet) -> Int? {
        var common: Int?
        for index in words.indices {
            let both = words[index] & other.words[index]
            if both != 0, common == nil { common = index * 64 + both.trailingZeroBitCount }
            words[index] |= other.words[index]
        }
        return common
    }

    /// The pages that aren't in the set.
    func missing() -> some Sequence<Int> {
        (1...pageCount).lazy.filter { !contains($0) }
    }
}
