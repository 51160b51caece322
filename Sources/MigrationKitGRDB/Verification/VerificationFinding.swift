/// One place where a check fails.
///
/// It has names of the schema and numbers of rows and pages, but never a value of a row.
public struct VerificationFinding: Equatable, Encodable, Sendable {
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

    private enum CodingKeys: String, CodingKey {
        case text, table
        case rowID = "rowid"
        case page
    }
}
