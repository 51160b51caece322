import MigrationKitPages
import MigrationKitSQLCipher

/// The content of a damaged database: its schema, and which page belongs to what.
final class SalvageContent {
    let pages: SalvagePages
    let walk: TreeWalk
    let payloads: PayloadReader
    let encoding: TextEncoding
    /// The content according to the header; `nil` if it can't be read.
    let header: DatabaseContent?
    let isAutoVacuum: Bool
    private(set) var objects: [SalvagedObject] = []
    /// Whether a row of the schema is known to be lost.
    private(set) var lostSchemaRow = false
    /// The intact pages of trees on which, or below which, rows may be lost nevertheless.
    private(set) var contradictions: Set<Int> = []

    /// The index of the schema's own tree.
    static let schema = 0

    /// Reads all pages once.
    init(_ pages: SalvagePages, monitor: ConversionMonitor) throws {
        self.pages = pages
        walk = TreeWalk(pages)
        payloads = PayloadReader(pages)
        var candidates: [Int] = []
        var guess = EncodingGuess()
        monitor.begin(.reading, total: pages.pageCount * pages.form.pageSize)
        try pages.scan { number, tree in
            try monitor.step(by: pages.form.pageSize)
            guard let tree, tree.kind == .leafTable, let cell = tree.cells.first,
                cell.overflow == nil || cell.payloadCount < 1 << 20
            else { return }
            // The beginning of a long row is enough.
            guard let row = SalvagedRow(beginning: Array(tree.bytes[cell.local])) else { return }
            if guess.note(row) { candidates.append(number) }
        }
        monitor.finish()
        pages.guessReservedCount()
        header = pages.header.flatMap(DatabaseHeader.init)?.content(pageCount: pages.pageCount)
        encoding =
            header.flatMap { header in TextEncoding.allCases.first { $0.name == header.encoding } }
            ?? guess.encoding
        isAutoVacuum = header.map { $0.autoVacuum != .none } ?? Self.hasPointerMap(pages)
        if isAutoVacuum { walk.markPointerMaps() }
        // An older list may name pages that a tree has since, and leave out others.
        if pages.states[1] == .intact { walk.readFreelist() }
        readSchema(candidates)
        walk.add(objects.filter { $0.root > 0 }.map(SalvageTree.init))
        if pages.states[1] == .older { walk.readFreelist() }
        walk.markFreePages()
        // Free pages belong to no tree, and other pages are after the file's end.
        contradictions = try pages.contradictions(monitor).filter {
            walk.owners.indices.contains($0) && walk.owners[$0] >= 0
        }
        if contradictions.contains(where: { walk.owners[$0] == Int32(Self.schema) }) {
            lostSchemaRow = true
        }
    }

    /// Whether the second page looks like a pointer map: alternating types and page numbers.
    private static func hasPointerMap(_ pages: SalvagePages) -> Bool {
        guard pages.pageCount > 2, let content = pages.content(2) else { return false }
        let count = min(pages.form.usableSize / 5, pages.pageCount - 2)
        return (0..<count).allSatisfy { index in
            (1...5).contains(content[5 * index])
                && Int(content.word(5 * index + 1)) <= pages.pageCount
        }
    }

    // MARK: - Schema

    /// Whether the header and all entries of the schema were read.
    var isSchemaWhole: Bool {
        pages.header != nil && pages.states[1] == .intact && !lostSchemaRow
            && walk.trees[Self.schema].holes.isEmpty
    }

    /// Takes over objects whose own entries in the schema are lost.
    func adopt(_ others: [SalvagedObject]) {
        objects += others
        walk.add(others.filter { $0.root > 0 }.map(SalvageTree.init))
    }

    private func readSchema(_ candidates: [Int]) {
        walk.add([SalvageTree(.schema)])
        if !walk.trees[Self.schema].holes.isEmpty {
            // Below damaged pages, there may be pages with rows of the schema.
            for page in candidates where walk.isUnclaimed(page) {
                walk.attach(page, to: Self.schema)
            }
        }
        let tree = walk.trees[Self.schema]
        var names: Set<String> = []
        for page in (tree.rowPages + tree.olderRowPages).map(Int.init) {
            guard let content = pages.tree(page) else {
                lostSchemaRow = true
                continue
            }
            lostSchemaRow = lostSchemaRow || content.badCellCount > 0
            for cell in content.cells {
                guard case .whole(let payload) = payloads.payload(of: cell, on: content),
                    let row = SalvagedRow(payload),
                    let object = SalvagedObject(row, encoding: encoding)
                else {
                    lostSchemaRow = true
                    continue
                }
                guard names.insert("\(object.kind) \(object.name)").inserted else { continue }
                objects.append(object)
            }
        }
    }
}

/// Finds the text encoding if the header doesn't give it.
private struct EncodingGuess {
    private var counts: [TextEncoding: Int] = [:]

    var encoding: TextEncoding { counts.max { $0.value < $1.value }?.key ?? .utf8 }

    /// - Returns: Whether the row looks like one of the schema's.
    mutating func note(_ row: SalvagedRow) -> Bool {
        if row.values.count == 5, case .text(let range) = row.values[0] {
            for encoding in TextEncoding.allCases {
                guard let text = encoding.string(row.bytes(range)),
                    SalvagedObject.Kind(rawValue: text) != nil
                else { continue }
                counts[encoding, default: 0] += 1_000_000
                return true
            }
        }
        for case .text(let range) in row.values.prefix(8) {
            let bytes = row.bytes(range).prefix(200)
            // Most text contains some of the first 256 characters.
            let (even, odd) = bytes.enumerated().reduce(into: (0, 0)) { sum, byte in
                guard byte.element == 0 else { return }
                if byte.offset % 2 == 0 { sum.0 += 1 } else { sum.1 += 1 }
            }
            if odd > even { counts[.utf16LittleEndian, default: 0] += 1 }
            if even > odd { counts[.utf16BigEndian, default: 0] += 1 }
            if odd == 0, even == 0, !bytes.isEmpty { counts[.utf8, default: 0] += 1 }
        }
        return false
    }
}
