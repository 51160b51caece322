/// The SQL that a new migration begins with.
public struct NewMigrationSQL: Equatable, Sendable {
    /// The statements that apply it, without semicolons at their ends.
    public var up: [String]

    /// The statements that take it back. A format without such a part leaves them out.
    public var down: [String]

    /// Creates the SQL of a migration.
    ///
    /// - Parameters:
    ///   - up: The statements that apply it.
    ///   - down: The statements that take it back.
    public init(up: [String] = [], down: [String] = []) {
        self.up = up
        self.down = down
    }
}
