/// What another tool's version table says about the steps of a folder.
///
/// See ``MigrationFolder/adoption(from:in:)``.
public struct MigrationAdoption: Equatable, Sendable {
    /// The tool.
    public let tool: MigrationTool

    /// The identifiers of the steps that the tool has applied, in the folder's order.
    public let identifiers: [String]

    /// What is worth knowing before the database is continued here, a sentence or two each.
    public let notes: [String]
}
