import MigrationKitCommon

extension String {
    /// Whether SQLite considers two names the same: it ignores the case of ASCII letters.
    package func isSameName(as other: String) -> Bool {
        utf8.count == other.utf8.count
            && zip(utf8, other.utf8).allSatisfy { Self.sqliteFolded($0) == Self.sqliteFolded($1) }
    }

    /// The name with ASCII letters in lower case, as SQLite compares names.
    package var foldedName: String {
        String(decoding: utf8.map(Self.sqliteFolded), as: UTF8.self)
    }

    private static func sqliteFolded(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}

extension String {
    /// The name in double quotes, for SQL.
    package var quotedName: String { "\"" + escaping("\"", as: "\"\"") + "\"" }

    /// The text as an SQL string.
    package var sqlString: String { "'" + escaping("'", as: "''") + "'" }
}
