import GRDB
import MigrationKitCommon

/// The outcome of one check of a verification.
public struct VerificationCheck: Sendable {
    /// The name of the check: `quick_check`, `foreign_key_check`, `required_index TABLE.INDEX`,
    /// `check NAME` for a `CheckQuery`, `schema` or, for a host's checks, `verifyIntegrity` and
    /// `verifyPostMigration`. A full
    /// verification also has `integrity_check`, `row_constraints`, `virtual_tables` and `ledger`.
    public let name: String

    /// Whether the check passed.
    public let ok: Bool

    /// What is wrong, in one line; `nil` if the check passed.
    public let detail: String?

    /// Something worth knowing that isn't a fault, in one line.
    public let note: String?

    /// The places where something is wrong, at most the first twenty.
    public let findings: [VerificationFinding]

    /// How many more places there are.
    public let unlistedCount: Int

    /// Whether a page is damaged: one that a finding names, or an unknown one.
    package var hasDamagedPages: Bool {
        findings.contains { $0.page != nil } || detail == DatabaseError.unreadablePage.message
    }

    /// How long the check took, in seconds. If it ran at the same time as the check before it, only
    /// the additional time. Ignored by `==`.
    public package(set) var seconds: Double

    /// Creates an outcome.
    ///
    /// - Parameters:
    ///   - name: The name of the check.
    ///   - detail: What is wrong; `nil` if the check passed.
    ///   - note: Something worth knowing that isn't a fault.
    ///   - findings: The places where something is wrong. If there are any, the check fails.
    ///   - unlistedCount: How many more places there are.
    ///   - seconds: How long the check took.
    public init(
        name: String,
        detail: String? = nil,
        note: String? = nil,
        findings: [VerificationFinding] = [],
        unlistedCount: Int = 0,
        seconds: Double = 0
    ) {
        self.name = name
        self.detail = detail ?? findings.first?.text
        ok = self.detail == nil
        self.note = note
        self.findings = findings
        self.unlistedCount = unlistedCount
        self.seconds = seconds
    }
}

extension VerificationCheck: Equatable {
    /// Whether two checks have the same result, ignoring the time.
    public static func == (one: VerificationCheck, other: VerificationCheck) -> Bool {
        one.name == other.name && one.detail == other.detail && one.note == other.note
            && one.findings == other.findings && one.unlistedCount == other.unlistedCount
    }
}

extension VerificationCheck: Encodable {
    /// Encodes the outcome.
    public func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "name": name,
            "ok": ok,
            "seconds": seconds.inMicroseconds,
            "detail": detail,
            "note": note,
            "findings": findings.isEmpty ? nil : findings,
            "unlisted": unlistedCount > 0 ? unlistedCount : nil,
        ])
    }
}
