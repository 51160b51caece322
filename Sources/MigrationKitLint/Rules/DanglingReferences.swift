import MigrationKitGRDB

/// The rule about foreign keys, views and triggers that refer to something that no longer exists.
enum DanglingReferences {
    static func check(_ step: StepRecord, _ findings: inout FindingList) {
        // A migration that fails leaves everything as it was.
        guard step.statements.allSatisfy({ $0.failure == nil || $0.failureIsExplained }) else {
            return
        }
        foreignKeys(step, &findings)
        for object in step.broken where !findings.explains(object.name) {
            let what = object.isView ? "view" : "trigger"
            let isMended = !step.finallyBroken.contains { $0.name == object.name }
            findings.add(
                .danglingReference,
                level: isMended ? .warning : nil,
                at: step.statements.lastBreaking(object.name),
                "the \(what) '\(object.name)' doesn't work any more: "
                    + SQLiteMessage(object.message).withoutValues(in: nil),
                fix: "Drop it, or create it again for the changed tables."
            )
        }
    }

    private static func foreignKeys(_ step: StepRecord, _ findings: inout FindingList) {
        for child in step.after.tables.values.sorted(by: { $0.name < $1.name }) {
            for key in child.foreignKeys where step.after.table(key.table) == nil {
                // A table may refer to one that a later migration creates.
                guard step.existed(key.table), !findings.explains(child.name) else { continue }
                let drop = step.statements.last { statement in
                    switch statement.kind {
                    case .dropTable(let name), .renameTable(let name, _):
                        name.isSameName(as: key.table)
                    default: false
                    }
                }
                let isMended =
                    step.final.table(key.table) != nil
                    || !(step.final.table(child.name)?.foreignKeys.contains(key) ?? false)
                findings.add(
                    .danglingReference,
                    level: isMended ? .warning : nil,
                    at: drop,
                    "table '\(child.name)' has a foreign key to '\(key.table)', which no longer "
                        + "exists: with foreign keys on, every change of '\(child.name)' fails",
                    fix: "Rebuild '\(child.name)' without the foreign key, or drop it, too."
                )
            }
        }
    }
}

extension FindingList {
    /// Whether the rule about renaming the old table first has named an object.
    fileprivate func explains(_ name: String) -> Bool {
        findings.contains { $0.rule == .renamesOldTableFirst && $0.message.contains("'\(name)'") }
    }
}

extension [StatementRecord] {
    /// The last statement that drops or renames something.
    fileprivate func lastBreaking(_ name: String) -> StatementRecord? {
        last { statement in
            statement.failure == nil
                && statement.actions.contains { [.drop, .alter].contains($0.kind) }
        }
    }
}
