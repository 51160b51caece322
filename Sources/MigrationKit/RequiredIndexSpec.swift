/// An index that must exist on a table once the database is migrated.
public struct RequiredIndexSpec: Equatable, Sendable {
    /// The name of the table.
    public let table: String

    /// The name of the index.
    public let index: String

    /// Creates a requirement.
    ///
    /// - Parameters:
    ///   - table: The name of the table.
    ///   - index: The name of the index.
    public init(table: String, index: String) {
        self.table = table
        self.index = index
    }
}
