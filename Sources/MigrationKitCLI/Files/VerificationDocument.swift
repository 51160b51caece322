import MigrationKitGRDB

/// What `verify` prints for programs.
struct VerificationDocument: Encodable {
    struct Check: Encodable {
        let name: String
        let ok: Bool
        let seconds: Double
        let detail: String?
        let note: String?
        let findings: [Finding]?
        let unlisted: Int?
    }

    struct Finding: Encodable {
        let text: String
        let table: String?
        let rowid: Int64?
        let page: Int?
    }

    let schemaVersion = JSON.schemaVersion
    let ok: Bool
    let checks: [Check]
    let otherTools: [OtherTool]?

    /// The names of the engine's known faults, with `--full`.
    let engineFaults: [String]?

    init(
        _ checks: [VerificationCheck],
        otherTools: [OtherTool]? = nil,
        engineFaults: [String]? = nil
    ) {
        self.otherTools = otherTools
        self.engineFaults = engineFaults
        ok = checks.allSatisfy(\.ok)
        self.checks = checks.map { check in
            let findings = check.findings.map {
                Finding(text: $0.text, table: $0.table, rowid: $0.rowID, page: $0.page)
            }
            return Check(
                name: check.name,
                ok: check.ok,
                seconds: (check.seconds * 1_000_000).rounded() / 1_000_000,
                detail: check.detail,
                note: check.note,
                findings: findings.isEmpty ? nil : findings,
                unlisted: check.unlistedCount > 0 ? check.unlistedCount : nil
            )
        }
    }
}
