/// The rule of the group "Does nothing, or something else, in a transaction".
enum Transactions {
    static func check(_ step: StepRecord, _ findings: inout FindingList) {
        guard step.usesTransaction else { return }
        // Such a pragma is mostly one of a pair.
        var isFirst = true
        for statement in step.statements {
            switch statement.kind {
            case .pragma("foreign_keys", let value?):
                guard isFirst else { continue }
                isFirst = false
                let state = statement.foreignKeysAreOn ? "on" : "off"
                let wantsOn = ["on", "1", "yes", "true"].contains(value.lowercased())
                findings.add(
                    .noEffectInTransaction,
                    // It asks for what is so anyway.
                    level: wantsOn == statement.foreignKeysAreOn ? .note : nil,
                    at: statement,
                    "PRAGMA foreign_keys has no effect in a transaction; foreign keys are \(state) "
                        + "in this migration",
                    fix: statement.foreignKeysAreOn
                        ? "Leave foreign keys off during the migration, which is the default. They "
                            + "are checked before the commit."
                        : "Remove it. Foreign keys are off in a migration, and checked before the "
                            + "commit."
                )
            case .pragma("journal_mode", value: _?):
                findings.add(
                    .noEffectInTransaction,
                    at: statement,
                    "PRAGMA journal_mode has no effect in a transaction, and this migration runs in "
                        + "one: the database keeps its journal mode",
                    fix: wayOut
                )
            case .pragma("page_size", let value?), .pragma("auto_vacuum", let value?):
                findings.add(
                    .noEffectInTransaction,
                    // A new database has it so.
                    level: ["0", "none"].contains(value.lowercased()) ? .note : nil,
                    at: statement,
                    "\(statement.name) has no effect before a VACUUM, which can't run in a transaction, "
                        + "and this migration runs in one",
                    fix:
                        "Put it, with VACUUM below it, into a migration of its own that runs outside of a "
                        + "transaction. VACUUM keeps the page size of an encrypted database."
                )
            case .pragma("encoding", value: _?):
                findings.add(
                    .noEffectInTransaction,
                    at: statement,
                    "PRAGMA encoding has no effect in a migration: the database has its encoding from "
                        + "when it was made",
                    fix: "Remove it."
                )
            case .pragma("synchronous", value: _?), .pragma("wal_checkpoint", _):
                fails(statement, &findings)
            case .other("VACUUM"):
                fails(statement, level: .error, &findings)
            case _ where statement.parsed.isAboutTransactions:
                findings.add(
                    .noEffectInTransaction,
                    level: .error,
                    at: statement,
                    "a migration can't contain \(statement.name): its transaction belongs to the "
                        + "runner, and covers its own database only",
                    fix: "Remove it. Put parts that must commit separately into migrations of "
                        + "their own."
                )
            default:
                continue
            }
        }
    }

    private static func fails(
        _ statement: StatementRecord,
        level: LintLevel? = nil,
        _ findings: inout FindingList
    ) {
        findings.add(
            .noEffectInTransaction,
            level: level,
            at: statement,
            "SQLite refuses \(statement.name) in a transaction, and this migration runs in one",
            fix: wayOut
        )
    }

    private static let wayOut =
        "Put it into a migration of its own that runs outside of a transaction."
}

extension StatementRecord {
    /// What it is called in messages.
    fileprivate var name: String {
        switch kind {
        case .pragma(let name, _): "PRAGMA \(name)"
        case .other(let verb): verb
        default: "the statement"
        }
    }
}
