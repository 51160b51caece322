/// A place in a file of SQL.
package struct SourcePlace: Equatable, Sendable {
    package let file: String
    /// From 1.
    package let line: Int
    /// In characters, from 1.
    package let column: Int

    package init(file: String, line: Int, column: Int) {
        (self.file, self.line, self.column) = (file, line, column)
    }
}

extension SourcePlace: CustomStringConvertible {
    /// For example `0003_tags.sql:12:5`.
    package var description: String { "\(file):\(line):\(column)" }
}
