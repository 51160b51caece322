import MigrationKitPages

/// Finds out which b-tree each page belongs to.
final class TreeWalk {
    /// The owner of a page that isn't a tree.
    enum Owner {
        static let nobody: Int32 = -1
        static let free: Int32 = -2
        static let pointerMap: Int32 = -3
    }

    let pages: SalvagePages
    private(set) var trees: [SalvageTree] = []
    /// By page: the tree's index, or an ``Owner``.
    private(set) var owners: [Int32]
    /// Whether all pages of the freelist are known.
    private(set) var knowsFreePages = false
    /// The pages of the freelist. It may be wrong, so a tree's page isn't free although it is listed.
    private var listed: PageSet
    private var roots: Set<Int> = []
    private var deferred: [(page: Int, tree: Int, depth: Int, after: Int64?, through: Int64?)] = []
    private var readsOlder = false

    private static let deepest = 40

    init(_ pages: SalvagePages) {
        self.pages = pages
        owners = Array(repeating: Owner.nobody, count: pages.pageCount + 1)
        listed = PageSet(pages.pageCount)
    }

    // MARK: - Pages of no Tree

    /// Marks the pointer maps, whose first byte may look like a b-tree page's.
    /// <https://www.sqlite.org/fileformat.html#pointer_map_or_ptrmap_pages>
    func markPointerMaps() {
        let lockPage = DatabaseHeader.lockPage(pageSize: pages.form.pageSize)
        for place in stride(from: 2, through: pages.pageCount, by: pages.form.usableSize / 5 + 1) {
            // The page with the lock bytes isn't used. A map that belongs there comes after it.
            let number = place == lockPage ? place + 1 : place
            if number <= pages.pageCount { owners[number] = Owner.pointerMap }
        }
    }

    /// Reads the freelist. <https://www.sqlite.org/fileformat.html#the_freelist>
    func readFreelist() {
        guard let header = pages.header else { return }
        var trunk = Int(header.word(32))
        var count = 0
        func list(_ page: Int) -> Bool {
            pages.noteMissing(page)
            guard pages.canBeFree(page), owners[page] == Owner.nobody, listed.insert(page) else {
                return false
            }
            count += 1
            return true
        }
        while trunk != 0 {
            guard list(trunk), pages.states[trunk] == .intact, let content = pages.content(trunk)
            else { return }
            let leaves = min(Int(content.word(4)), pages.form.usableSize / 4 - 2)
            for index in 0..<max(0, leaves) { _ = list(Int(content.word(8 + 4 * index))) }
            trunk = Int(content.word(0))
        }
        knowsFreePages = count == Int(header.word(36)) && pages.states[1] == .intact
    }

    /// Whether a page may be one of the schema, a table or an index that nothing leads to.
    func isUnclaimed(_ page: Int) -> Bool {
        page <= pages.lastPage && owners[page] == Owner.nobody && !listed.contains(page)
    }

    /// Marks the pages of the freelist that no tree has.
    func markFreePages() {
        for page in 1..<(pages.pageCount + 1)
        where owners[page] == Owner.nobody && listed.contains(page) {
            owners[page] = Owner.free
        }
    }

    // MARK: - Trees

    /// Claims the pages of trees, starting at their roots. Pages in an older version come last.
    func add(_ new: [SalvageTree]) {
        let indices = trees.count..<(trees.count + new.count)
        trees += new
        roots.formUnion(new.map(\.object.root))
        for index in indices {
            visit(trees[index].object.root, tree: index, depth: 0, after: nil, through: nil)
        }
        // Older pages are followed last, so that they take no pages from reliable ones.
        readsOlder = true
        while !deferred.isEmpty {
            let places = deferred
            deferred = []
            for place in places {
                read(
                    place.page,
                    tree: place.tree,
                    depth: place.depth,
                    after: place.after,
                    through: place.through
                )
            }
        }
        readsOlder = false
    }

    /// Claims the pages of a part of a tree whose top page no other page leads to.
    func attach(_ page: Int, to tree: Int) {
        // Its depth is unknown, so the depths of the part and of the other pages can't be compared.
        let (depth, holeCount) = (trees[tree].leafDepth, trees[tree].holes.count)
        trees[tree].leafDepth = nil
        visit(page, tree: tree, depth: 1, after: nil, through: nil)
        let leafDepth = trees[tree].leafDepth
        for index in trees[tree].holes.indices.dropFirst(holeCount) {
            let depth = trees[tree].holes[index].depth
            trees[tree].holes[index].isInner = leafDepth.map { depth < $0 } ?? false
        }
        trees[tree].leafDepth = depth
        trees[tree].attachedCount += 1
    }

    /// Sets the owner of a page that no walk has reached.
    func own(_ page: Int, by owner: Int32) { owners[page] = owner }

    /// The tree whose root is this page.
    func tree(withRoot page: Int) -> Int? { trees.firstIndex { $0.object.root == page } }

    private func visit(_ page: Int, tree: Int, depth: Int, after: Int64?, through: Int64?) {
        func hole(isOlder: Bool = false) {
            // Many pages below an older page belong to another tree by now.
            guard !readsOlder else { return }
            trees[tree].holes.append(
                .init(page: page, depth: depth, after: after, through: through, isOlder: isOlder)
            )
        }
        pages.noteMissing(page)
        guard (1...pages.pageCount).contains(page), depth < Self.deepest,
            owners[page] == Owner.nobody, depth == 0 || !roots.contains(page)
        else { return hole() }
        // What led to an older version's pages may have freed them since.
        guard !readsOlder || !listed.contains(page) else { return }
        pages.noteUse(of: page)
        switch pages.states[page] {
        case .damaged, .missing:
            owners[page] = Int32(tree)
            return hole()
        case .older:
            guard isOfKind(page, tree) else { return hole() }
            owners[page] = Int32(tree)
            hole(isOlder: true)
            deferred.append((page, tree, depth, after, through))
        case .intact:
            guard isOfKind(page, tree), isInBounds(page, tree, after, through) else {
                return hole()
            }
            owners[page] = Int32(tree)
            read(page, tree: tree, depth: depth, after: after, through: through)
        }
    }

    private func isOfKind(_ page: Int, _ tree: Int) -> Bool {
        pages.kind(page)?.isTable == trees[tree].isTable
    }

    /// Whether a page without an HMAC has rows that fit in this place.
    private func isInBounds(_ page: Int, _ tree: Int, _ after: Int64?, _ through: Int64?) -> Bool {
        guard !pages.form.provesPages, trees[tree].isTable, after != nil || through != nil else {
            return true
        }
        guard let content = pages.tree(page) else { return false }
        let inside = content.cells.count { cell in
            cell.rowid > after ?? .min && cell.rowid <= through ?? .max
        }
        return 2 * inside >= content.cells.count
    }

    private func read(_ page: Int, tree: Int, depth: Int, after: Int64?, through: Int64?) {
        func addRowPage() {
            if readsOlder {
                trees[tree].olderRowPages.append(UInt32(page))
            } else {
                trees[tree].rowPages.append(UInt32(page))
            }
        }
        guard let kind = pages.kind(page), !kind.isLeaf else {
            if !readsOlder { trees[tree].leafDepth = trees[tree].leafDepth ?? depth }
            return addRowPage()
        }
        guard let content = pages.tree(page) else {
            // The page was readable in the first pass. For an older page, the hole is already
            // recorded.
            if !readsOlder {
                trees[tree].holes.append(
                    .init(page: page, depth: depth, after: after, through: through, isInner: true)
                )
            }
            return
        }
        if kind == .innerIndex, trees[tree].hasRows { addRowPage() }
        var last = after
        for cell in content.cells {
            let rowid = kind.isTable ? cell.rowid : nil
            visit(cell.child, tree: tree, depth: depth + 1, after: last, through: rowid)
            last = rowid
        }
        if let rightmost = content.rightmost {
            visit(rightmost, tree: tree, depth: depth + 1, after: last, through: through)
        }
        if content.badCellCount > 0, !readsOlder {
            trees[tree].holes.append(
                .init(page: 0, depth: depth + 1, after: after, through: through)
            )
        }
    }

    // MARK: - Orphans

    /// The pages that look like b-tree pages and were reached from no root, except those below
    /// another one of them.
    ///
    /// Pages that lead to each other in a circle have none above them. Each circle gives one page.
    func orphans() -> [Int] {
        // If the root of a large table is damaged, these are most pages of the file.
        var candidates = PageSet(pages.pageCount)
        var below = PageSet(pages.pageCount)
        var inner: [Int] = []
        for number in 2..<max(2, pages.lastPage + 1) {
            guard owners[number] == Owner.nobody, pages.states[number] == .intact,
                let kind = pages.kind(number)
            else { continue }
            candidates.insert(number)
            if !kind.isLeaf { inner.append(number) }
            for child in children(of: number) where child != number { below.insert(child) }
        }
        var tops = (1...pages.lastPage).filter { candidates.contains($0) && !below.contains($0) }
        var reached = PageSet(pages.pageCount)
        func reach(_ top: Int) {
            var rest = [top]
            while let page = rest.popLast() {
                guard candidates.contains(page), reached.insert(page) else { continue }
                rest += children(of: page)
            }
        }
        tops.forEach(reach)
        for number in inner where !reached.contains(number) {
            tops.append(number)
            reach(number)
        }
        return tops.sorted()
    }

    /// The pages of the same kind of tree that an inner page leads to.
    private func children(of page: Int) -> [Int] {
        guard let kind = pages.kind(page), !kind.isLeaf, let content = pages.tree(page) else {
            return []
        }
        return (content.cells.map(\.child) + [content.rightmost ?? 0]).filter { child in
            (2...pages.pageCount).contains(child) && pages.kind(child)?.isTable == kind.isTable
        }
    }

    /// The first and the last rowid of a part of a tree.
    func rowids(below page: Int) -> ClosedRange<Int64>? {
        func end(_ isFirst: Bool) -> Int64? {
            var number = page
            for _ in 0..<Self.deepest {
                guard let content = pages.tree(number), content.kind.isTable else { return nil }
                if content.kind.isLeaf {
                    return (isFirst ? content.cells.first : content.cells.last)?.rowid
                }
                guard let child = isFirst ? content.cells.first?.child : content.rightmost,
                    pages.kind(child)?.isTable == true
                else { return isFirst ? .min : content.cells.last?.rowid }
                number = child
            }
            return nil
        }
        guard let first = end(true), let last = end(false), first <= last else { return nil }
        return first...last
    }

    /// The root of the tree that a page belongs to according to the pointer maps, which also cover
    /// damaged pages; `nil` if they don't say; 0 if the page is free.
    func mappedRoot(of page: Int) -> Int? {
        var number = page
        for _ in 0..<100_000 {
            guard let (type, parent) = mapped(number) else { return nil }
            switch type {
            case 1: return number
            case 2: return 0
            case 3, 4, 5: number = parent
            default: return nil
            }
        }
        return nil
    }

    private func mapped(_ page: Int) -> (type: UInt8, parent: Int)? {
        guard page > 2, page <= pages.pageCount, owners[2] == Owner.pointerMap else { return nil }
        let perMap = pages.form.usableSize / 5 + 1
        var map = (page - 2) / perMap * perMap + 2
        if map == DatabaseHeader.lockPage(pageSize: pages.form.pageSize) { map += 1 }
        guard page > map, owners[map] == Owner.pointerMap, pages.states[map] == .intact,
            let content = pages.content(map)
        else { return nil }
        let offset = 5 * (page - map - 1)
        guard offset + 5 <= pages.form.usableSize else { return nil }
        return (content[offset], Int(content.word(offset + 1)))
    }
}

// MARK: - Salvage Tree

/// A table or index of the schema, and the pages of its b-tree.
struct SalvageTree {
    /// A place in the tree where a page can't be read.
    struct Hole {
        /// The page; 0 if it isn't known.
        let page: Int
        /// How many pages are above it.
        let depth: Int
        /// Its rows, or those of pages below it, have rowids greater than this one.
        let after: Int64?
        /// Their rowids are at most this one.
        let through: Int64?
        /// Whether an older version was read instead.
        var isOlder = false
        /// Whether it had leaves below it; `nil` if its depth shows this.
        var isInner: Bool?
    }

    let object: SalvagedObject
    /// Whether the b-tree has rowids as keys.
    let isTable: Bool
    /// The pages with its rows, in the order of the rows.
    var rowPages: [UInt32] = []
    /// The pages that were read in an older version, or were reached through one.
    var olderRowPages: [UInt32] = []
    var holes: [Hole] = []
    /// The depth of its leaves, which is the same for all; `nil` until one is reached.
    var leafDepth: Int?
    /// How many parts were attached to it because their parents are missing.
    var attachedCount = 0

    init(_ object: SalvagedObject) {
        self.object = object
        isTable = object.kind == .table && !object.isWithoutRowID
    }

    /// A part of a b-tree whose table is unknown.
    init(orphan page: Int, isTable: Bool) {
        object = SalvagedObject(kind: .table, name: "", table: "", root: page, sql: nil)
        self.isTable = isTable
    }

    /// Whether the missing page may have been an inner page, with leaves below it.
    func isInner(_ hole: Hole) -> Bool {
        hole.isInner ?? leafDepth.map { hole.depth < $0 } ?? (attachedCount > 0)
    }

    /// The same, while the pages below it are searched.
    func mayBeInner(_ hole: Hole) -> Bool {
        hole.isInner ?? leafDepth.map { hole.depth < $0 } ?? true
    }

    /// Whether its rows are needed. An index is rebuilt instead.
    var hasRows: Bool { object.kind == .table }
}
