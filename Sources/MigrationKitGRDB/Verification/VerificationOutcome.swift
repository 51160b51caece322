import Foundation
import GRDB

/// The result of a check while it runs.
package struct VerificationOutcome {
    /// How many findings are listed.
    package static let limit = 20

    package var detail: String?
    package var note: String?
    /// What can't be checked here, and why: `message needs the tokenizer words`.
    package var unchecked: [String] = []
    package private(set) var findings: [VerificationFinding] = []
    package private(set) var count = 0

    package init(detail: String? = nil, note: String? = nil) {
        self.detail = detail
        self.note = note
    }

    /// The outcome of a check that ended with an error.
    init(_ error: any Error) {
        detail = error.findingText
        // If SQLite's check names a page, that page's content is damaged.
        guard case GRDBMigrationVerificationError.quickCheckFailed(let result) = error,
            let match = result.firstMatch(of: /^(?:Tree \d+ p|P)age (\d+)/), let page = Int(match.1)
        else { return }
        add(VerificationFinding(error.findingText, page: page))
    }

    /// The outcome of a check of rows; `nil` if it found none.
    init(_ violations: CheckViolations?) {
        guard let violations else { return }
        detail = violations.count == 1 ? "1 row violates it" : "\(violations.count) rows violate it"
        for rowID in violations.rowIDs {
            add(VerificationFinding("rowid \(rowID)", rowID: rowID))
        }
        if !violations.rowIDs.isEmpty { count = violations.count }
    }

    var noteWithUnchecked: String? {
        let parts = [note, unchecked.isEmpty ? nil : unchecked.uncheckedNote].compactMap { $0 }
        return parts.isEmpty ? nil : parts.joined(separator: "; ")
    }

    package mutating func add(_ finding: @autoclosure () -> VerificationFinding) {
        if count < Self.limit { findings.append(finding()) }
        count += 1
    }

    package mutating func replace(_ findings: [VerificationFinding]) {
        self.findings = findings
    }
}

extension Error {
    /// What is wrong, in one line, without the SQL that found it and without values.
    package var findingText: String {
        guard let error = self as? DatabaseError else { return localizedDescription }
        return error.isUnreadablePage || error.isUnexplained
            ? "a page can't be read" : "SQLite: \(error.messageWithoutValues)"
    }
}

extension ResultCode {
    /// Whether the database could not be read, so that nothing is known about its content.
    package var preventsReading: Bool {
        switch self {
        case .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_IOERR, .SQLITE_INTERRUPT, .SQLITE_NOMEM,
            .SQLITE_CANTOPEN, .SQLITE_FULL, .SQLITE_PERM, .SQLITE_AUTH:
            true
        default:
            false
        }
    }
}

extension String {
    /// Whether a finding of `quick_check`, `integrity_check` or SQLCipher's own check means that
    /// the disk can't read a page, which isn't damage: `Tree 4 page 78: unable to get the page.
    /// error code=8458`, `error reading 4096 bytes from file page 25 at offset 98304`.
    /// <https://www.sqlite.org/rescode.html#ioerr>
    package var saysReadError: Bool {
        if hasPrefix("error reading ") { return true }
        return matches(of: /error code=(\d+)/).contains { match in
            Int(match.1).map { $0 & 0xff == 10 } ?? false
        }
    }
}
