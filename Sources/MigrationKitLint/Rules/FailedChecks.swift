import GRDB
import MigrationKit
import MigrationKitGRDB

/// The rules about migrations that fail, or whose check ended early.
enum FailedChecks {
    static func check(_ step: StepRecord, _ findings: inout FindingList) {
        if let reason = step.incomplete {
            // Whatever it hides must not pass.
            let isUnknown = [StopReason.time, StopReason.rows].contains(reason)
            findings.add(
                .checkIncomplete,
                level: isUnknown ? .error : nil,
                at: step.statements.first { $0.failure != nil },
                "the check of the migration ended early: \(reason)"
            )
        }
        for statement in step.statements {
            lacks(statement, &findings)
            guard let failure = statement.failure, !statement.failureIsExplained,
                failure.lack == nil
            else { continue }
            if let table = statement.unknownTable {
                findings.add(
                    .checkIncomplete,
                    at: statement,
                    "the statement can't be checked: no migration creates table '\(table)'",
                    fix: "If the table is older than the migrations, create it in a first one with "
                        + "CREATE TABLE IF NOT EXISTS: otherwise a new database can't be migrated."
                )
                continue
            }
            if failure.code.primaryResultCode == .SQLITE_AUTH {
                findings.add(
                    .checkIncomplete,
                    at: statement,
                    "the statement can't be checked: it uses another file"
                )
                continue
            }
            guard findings.rules(at: statement).isDisjoint(with: explaining) else { continue }
            findings.add(
                .migrationFails,
                at: statement,
                "SQLite refuses the statement: "
                    + SQLiteMessage(failure).withoutValues(in: statement),
                fix: failure.advice
            )
        }
        if let failure = step.commitFailure {
            findings.add(
                .migrationFails,
                at: step.statements.last,
                "the migration can't be committed: \(SQLiteMessage(failure).withoutValues)"
            )
        }
    }

    /// What only the app's connections have or allow.
    private static func lacks(_ statement: StatementRecord, _ findings: inout FindingList) {
        let missing =
            statement.standIns.map(\.phrase)
            + [statement.failureIsExplained ? nil : statement.failure?.lack?.phrase]
            .compactMap(\.self)
        if !missing.isEmpty {
            findings.add(
                .checkIncomplete,
                at: statement,
                "the statement can't be checked as a whole: it needs \(listedPlainly(missing)), which "
                    + "only the app has",
                fix:
                    "Check the steps in a test of the app, where `MigrationLint.configuration` can "
                    + "register it."
            )
        }
    }

    /// The rules that say why a statement fails.
    static let explaining: Set<LintRule> = [
        .addColumnFails, .dropColumnFails, .foreignKeyMismatch, .noEffectInTransaction,
        .mayViolateUnique, .mayViolateNotNull, .mayViolateCheck, .mayViolateStrict,
        .mayViolateForeignKey, .loadExtension,
    ]
}

extension StatementFailure {
    fileprivate var advice: String? {
        if message.contains("already exists") {
            return "If it may exist, use IF NOT EXISTS. Otherwise remove the second one."
        }
        if message.hasPrefix("duplicate column name") {
            return "The column is there already: remove the statement."
        }
        return nil
    }
}

extension SQLiteMessage {
    init(_ failure: StatementFailure) {
        self.init(failure.message, code: failure.code.rawValue)
    }

    /// The message without values, and without strings and numbers of the statement.
    func withoutValues(in statement: StatementRecord) -> String {
        var message = withoutValues
        for word in statement.parsed.words {
            let value =
                word.kind == .blob ? String(word.text.dropFirst()).unquotedName : word.unquoted
            let isKnown = statement.isName(word.name)
            guard word.isLiteral || word.text.hasPrefix("\"") && !isKnown, !value.isEmpty else {
                continue
            }
            message = message.replacing(word.text, with: "…")
            if value.count > 2 { message = message.replacing(value, with: "…") }
        }
        return message
    }
}

extension StatementRecord {
    /// Whether a word names something in the schema, so that it is no value.
    fileprivate func isName(_ word: String) -> Bool {
        let word = word.foldedName
        if parsed.target?.foldedName == word { return true }
        for schema in [before, after] {
            if schema.tables[word] != nil || schema.indexes[word] != nil { return true }
            if schema.views[word] != nil || schema.triggers[word] != nil { return true }
            if schema.tables.values.contains(where: { $0.column(word) != nil }) { return true }
        }
        return false
    }
}
