/// A name for the rowid of a table that no column uses.
///
/// <https://www.sqlite.org/lang_createtable.html#rowid>
///
/// - Parameter columns: The table's columns.
/// - Returns: `nil` if columns use all of its names.
package func rowidName(besides columns: some Sequence<String>) -> String? {
    let taken = Set(columns.map { $0.lowercased() })
    return ["rowid", "_rowid_", "oid"].first { !taken.contains($0) }
}
