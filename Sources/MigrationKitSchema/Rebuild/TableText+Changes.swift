import MigrationKit
import MigrationKitGRDB

extension TableText {
    /// The statement for a table with another name.
    ///
    /// A `CHECK` may name the table before a column. SQLite checks that at once, and renames it
    /// again with the table.
    func renamed(to newName: String) -> String {
        let own = name.foldedName
        let last = sql.tokens.lastIndex { $0.kind != .semicolon } ?? open
        var changes: [(Range<Int>, String)] = []
        for place in open..<last
        where sql.tokens[place].isName && sql.tokens[place].name == own
            && sql.tokens[place + 1].text == "."
        {
            changes.append((sql.tokens[place].range, newName.quotedName))
        }
        let range = sql.tokens[open].range.lowerBound..<sql.tokens[last].range.upperBound
        return "CREATE TABLE \(newName.quotedName) " + text(range, changing: changes)
    }

    /// The definition of a column as it is written: its name, type and constraints.
    ///
    /// - Returns: `nil` if there is no such column.
    func source(ofColumn name: String) -> String? {
        column(name).map { sql.source($0.range) }
    }

    /// The statement with a further constraint at the end of a column.
    ///
    /// - Returns: `nil` if there is no such column.
    func adding(_ constraint: String, to name: String) -> String? {
        guard let column = column(name) else { return nil }
        let end = sql.tokens[column.range.upperBound - 1].range.upperBound
        return text(0..<sql.bytes.count, changing: [(end..<end, " " + constraint)])
    }

    /// The statement with another type of a column.
    ///
    /// - Returns: `nil` if there is no such column.
    func changingType(of name: String, to type: String) -> String? {
        guard let column = column(name) else { return nil }
        let end = sql.tokens[column.type.last ?? column.range.lowerBound].range.upperBound
        let range = sql.tokens[column.range.lowerBound].range.upperBound..<end
        return text(0..<sql.bytes.count, changing: [(range, type.isEmpty ? "" : " " + type)])
    }

    private func text(_ range: Range<Int>, changing changes: [(Range<Int>, String)]) -> String {
        var result: [UInt8] = []
        var start = range.lowerBound
        for (place, replacement) in changes {
            result += sql.bytes[start..<place.lowerBound]
            result += replacement.utf8
            start = place.upperBound
        }
        result += sql.bytes[start..<range.upperBound]
        return String(decoding: result, as: UTF8.self)
    }
}
