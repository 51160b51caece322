/// Finds the tables of pages that no root leads to.
struct OrphanPlaces {
    let content: SalvageContent
    /// The tables of the new file, by the index of their tree.
    let tables: [Int: StoredTable]
    let isSchemaWhole: Bool

    /// By the index of the tree.
    private var openRanges: [Int: OpenRanges] = [:]

    private var walk: TreeWalk { content.walk }

    init(content: SalvageContent, tables: [Int: StoredTable], isSchemaWhole: Bool) {
        (self.content, self.tables, self.isSchemaWhole) = (content, tables, isSchemaWhole)
    }

    enum Place {
        case tree(Int)
        /// It belongs to an index, or its table is unknown.
        case nowhere
        case unknown
    }

    /// Attaches pages whose table can be determined.
    ///
    /// - Parameter watch: Called for each page. It may throw.
    /// - Returns: The parts of b-trees whose table is unknown.
    mutating func settle(_ watch: () throws -> Void) rethrows -> [Int] {
        var lost: [Int] = []
        for page in walk.orphans() {
            try watch()
            switch place(of: page) {
            case .tree(let tree): walk.attach(page, to: tree)
            case .nowhere: continue
            case .unknown: lost.append(page)
            }
        }
        return lost
    }

    private mutating func place(of page: Int) -> Place {
        if let root = walk.mappedRoot(of: page) {
            if root == 0 { return .nowhere }
            if let tree = walk.tree(withRoot: root) {
                return walk.trees[tree].hasRows ? .tree(tree) : .nowhere
            }
            if root == page { return .unknown }
        }
        let hasHoles = walk.trees.contains { !$0.holes.isEmpty }
        let isTable = content.pages.kind(page)?.isTable == true
        if isSchemaWhole, !hasHoles {
            // If nothing is missing, only a free page that isn't listed belongs nowhere. If all of them are
            // listed, a tree has another page in the place of this one.
            let mayHaveRows = isTable || walk.trees.contains { $0.hasRows && !$0.isTable }
            return walk.knowsFreePages && mayHaveRows ? .unknown : .nowhere
        }
        return isTable ? placeByRowids(of: page) : placeByFields(of: page)
    }

    /// A part of a table belongs where its rowids fit between those of its neighbours.
    private mutating func placeByRowids(of page: Int) -> Place {
        guard let rowids = walk.rowids(below: page) else { return .nowhere }
        let rows = firstRows(below: page)
        let (content, isSchemaWhole) = (content, isSchemaWhole)
        var candidates: [Int] = []
        for (index, tree) in walk.trees.enumerated() {
            guard let table = tables[index], tree.isTable else { continue }
            openRanges[index, default: OpenRanges()].add(tree.holes) { hole in
                // If its table is unknown, it could belong to any.
                content.mayMissLeaves(hole, tree)
                    && (isSchemaWhole || hole.after != nil || hole.through != nil)
            }
            if openRanges[index]?.contain(rowids) == true, rows.allSatisfy(table.fits) {
                candidates.append(index)
            }
        }
        return choose(candidates, rows)
    }

    private func placeByFields(of page: Int) -> Place {
        let rows = firstRows(below: page)
        guard let first = rows.first else { return .nowhere }
        let open = walk.trees.indices.filter { index in
            let tree = walk.trees[index]
            return !tree.isTable && tree.holes.contains { content.mayMissLeaves($0, tree) }
        }
        let candidates = open.filter { index in
            tables[index].map { rows.allSatisfy($0.fits) } ?? false
        }
        let mayBeIndex = open.contains { index in
            !walk.trees[index].hasRows
                && fieldCount(of: index).map { $0 == first.values.count } ?? true
        }
        if candidates.isEmpty { return isSchemaWhole ? .nowhere : .unknown }
        return mayBeIndex ? .unknown : choose(candidates, rows)
    }

    /// Chooses between several tables: the one whose columns match the values and their number, and
    /// which is known to have lost an inner page.
    private func choose(_ candidates: [Int], _ rows: [SalvagedRow]) -> Place {
        var rest = candidates
        let preferences: [(Int) -> Bool] = [
            { index in rows.allSatisfy { tables[index]?.isUsual($0) == true } },
            { index in rows.allSatisfy { $0.values.count == tables[index]?.columns.count } },
            { index in
                let tree = walk.trees[index]
                return tree.leafDepth != nil
                    && tree.holes.contains { content.mayMissLeaves($0, tree) }
            },
        ]
        for isPreferred in preferences where rest.count > 1 {
            let preferred = rest.filter(isPreferred)
            if !preferred.isEmpty { rest = preferred }
        }
        return rest.count == 1 ? .tree(rest[0]) : .unknown
    }

    private func fieldCount(of tree: Int) -> Int? {
        walk.trees[tree].rowPages.lazy.compactMap { firstRows(below: Int($0)).first?.values.count }
            .first
    }

    private func firstRows(below page: Int) -> [SalvagedRow] { content.firstRows(below: page) }
}

extension SalvageContent {
    /// The complete rows of the first leaf.
    func firstRows(below page: Int) -> [SalvagedRow] {
        var number = page
        for _ in 0..<40 {
            guard let tree = pages.tree(number) else { return [] }
            guard tree.kind == .innerTable, let child = tree.cells.first?.child,
                pages.kind(child)?.isTable == true
            else {
                return tree.cells.compactMap { cell in
                    cell.overflow == nil ? SalvagedRow(Array(tree.bytes[cell.local])) : nil
                }
            }
            number = child
        }
        return []
    }

    /// Whether pages may be missing at this place: below a damaged page or, without HMACs,
    /// anywhere.
    fileprivate func mayMissLeaves(_ hole: SalvageTree.Hole, _ tree: SalvageTree) -> Bool {
        !pages.form.provesPages || tree.mayBeInner(hole)
    }
}

/// The rowids that may be missing in a table. There may be as many ranges as damaged pages.
struct OpenRanges {
    /// Sorted by their beginnings. Each has the greatest end of all up to it.
    private var ranges: [(first: Int64, last: Int64)] = []
    private var holeCount = 0

    /// Adds the holes that weren't there before.
    mutating func add(_ holes: [SalvageTree.Hole], where isOpen: (SalvageTree.Hole) -> Bool) {
        guard holes.count > holeCount else { return }
        let new = holes[holeCount...].filter(isOpen)
        holeCount = holes.count
        guard !new.isEmpty else { return }
        ranges += new.compactMap { hole in
            hole.after == .max ? nil : (hole.after.map { $0 + 1 } ?? .min, hole.through ?? .max)
        }
        ranges.sort { $0.first < $1.first }
        var last = Int64.min
        for index in ranges.indices {
            last = max(last, ranges[index].last)
            ranges[index].last = last
        }
    }

    /// Whether all of these rowids are within one range.
    func contain(_ rowids: ClosedRange<Int64>) -> Bool {
        // The ranges that begin before.
        var (low, high) = (0, ranges.count)
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].first <= rowids.lowerBound { low = middle + 1 } else { high = middle }
        }
        return low > 0 && ranges[low - 1].last >= rowids.upperBound
    }
}
