import MigrationKitPages

/// Assembles payloads, which may continue on overflow pages.
/// <https://www.sqlite.org/fileformat.html#cell_payload_overflow_pages>
final class PayloadReader {
    enum Result {
        case whole([UInt8])
        /// The chain of overflow pages breaks at a page; `nil` if the chain makes no sense.
        case broken(at: Int?)
    }

    private let pages: SalvagePages
    /// The pages of payloads that were read. No page belongs to two.
    private var used: PageSet
    /// The pages with a row whose chain of overflow pages contradicts another one or its own length. Each
    /// page is authentic, so the row is read as SQLite reads it.
    private(set) var doubtful: Set<Int> = []

    init(_ pages: SalvagePages) {
        self.pages = pages
        used = PageSet(pages.pageCount)
    }

    /// - Parameter claims: Whether the overflow pages are marked as used.
    func payload(of cell: TreeCell, on page: TreePage, claims: Bool = true) -> Result {
        var payload = Array(page.bytes[cell.local])
        guard var next = cell.overflow else { return .whole(payload) }
        // A wrong count in a damaged cell must not allocate memory.
        let usable = pages.form.usableSize - 4
        guard (cell.payloadCount - payload.count) / usable < pages.pageCount else {
            return .broken(at: nil)
        }
        payload.reserveCapacity(cell.payloadCount)
        var chain: [Int] = []
        var isShared = false
        while payload.count < cell.payloadCount {
            pages.noteMissing(next)
            guard next > 1, next <= pages.pageCount,
                !used.contains(next) || pages.form.provesPages
            else { return .broken(at: nil) }
            isShared = isShared || used.contains(next)
            // An older version of an overflow page may belong to another row.
            guard pages.states[next] == .intact, let content = pages.content(next) else {
                return .broken(at: next)
            }
            chain.append(next)
            guard chain.count <= pages.pageCount else { return .broken(at: nil) }
            let count = min(usable, cell.payloadCount - payload.count)
            payload += content[4..<(4 + count)]
            next = Int(content.word(0))
        }
        // The last page of a chain has no successor. SQLite doesn't look at it, and an HMAC proves the
        // pages before.
        guard next == 0 || pages.form.provesPages else { return .broken(at: nil) }
        if claims, isShared || next != 0 { doubtful.insert(page.number) }
        for page in chain {
            pages.noteUse(of: page)
            if claims { used.insert(page) }
        }
        return .whole(payload)
    }
}
