/// What a check has looked at.
public struct MigrationCheckReport: Equatable, Sendable {
    /// The identifiers of the steps, in order.
    public let steps: [String]

    /// The identifiers of the steps whose rollback was not checked, since they have none.
    ///
    /// ```swift
    /// #expect(try check.everything().withoutRollback == ["0004_split_names"])
    /// ```
    public let withoutRollback: [String]
}
