import GRDB
import MigrationKitSQLCipher

/// Fills the new file from the content of the damaged one.
final class SalvageFilling {
    let content: SalvageContent
    private let db: Database
    private let monitor: ConversionMonitor
    private let schema: SchemaWriter
    private let lost: LostAndFoundWriter
    /// By the index of their tree.
    private var stored: [Int: StoredTable] = [:]
    private var found: [Int: SalvageReport.Table] = [:]
    /// The pages with damage, each with the number of rows that lost a part there.
    private(set) var brokenPages: [Int: Int] = [:]
    /// How many lost rows belong to no known table.
    private(set) var lostOrphanRowCount = 0
    /// The damaged pages whose use is unknown. Any of them may have been below a damaged page.
    private var stray = 0

    private var pages: SalvagePages { content.pages }
    private var walk: TreeWalk { content.walk }

    init(_ content: SalvageContent, in db: Database, monitor: ConversionMonitor) throws {
        self.content = content
        self.db = db
        self.monitor = monitor
        schema = SchemaWriter(db)
        lost = LostAndFoundWriter(
            in: db,
            encoding: content.encoding,
            avoiding: Set(content.objects.map { $0.name.lowercased() })
        )
    }

    var isSchemaWhole: Bool {
        pages.header != nil && pages.states[1] == .intact && !content.lostSchemaRow
            && gaps(of: SalvageContent.schema).isEmpty
    }

    var lostAndFound: SalvageReport.LostAndFound? {
        guard lost.rowCount + lostOrphanRowCount > 0 else { return nil }
        return .init(
            table: lost.name,
            rowCount: lost.rowCount,
            lostRowCount: lostOrphanRowCount
        )
    }

    var unmade: [SalvageReport.Unmade] { schema.unmade }

    // MARK: - Filling

    func run() throws {
        let total = pages.pageCount * pages.form.pageSize
        monitor.begin(.copying, total: total)
        let trees = walk.trees.indices.dropFirst().filter { walk.trees[$0].hasRows }
        let own = trees.filter { walk.trees[$0].object.name.hasPrefix("sqlite_") }
        let users = trees.filter { !own.contains($0) }
        for tree in users + own {
            let object = walk.trees[tree].object
            guard try schema.make(object) else { continue }
            stored[tree] = try StoredTable(object.name, in: db)
        }
        stray = countStray()
        var places = OrphanPlaces(
            content: content,
            tables: stored,
            isSchemaWhole: isSchemaWhole
        )
        let orphans = try places.settle { try monitor.step(by: 0) }

        for tree in users { try copyRows(of: tree) }
        for tree in own { try copyOwnRows(of: tree) }
        for page in orphans { try copyOrphan(page) }
        lost.finish()
        stray = countStray()
        monitor.finish()
    }

    /// Creates objects without rows of their own, after the rows of all tables.
    func makeTheRest() throws {
        for kind in [SalvagedObject.Kind.index, .table, .view, .trigger] {
            for object in content.objects where object.kind == kind {
                switch kind {
                case .index where object.sql == nil: continue
                case .table where object.root > 0: continue
                case .table: try schema.makeVirtual(object, isWhole: isWhole)
                default: try schema.make(object)
                }
            }
        }
    }

    /// Whether it is proven that no row is lost.
    private var isWhole: Bool {
        pages.form.provesPages && isSchemaWhole && lost.rowCount == 0
            && tables().allSatisfy {
                $0.lostRowCount == 0 && $0.refusedRowCount == 0 && $0.gaps.isEmpty
            }
    }

    // MARK: - Rows

    /// Visits the rows of pages.
    ///
    /// - Parameters:
    ///   - take: Receives a row, its rowid, and its page.
    ///   - lose: Called for a row with a missing part.
    ///   - miss: Called for rows that are missing on a page or can no longer be read.
    private func forEachRow(
        on numbers: [UInt32],
        _ take: (SalvagedRow, Int64?, Int) throws -> Void,
        lose: () -> Void,
        miss: (SalvageReport.Gap) -> Void = { _ in }
    ) throws {
        for number in numbers.lazy.map(Int.init) {
            monitor.advance(by: pages.form.pageSize)
            try monitor.checkCancellation()
            guard let page = pages.tree(number) else {
                // The page was readable in the first pass.
                let most = TreePage.mostRows(usableSize: pages.form.usableSize)
                miss(.init(page: number, after: nil, through: nil, mostRows: most))
                continue
            }
            if page.badCellCount > 0 {
                // Perhaps fewer rows existed.
                miss(.init(page: number, after: nil, through: nil, mostRows: page.badCellCount))
            }
            for cell in page.cells {
                switch content.payloads.payload(of: cell, on: page) {
                case .whole(let payload):
                    guard let row = SalvagedRow(payload) else {
                        lose()
                        continue
                    }
                    try take(row, page.kind.isTable ? cell.rowid : nil, number)
                case .broken(let at):
                    if let at { brokenPages[at] = brokenPages[at] ?? number }
                    lose()
                }
            }
        }
    }

    private func copyRows(of tree: Int) throws {
        let object = walk.trees[tree].object
        var result = SalvageReport.Table(name: object.name)
        let writer = stored[tree].map { RowWriter($0, in: db, encoding: content.encoding) }
        // Leaves are in the order of their rows. The rows on inner pages are between them.
        func isLeaf(_ page: Int) -> Bool { pages.kind(page)?.isLeaf == true }
        var rowPages = walk.trees[tree].rowPages
        rowPages = rowPages.filter { isLeaf(Int($0)) } + rowPages.filter { !isLeaf(Int($0)) }
        var isInOrder = true
        for (numbers, isOlder) in [(rowPages, false), (walk.trees[tree].olderRowPages, true)] {
            try forEachRow(on: numbers) { row, rowid, page in
                if try writer?.write(row, rowid: rowid) == true {
                    result.rowCount += 1
                    if isLeaf(page), isInOrder { isInOrder = try writer?.isLast(row) != false }
                } else if isOlder, writer != nil {
                    // The table already has a newer version of the row.
                    return
                } else if try lost.write(row, rowid: rowid, page: page, root: object.root) {
                    result.refusedRowCount += 1
                } else {
                    result.lostRowCount += 1
                }
            } lose: {
                result.lostRowCount += 1
            } miss: {
                result.gaps.append($0)
            }
        }
        // In a tree without a hole, an intact page isn't this table's own, so others are missing.
        if !isInOrder, walk.trees[tree].holes.isEmpty {
            result.gaps.append(.init(page: nil, after: nil, through: nil, mostRows: nil))
        }
        found[tree] = result
    }

    /// Copies the rows of a table that SQLite has filled by itself meanwhile.
    private func copyOwnRows(of tree: Int) throws {
        let name = walk.trees[tree].object.name
        guard let table = stored[tree] else { return }
        // SQLite derived these values from the recovered rows. They are kept where the original row
        // is lost.
        let isSequence = name == "sqlite_sequence"
        let replaced =
            isSequence ? try Statement(db, "DELETE FROM sqlite_sequence WHERE name = ?") : nil
        if gaps(of: tree).isEmpty {
            try db.execute(sql: "DELETE FROM main.\(name.quotedName)")
        }
        var result = SalvageReport.Table(name: name)
        let writer = RowWriter(table, in: db, encoding: content.encoding)
        try forEachRow(on: walk.trees[tree].rowPages + walk.trees[tree].olderRowPages) {
            row,
            rowid,
            _ in
            if !row.values.isEmpty {
                try replaced?.run([], row, columns: [0], encoding: content.encoding)
            }
            let isTaken = try writer.write(row, rowid: rowid) || writer.write(row, rowid: nil)
            result.rowCount += isTaken ? 1 : 0
            result.lostRowCount += isTaken ? 0 : 1
        } lose: {
            result.lostRowCount += 1
        } miss: {
            result.gaps.append($0)
        }
        found[tree] = result
    }

    private func copyOrphan(_ root: Int) throws {
        guard let kind = pages.kind(root) else { return }
        let tree = walk.trees.count
        walk.add([SalvageTree(orphan: root, isTable: kind.isTable)])
        try forEachRow(on: walk.trees[tree].rowPages) { row, rowid, page in
            if try !lost.write(row, rowid: rowid, page: page, root: root) {
                lostOrphanRowCount += 1
            }
        } lose: {
            lostOrphanRowCount += 1
        }
        // For a page that couldn't be read again, at least one row.
        lostOrphanRowCount += walk.trees[tree].rowPages.count { pages.states[Int($0)] == .damaged }
        lostOrphanRowCount += walk.trees[tree].holes.count { $0.isInner == true }
    }

    // MARK: - What Was Lost

    /// Every table of the new file that has rows of the damaged one.
    func tables() -> [SalvageReport.Table] {
        found.compactMap { tree, table in
            guard !schema.remade.contains(table.name) else { return nil }
            var table = table
            table.gaps += gaps(of: tree)
            table.gaps += contradictions(in: tree, besides: table.gaps)
            if table.gaps.isEmpty { table.gaps += missingBesidesIndexes(table) }
            return table
        }.sorted { $0.name < $1.name }
    }

    /// How many pages the file lacks at its end, besides those that another page's place is kept for.
    ///
    /// If the pages of all trees are there, and none leads beyond the end, the database's number of pages
    /// is wrong.
    private var cutCount: Int {
        guard let stated = pages.statedCount, stated > pages.pageCount,
            pages.greatestMissing > 0 || walk.trees.contains(where: { !$0.holes.isEmpty })
        else { return 0 }
        return stated - pages.pageCount
    }

    /// The number of pages that the database has, or had.
    var pageCount: Int { pages.lastPage + cutCount }

    /// How many of them are missing at the end.
    var missingPageCount: Int {
        pages.states[1...pages.lastPage].count { $0 == .missing } + cutCount
    }

    /// The number of pages that the database says it has, if it is wrong.
    var wrongPageCount: Int? {
        guard let stated = pages.statedCount, stated != pageCount else { return nil }
        return stated
    }

    /// The damaged pages, and what they are for.
    func damagedPages() -> [SalvageReport.DamagedPage] {
        // Without HMACs, a page is damaged if a tree needs it and it makes no sense.
        var senseless: [Int: Int] = [:]
        for (index, tree) in walk.trees.enumerated() {
            for hole in tree.holes
            where pages.states.indices.contains(hole.page) && pages.states[hole.page] == .intact {
                senseless[hole.page] = index
            }
        }
        var found: [SalvageReport.DamagedPage] = []
        func add(
            _ numbers: ClosedRange<Int>,
            _ problem: SalvageReport.DamagedPage.Problem,
            _ use: SalvageReport.DamagedPage.Use
        ) {
            if let last = found.last, last.numbers.upperBound + 1 == numbers.lowerBound,
                last.problem == problem, last.use == use
            {
                found[found.count - 1].numbers = last.numbers.lowerBound...numbers.upperBound
            } else {
                found.append(.init(numbers: numbers, problem: problem, use: use))
            }
        }
        for number in 1..<(pages.lastPage + 1) {
            switch pages.states[number] {
            case .older: add(number...number, .older, use(of: number))
            case .damaged: add(number...number, .damaged, use(of: number))
            case .missing: add(number...number, .missing, use(of: number))
            case .intact:
                guard walk.owners[number] == TreeWalk.Owner.nobody, let tree = senseless[number]
                else { continue }
                add(number...number, .damaged, use(ofTree: tree))
            }
        }
        if cutCount > 0 { add(pages.lastPage + 1...pageCount, .missing, .unknown) }
        return found
    }

    private func use(of page: Int) -> SalvageReport.DamagedPage.Use {
        if page == 1 { return .schema }
        switch walk.owners[page] {
        case TreeWalk.Owner.free: return .free
        case TreeWalk.Owner.pointerMap: return .pointerMap
        case TreeWalk.Owner.nobody:
            if let row = brokenPages[page] { return use(of: row) }
            guard let root = walk.mappedRoot(of: page) else { return .unknown }
            if root == 0 { return .free }
            return walk.tree(withRoot: root).map(use(ofTree:)) ?? .unknown
        case let tree: return use(ofTree: Int(tree))
        }
    }

    private func use(ofTree tree: Int) -> SalvageReport.DamagedPage.Use {
        let object = walk.trees[tree].object
        if tree == SalvageContent.schema { return .schema }
        if object.name.isEmpty { return .unknown }
        return object.kind == .index || schema.remade.contains(object.name)
            ? .index(object.name) : .table(object.name)
    }

    private func countStray() -> Int {
        (1..<(pages.lastPage + 1)).count { number in
            pages.states[number] != .intact && walk.owners[number] == TreeWalk.Owner.nobody
                && use(of: number) == .unknown
        } + cutCount
    }

    /// The places where rows may be missing although every page that leads to them is intact.
    private func contradictions(
        in tree: Int,
        besides gaps: [SalvageReport.Gap]
    ) -> [SalvageReport.Gap] {
        let known = Set(gaps.compactMap(\.page))
        let most = TreePage.mostRows(usableSize: pages.form.usableSize)
        return content.contradictions.union(content.payloads.doubtful).sorted().compactMap { page in
            guard walk.owners[page] == Int32(tree), pages.states[page] == .intact,
                !known.contains(page)
            else { return nil }
            let isLeaf = pages.kind(page)?.isLeaf == true
            return .init(page: page, after: nil, through: nil, mostRows: isLeaf ? most : nil)
        }
    }

    /// The rows of which only a whole index knows: an older page has taken the place of a newer one.
    private func missingBesidesIndexes(_ table: SalvageReport.Table) -> [SalvageReport.Gap] {
        func isWhole(_ index: String) -> Bool {
            let tree = walk.trees.firstIndex { $0.object.kind == .index && $0.object.name == index }
            guard let tree else { return false }
            return walk.trees[tree].holes.isEmpty
                && !content.contradictions.contains { walk.owners[$0] == Int32(tree) }
        }
        let counts = pages.unequalIndexes.filter { $0.table == table.name && isWhole($0.name) }
            .compactMap(\.entryCount)
        let missing = (counts.max() ?? 0) - table.rowCount
        guard missing > 0 else { return [] }
        return [.init(page: nil, after: nil, through: nil, mostRows: missing)]
    }

    private func gaps(of tree: Int) -> [SalvageReport.Gap] {
        let (tree, usableSize) = (walk.trees[tree], pages.form.usableSize)
        let perPage = TreePage.mostRows(usableSize: usableSize)
        return tree.holes.compactMap { hole in
            let page = hole.page > 0 ? hole.page : nil
            let isInner = page == nil || tree.isInner(hole)
            // An inner page of a table has no rows, so rows are lost only if there is more damage
            // below it.
            if isInner, tree.isTable, pages.form.provesPages, stray == 0 { return nil }
            var most: Int?
            if !isInner {
                most = perPage
            } else if pages.form.provesPages {
                most = (stray + (tree.isTable ? 0 : 1)) * perPage
            }
            if let after = hole.after, let through = hole.through {
                let (range, isHuge) = through.subtractingReportingOverflow(after)
                if !isHuge { most = most.map { min($0, Int(range)) } ?? Int(range) }
            }
            return .init(page: page, after: hole.after, through: hole.through, mostRows: most)
        }
    }
}
