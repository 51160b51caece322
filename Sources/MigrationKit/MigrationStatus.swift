/// Whether a registered step is applied to a database.
public enum MigrationState: String, Equatable, Sendable {
    /// The step is applied.
    case up

    /// The step is pending.
    case down
}

/// The status of one registered step in one database.
public struct MigrationStatus: Equatable, Sendable {
    /// The step's identifier.
    public let identifier: String

    /// The file that defines the step.
    public let sourceFile: String

    /// Whether the step is applied.
    public let state: MigrationState

    /// Creates a status.
    ///
    /// - Parameters:
    ///   - identifier: The step's identifier.
    ///   - sourceFile: The file that defines the step.
    ///   - state: Whether the step is applied.
    public init(identifier: String, sourceFile: String, state: MigrationState) {
        self.identifier = identifier
        self.sourceFile = sourceFile
        self.state = state
    }
}
