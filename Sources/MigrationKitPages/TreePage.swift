/// A page of a b-tree, decrypted, which may be damaged: its cells that can be read.
/// <https://www.sqlite.org/fileformat.html#b_tree_pages>
package struct TreePage {
    package let bytes: [UInt8]
    package let number: Int
    package let kind: TreeKind

    /// The cells with a valid position and beginning, in order.
    package let cells: [TreeCell]

    /// The number of other cells.
    package let badCellCount: Int

    /// On an inner page: the page whose keys come after those of all cells.
    package let rightmost: Int?

    /// - Parameters:
    ///   - bytes: The whole page.
    ///   - number: Its number, from 1.
    ///   - usableSize: The size of a page without the reserved bytes at its end.
    /// - Returns: `nil` if it can't be a b-tree page.
    package init?(_ bytes: [UInt8], number: Int, usableSize: Int) {
        guard bytes.count >= usableSize else { return nil }
        let content = bytes.withUnsafeBytes {
            buffer -> (kind: TreeKind, cells: [TreeCell], count: Int, rightmost: Int?)? in
            guard let view = TreePageView(buffer, number: number, usableSize: usableSize),
                view.fragmentCount <= 60
            else { return nil }
            // An inner page without a cell has one child. This happens only briefly, to a root.
            guard view.kind.isLeaf || view.cellCount > 0 || number == 1 else { return nil }
            let cells = (0..<view.cellCount).compactMap { view.cell($0, isStrict: false) }
            guard view.cellCount == 0 || !cells.isEmpty else { return nil }
            return (view.kind, cells, view.cellCount, view.kind.isLeaf ? nil : view.rightmost)
        }
        guard let content else { return nil }
        (self.bytes, self.number) = (bytes, number)
        (kind, cells, rightmost) = (content.kind, content.cells, content.rightmost)
        badCellCount = content.count - cells.count
    }

    /// The most rows that a table's leaf may have: a cell takes at least four bytes, and two for
    /// its position.
    package static func mostRows(usableSize: Int) -> Int { (usableSize - 8) / 6 }
}
