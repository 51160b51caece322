/// A number for each of some pages, such as where a journal has them.
///
/// The log of a large database may have all of its pages. A dictionary would take some forty bytes for
/// each of them; this takes eight if a log has most pages.
package struct PageNumbers: Equatable, Sendable {
    /// The numbers of consecutive pages, by the first of these divided by ``pieceCount``.
    private var pieces: [Int: [Int]] = [:]

    /// Few, so that a log of scattered pages doesn't take much more than a dense one.
    private static let pieceCount = 32
    private static let none = -1

    package init() {}

    /// - Parameter page: From 1.
    package subscript(page: Int) -> Int? {
        get {
            let (piece, index) = page.quotientAndRemainder(dividingBy: Self.pieceCount)
            guard let number = pieces[piece]?[index], number != Self.none else { return nil }
            return number
        }
        set {
            let (piece, index) = page.quotientAndRemainder(dividingBy: Self.pieceCount)
            pieces[piece, default: Array(repeating: Self.none, count: Self.pieceCount)][index] =
                newValue ?? Self.none
        }
    }

    /// Whether each page of a database, but for that of SQLite's lock bytes, has a number.
    ///
    /// - Parameter least: Smaller numbers don't count.
    package func hasEveryPage(of count: Int, pageSize: Int, from least: Int = 0) -> Bool {
        let lockPage = DatabaseHeader.lockPage(pageSize: pageSize)
        return (1..<count + 1).allSatisfy { page in
            page == lockPage || self[page].map { $0 >= least } == true
        }
    }

    /// The greatest page that has a number.
    package var greatestPage: Int? {
        guard let piece = pieces.keys.max(), let numbers = pieces[piece] else { return nil }
        return numbers.lastIndex { $0 != Self.none }.map { piece * Self.pieceCount + $0 }
    }
}
