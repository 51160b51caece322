/// What the rowid of a table is called: one of its names that no column has taken.
///
/// <https://www.sqlite.org/lang_createtable.html#rowid>
///
/// - Parameter columns: The table's columns.
/// - Returns: `nil` if they have taken all of them.
package func rowidName(besides columns: some Sequence<String>) -> String? {
    let taken = Set(columns.map { $0.lowercased() })
    return ["rowid", "_rowid_", "oid"].first { !taken.contains($0) }
}
