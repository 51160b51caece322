/// How SQLite converts the values of a column.
/// <https://www.sqlite.org/datatype3.html#determination_of_column_affinity>
package enum ColumnAffinity: String, Sendable {
    case integer, text, blob, real, numeric

    /// A value for an example, as SQL.
    package var sample: String {
        switch self {
        case .text: "''"
        case .blob: "x''"
        case .integer, .real, .numeric: "0"
        }
    }

    /// - Parameters:
    ///   - type: The declared type.
    ///   - isStrict: Whether the table is `STRICT`. Only there, `ANY` keeps every value as it is.
    ///     <https://www.sqlite.org/stricttables.html>
    package init(of type: String, isStrict: Bool = false) {
        // SQLite compares bytes, and folds only ASCII letters. In Swift, a combining mark would be
        // part of the letter before it.
        let letters = type.utf8.map { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) ? byte & ~0x20 : byte
        }
        func has(_ names: String...) -> Bool {
            names.contains { letters.firstRange(of: $0.utf8) != nil }
        }
        self =
            if has("INT") {
                .integer
            } else if has("CHAR", "CLOB", "TEXT") {
                .text
            } else if letters.isEmpty || has("BLOB") || isStrict && letters == Array("ANY".utf8) {
                .blob
            } else if has("REAL", "FLOA", "DOUB") {
                .real
            } else {
                .numeric
            }
    }
}
