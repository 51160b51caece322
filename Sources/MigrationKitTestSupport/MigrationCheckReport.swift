/// What a check has covered.
public struct MigrationCheckReport: Equatable, Sendable {
    /// The identifiers of the steps, in order.
    public let steps: [String]

    /// The identifiers of the steps without a rollback, which were skipped.
    ///
    /// ```swift
    /// #expect(try check.everything().withoutRollback == ["0004_split_names"])
    /// ```
    public let withoutRollback: [String]
}
