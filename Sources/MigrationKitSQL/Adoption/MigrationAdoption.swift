/// What another tool has applied to a folder's database, according to its version table.
///
/// See ``MigrationFolder/adoption(from:table:in:)``.
public struct MigrationAdoption: Equatable, Sendable {
    /// The tool.
    public let tool: MigrationTool

    /// The identifiers of the steps that the tool has applied, in the folder's order.
    public let identifiers: [String]

    /// Notes for continuing the database here, a sentence or two each.
    public let notes: [String]
}
