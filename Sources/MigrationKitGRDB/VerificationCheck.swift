/// The outcome of one check of a verification.
public struct VerificationCheck: Equatable, Sendable {
    /// What was checked: `quick_check`, `foreign_key_check`, `required_index TABLE.INDEX`, or for
    /// the checks of a host `verifyIntegrity` and `verifyPostMigration`.
    public let name: String

    /// Whether it holds.
    public let ok: Bool

    /// What is wrong, in one line; `nil` where the check holds.
    public let detail: String?

    /// Creates an outcome.
    ///
    /// - Parameters:
    ///   - name: What was checked.
    ///   - detail: What is wrong; `nil` if the check holds.
    public init(name: String, detail: String? = nil) {
        self.name = name
        self.ok = detail == nil
        self.detail = detail
    }
}
