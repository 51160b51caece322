/// The outcome of one check of a verification.
public struct VerificationCheck: Sendable {
    /// The name of the check: `quick_check`, `foreign_key_check`, `required_index TABLE.INDEX` or,
    /// for a host's checks, `verifyIntegrity` and `verifyPostMigration`. A full verification also
    /// has `integrity_check`, `row_constraints`, `virtual_tables` and `ledger`.
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

/// One place where a check fails.
///
/// It has names of the schema and numbers of rows and pages, but never a value of a row.
public struct VerificationFinding: Equatable, Sendable {
    /// What is wrong and where, in one line.
    public let text: String

    /// The table; `nil` if there is none, or it isn't known.
    public let table: String?

    /// The row's `rowid`; `nil` if it isn't about a row, or the table has no rowids.
    public let rowID: Int64?

    /// The page, counted from 1; `nil` if it isn't about a page.
    public let page: Int?

    /// Creates a finding.
    ///
    /// - Parameters:
    ///   - text: What is wrong and where, in one line.
    ///   - table: The table.
    ///   - rowID: The row's `rowid`.
    ///   - page: The page, counted from 1.
    public init(_ text: String, table: String? = nil, rowID: Int64? = nil, page: Int? = nil) {
        self.text = text
        self.table = table
        self.rowID = rowID
        self.page = page
    }
}

/// The result of a check while it runs.
package struct VerificationOutcome {
    /// How many findings are listed.
    package static let limit = 20

    package var detail: String?
    package var note: String?
    package private(set) var findings: [VerificationFinding] = []
    package private(set) var count = 0

    package init(detail: String? = nil, note: String? = nil) {
        self.detail = detail
        self.note = note
    }

    package mutating func add(_ finding: @autoclosure () -> VerificationFinding) {
        if count < Self.limit { findings.append(finding()) }
        count += 1
    }

    package mutating func replace(_ findings: [VerificationFinding]) {
        self.findings = findings
    }
}
