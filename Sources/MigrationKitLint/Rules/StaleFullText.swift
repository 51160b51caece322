import MigrationKitGRDB
import MigrationKitSchema

/// The rule about full-text tables that have their texts in another table, and don't match it after a migration.
enum StaleFullText {
    static func check(_ step: StepRecord, _ findings: inout FindingList) {
        for index in step.staleIndexes {
            let statement = step.statements.last { statement in
                statement.failure == nil && statement.touches([index.name, index.content])
            }
            // That one has a rule of its own.
            if let statement, findings.rules(at: statement).contains(.vacuumRenumbersRows) {
                continue
            }
            report(index.name, index.content, at: statement, &findings)
        }
    }

    static func report(
        _ index: String,
        _ content: String,
        at statement: StatementRecord?,
        _ findings: inout FindingList
    ) {
        let name = GRDBMigrationSQLHelpers.quoted(index)
        findings.add(
            .staleFullText,
            at: statement,
            "the full-text table '\(index)' doesn't match the rows of '\(content)' after "
                + "the migration: searches don't find them",
            fix:
                "Fill it in the same migration: `INSERT INTO \(name) (\(name)) VALUES ('rebuild')`."
        )
    }
}

extension StatementRecord {
    fileprivate func touches(_ names: [String]) -> Bool {
        let writing: [StatementAction.Kind] = [.insert, .update, .delete, .create, .drop, .alter]
        return names.contains { name in
            parsed.target?.isSameName(as: name) ?? false
                || actions.contains { writing.contains($0.kind) && $0.name.isSameName(as: name) }
        }
    }
}
