import Foundation
import MigrationKitCommon
import Synchronization

/// Checks the structure of a database and computes digests of its content in one pass over its pages,
/// on several threads, without SQLite.
///
/// It finds everything that SQLite's `quick_check` finds about the structure: each page belongs to one
/// b-tree, one overflow chain, the freelist or the pointer maps; kinds, depths, cells, free blocks and
/// the rowids' order are right; each record has the length that its header says; an index has as many
/// entries as its table has rows. It finds a little more, such as a page that SQLite itself would leave
/// otherwise, so only `quick_check` can say what a finding means.
/// <https://www.sqlite.org/fileformat.html>
///
/// What it doesn't look at are the rules of the schema: NOT NULL, CHECK, UNIQUE, the types of STRICT
/// tables, foreign keys, the order of collations, and whether an index fits its table. Two databases
/// with the same schema and the same ``TreeContent`` of each b-tree keep or break them alike.
package struct StructureCheck: Sendable {
    /// The finding about the first page that nothing leads to.
    static let neverUsed = "is never used"

    private let keys: ContentKeys
    private let readsFreePages: Bool
    private let mostFindings: Int

    /// - Parameters:
    ///   - keys: The same for all databases whose contents are compared.
    ///   - readsFreePages: Whether free pages are read, too, so that each page is authenticated.
    ///   - mostFindings: How many findings of each thread are kept.
    package init(
        keys: ContentKeys,
        readsFreePages: Bool = true,
        mostFindings: Int = 20
    ) {
        self.keys = keys
        self.readsFreePages = readsFreePages
        self.mostFindings = mostFindings
    }

    /// What a database consists of.
    package struct Report: Sendable {
        /// The first bytes of the file.
        package fileprivate(set) var header: [UInt8] = []
        package fileprivate(set) var objects: [StoredObject] = []
        /// By root page.
        package fileprivate(set) var contents: [Int: TreeContent] = [:]
        /// Of the tables with rowids, by root page.
        package fileprivate(set) var columns: [Int: StoredColumns] = [:]
        /// What is wrong with the structure, in a few words for each finding.
        package fileprivate(set) var findings: [String] = []

        /// An index that has more or fewer entries than its table has rows, or belongs to no table.
        package struct UnequalIndex: Sendable {
            package let name: String
            package let table: String
            /// `nil` if it belongs to no table.
            package let entryCount: Int?
        }

        package fileprivate(set) var unequalIndexes: [UnequalIndex] = []

        /// The pages that findings are about, but for those that nothing leads to.
        package var pagesWithFindings: Set<Int> {
            Set(
                findings.compactMap { finding in
                    finding.hasSuffix(StructureCheck.neverUsed)
                        ? nil : finding.prefixMatch(of: /page (\d+):/).flatMap { Int($0.1) }
                }
            )
        }

        /// Why the disk failed to give a page; `nil` if it gave all that were asked for.
        package fileprivate(set) var readFailure: CipherCode?

        /// Notes each index that has more or fewer entries than its table has rows.
        fileprivate mutating func checkCounts() {
            let tables = objects.filter { $0.type == "table" }.map { ($0.name, $0.root) }
            let roots = Dictionary(tables, uniquingKeysWith: { first, _ in first })
            for index in objects where index.type == "index" {
                func note(_ entryCount: Int?) {
                    unequalIndexes.append(
                        .init(name: index.name, table: index.table, entryCount: entryCount)
                    )
                }
                guard let count = contents[index.root]?.count, let root = roots[index.table],
                    let rowCount = contents[root]?.count
                else {
                    findings.append("index \(index.name) belongs to no table")
                    note(nil)
                    continue
                }
                if index.mayBePartial ? count > rowCount : count != rowCount {
                    findings.append("index \(index.name): \(count) entries for \(rowCount) rows")
                    note(count)
                }
            }
        }
    }

    /// - Parameters:
    ///   - file: Nobody may write it meanwhile.
    ///   - reach: Called again and again with the number of bytes that were read. If it throws, the
    ///     check ends.
    /// - Throws: What `reach` throws, or what opening a reader throws. A page that can't be read is a
    ///   finding.
    package func run(
        _ file: DecryptedPages,
        reach: (Int) throws -> Void = { _ in }
    ) throws -> Report {
        var report = Report()
        let reader = try file.reader()
        guard let layout = DatabaseLayout(reader, byteCount: file.byteCount, &report.findings)
        else { return report }
        report.header = layout.header
        let shared = WalkState()
        let walker = TreeWalker(reader, layout, keys, shared, mostFindings: mostFindings)
        walker.walkFreelist()
        report.objects = walker.readSchema()
        let trees = [layout.schema] + report.objects.compactMap(\.tree)
        walker.checkRoots(trees)
        let plan = trees.map { walker.plan($0) }
        let units = plan.flatMap(\.self)

        var walkers = [walker]
        func onThreads(_ partCount: Int, _ body: @escaping (TreeWalker, _ part: Int) -> Void) throws
        {
            var idle = walkers[...]
            try WorkerThreads.run(partCount) { _ in
                do {
                    try reach(shared.byteCount)
                } catch {
                    shared.stop()
                    throw error
                }
            } make: {
                let walker =
                    try idle.popFirst()
                    ?? TreeWalker(
                        try file.reader(),
                        layout,
                        keys,
                        shared,
                        mostFindings: mostFindings
                    )
                if !walkers.contains(where: { $0 === walker }) { walkers.append(walker) }
                return { body(walker, $0) }
            }
        }
        try onThreads(units.count) { $0.walk(units[$1], at: $1) }
        let reached = walker.union(walkers)
        if readsFreePages {
            let runCount = 64
            let freePages = walker.freePages
            try onThreads(layout.pageCount / runCount + 1) {
                $0.readPages($1 * runCount + 1...($1 + 1) * runCount, of: freePages)
            }
        }
        walker.findUnused(reached)
        report.findings += walkers.flatMap(\.findings)
        report.readFailure = walkers.compactMap(\.readFailure).first

        var results = [(TreeContent, StoredColumns)](
            repeating: (TreeContent(), StoredColumns()),
            count: units.count
        )
        for result in walkers.flatMap(\.results) {
            results[result.index] = (result.content, result.columns)
        }
        var index = 0
        for (tree, units) in zip(trees, plan) {
            var (content, columns) = (TreeContent(), StoredColumns())
            for unit in units {
                content.append(results[index].0, isOrdered: !tree.isTable, keys)
                columns.formUnion(results[index].1)
                if let next = unit.separator {
                    content.append(next, isOrdered: !tree.isTable, keys)
                }
                index += 1
            }
            report.contents[tree.root] = content
            if tree.isTable { report.columns[tree.root] = columns }
        }
        report.checkCounts()
        return report
    }
}

/// What the threads of a walk share.
final class WalkState: Sendable {
    private let done = Atomic(0)
    private let isStopped = Atomic(false)

    func stop() { isStopped.store(true, ordering: .relaxed) }
    var goesOn: Bool { !isStopped.load(ordering: .relaxed) }

    func advance(by count: Int) { done.wrappingAdd(count, ordering: .relaxed) }
    var byteCount: Int { done.load(ordering: .relaxed) }
}

/// A b-tree to walk.
struct StoredTree: Sendable {
    let root: Int
    /// Whether its rows have rowids. Otherwise it is an index or a table without rowids.
    let isTable: Bool
}

/// A table, index, view or trigger, as `sqlite_schema` has it.
package struct StoredObject: Hashable, Sendable {
    package let type: String
    package let name: String
    package let table: String
    /// In the database's encoding; empty for an index that belongs to a constraint.
    package let sql: [UInt8]
    /// 0 for an object without pages.
    package let root: Int

    /// Reads a row of `sqlite_schema`.
    ///
    /// - Parameters:
    ///   - record: The whole record, whose header is valid.
    ///   - encoding: 2 and 3 mean UTF-16. <https://www.sqlite.org/fileformat.html#text_encoding>
    init?(record: [UInt8], encoding: UInt8) {
        let columns = record.withUnsafeBytes(RecordHeader.values(of:))
        guard columns.count >= 5 else { return nil }
        func text(_ index: Int) -> String {
            let bytes = record[columns[index]]
            guard encoding > 1 else { return String(decoding: bytes, as: UTF8.self) }
            let units = zip(bytes, bytes.dropFirst()).enumerated().filter { $0.offset % 2 == 0 }
                .map { _, pair in
                    encoding == 2
                        ? UInt16(pair.1) << 8 | UInt16(pair.0)
                        : UInt16(pair.0) << 8 | UInt16(pair.1)
                }
            return String(decoding: units, as: UTF16.self)
        }
        (type, name, table) = (text(0), text(1), text(2))
        sql = Array(record[columns[4]])
        // The constants 0 and 1 have no bytes, and no tree but the schema's has root 1.
        let root = record[columns[3]].prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        self.root = Int(clamping: root)
    }

    var tree: StoredTree? {
        root == 0 ? nil : StoredTree(root: root, isTable: type == "table" && !lacksRowid)
    }

    /// Whether its text may say so. If it only looks like it, the kind of the root page differs from
    /// what is expected here, which is a finding.
    private var lacksRowid: Bool {
        let letters = sql.filter { $0 != 0 }
        let text = String(decoding: letters, as: UTF8.self).lowercased()
        return text.firstMatch(of: /without\s+rowid/) != nil
    }

    /// Whether an index may leave out rows.
    fileprivate var mayBePartial: Bool {
        let letters = sql.filter { $0 != 0 }
        return String(decoding: letters, as: UTF8.self).lowercased().contains("where")
    }

    /// Whether the pages belong to what the object is.
    var isPlausible: Bool {
        switch type {
        case "table": root > 0 || isVirtual
        case "index": root > 0
        default: root == 0
        }
    }

    private var isVirtual: Bool {
        let letters = sql.prefix(64).filter { $0 != 0 }
        return String(decoding: letters, as: UTF8.self).lowercased()
            .firstMatch(of: /^\s*create\s+virtual/) != nil
    }
}

/// What the header says of the pages.
struct DatabaseLayout: Sendable {
    let header: [UInt8]
    let pageSize: Int
    let usableSize: Int
    let pageCount: Int
    let maps: PointerMaps?
    /// The page that SQLite doesn't use, since it locks bytes of it.
    let lockPage: Int

    /// The b-tree of the schema.
    var schema: StoredTree { StoredTree(root: 1, isTable: true) }

    init?(_ reader: PageReader, byteCount: Int, _ findings: inout [String]) {
        let page = UnsafeMutableRawBufferPointer.allocate(
            byteCount: reader.pageSize,
            alignment: 16
        )
        defer { page.deallocate() }
        do {
            try reader.read(1, into: page)
        } catch {
            findings.append("page 1: can't be read (SQLite \(error.rawValue))")
            return nil
        }
        header = Array(page.prefix(DatabaseHeader.count))
        guard let values = DatabaseHeader(header), values.pageSize == reader.pageSize,
            !values.isNewer, header[18] <= 2, values.word(44) <= 4
        else {
            findings.append("the header is invalid")
            return nil
        }
        pageSize = reader.pageSize
        usableSize = pageSize - Int(header[20])
        lockPage = DatabaseHeader.lockPage(pageSize: pageSize)
        let fileCount = byteCount / pageSize
        pageCount = values.pageCount ?? fileCount
        guard usableSize >= 480, pageCount == fileCount, byteCount % pageSize == 0 else {
            findings.append("the header has \(pageCount) pages, the file \(fileCount)")
            return nil
        }
        let hasMaps = values.hasPointerMaps
        if !hasMaps, values.word(64) != 0 {
            findings.append("incremental vacuum without auto-vacuum")
        }
        do {
            maps =
                try hasMaps
                ? PointerMaps(reader, usableSize: usableSize, pageCount, lockPage: lockPage) : nil
        } catch {
            findings.append("a pointer map can't be read (SQLite \(error.rawValue))")
            return nil
        }
    }
}

/// What leads to each page, in a database with auto-vacuum.
/// <https://www.sqlite.org/fileformat.html#pointer_map_or_ptrmap_pages>
struct PointerMaps: Sendable {
    enum Kind: UInt8 {
        case root = 1
        case free = 2
        case firstOverflow = 3
        case overflow = 4
        case tree = 5
    }

    private let usableSize: Int
    private let pageCount: Int
    private let lockPage: Int
    /// How many pages there are from one map to the next.
    private let distance: Int
    private var bytes: [UInt8] = []

    init(
        _ reader: PageReader,
        usableSize: Int,
        _ pageCount: Int,
        lockPage: Int
    ) throws(CipherCode) {
        self.usableSize = usableSize
        self.pageCount = pageCount
        self.lockPage = lockPage
        distance = usableSize / 5 + 1
        let page = UnsafeMutableRawBufferPointer.allocate(
            byteCount: reader.pageSize,
            alignment: 16
        )
        defer { page.deallocate() }
        for place in stride(from: 2, through: pageCount, by: distance) {
            let number = place == lockPage ? place + 1 : place
            guard number <= pageCount else { break }
            try reader.read(number, into: page)
            bytes += page[..<usableSize]
        }
    }

    func isMap(_ page: Int) -> Bool { page > 1 && map(of: page).page == page }

    /// Whether the map says that of a page.
    func leads(to page: Int, as kind: Kind, from parent: Int) -> Bool {
        guard page > 1, page <= pageCount else { return false }
        let (index, map) = map(of: page)
        let place = index * usableSize + 5 * (page - map - 1)
        guard page > map, place + 5 <= bytes.count else { return false }
        return bytes[place] == kind.rawValue
            && bytes.withUnsafeBytes { $0.word(place + 1) } == parent
    }

    private func map(of page: Int) -> (index: Int, page: Int) {
        let index = (page - 2) / distance
        let place = index * distance + 2
        return (index, place == lockPage ? place + 1 : place)
    }
}
