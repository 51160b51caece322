/// The outcome of one check of a verification.
public struct VerificationCheck: Sendable {
    /// What was checked: `quick_check`, `foreign_key_check`, `required_index TABLE.INDEX`, or for
    /// the checks of a host `verifyIntegrity` and `verifyPostMigration`. A full verification has
    /// `integrity_check`, `row_constraints`, `virtual_tables` and `ledger` as well.
    public let name: String

    /// Whether it holds.
    public let ok: Bool

    /// What is wrong, in one line; `nil` where the check holds.
    public let detail: String?

    /// What is worth knowing although it is no fault, in one line.
    public let note: String?

    /// Where it is wrong, one place each: the first ones, no more than twenty.
    public let findings: [VerificationFinding]

    /// How many more places there are.
    public let unlistedCount: Int

    /// How long the check took, in seconds; of one that ran beside the check before it, only what it
    /// took longer than that. Two outcomes are equal whatever it is.
    public package(set) var seconds: Double

    /// Creates an outcome.
    ///
    /// - Parameters:
    ///   - name: What was checked.
    ///   - detail: What is wrong; `nil` if the check holds.
    ///   - note: What is worth knowing although it is no fault.
    ///   - findings: Where it is wrong. The check doesn't hold where there are any.
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
    /// Whether two checks have come to the same, in whatever time.
    public static func == (one: VerificationCheck, other: VerificationCheck) -> Bool {
        one.name == other.name && one.detail == other.detail && one.note == other.note
            && one.findings == other.findings && one.unlistedCount == other.unlistedCount
    }
}

/// One place at which a check doesn't hold.
///
/// It has names of the schema and numbers of rows and pages, but never a value of a row.
public struct VerificationFinding: Equatable, Sendable {
    /// What is wrong and where, in one line that stands alone.
    public let text: String

    /// The table; `nil` where it is none, or not known.
    public let table: String?

    /// The row's `rowid`; `nil` where it is no row, or one of a table without rowids.
    public let rowID: Int64?

    /// The page, counted from 1; `nil` where it is none.
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

/// What a check comes to while it goes on.
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
