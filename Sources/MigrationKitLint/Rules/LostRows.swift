import MigrationKitGRDB

/// The rules of the group "Rows are lost".
enum LostRows {
    static func check(_ step: StepRecord, _ findings: inout FindingList) {
        dropsTable(step, &findings)
    }

    /// A table is dropped that no new one replaces, and whose rows were not copied.
    private static func dropsTable(_ step: StepRecord, _ findings: inout FindingList) {
        for statement in step.statements where statement.failure == nil {
            guard case .dropTable(let name) = statement.kind, let table = step.before.table(name),
                statement.before.table(name)?.rootPage == table.rootPage,
                statement.after.table(name) == nil
            else { continue }
            guard !step.rebuilds.contains(where: { $0.drop?.place == statement.place }) else {
                continue
            }
            findings.add(
                .dropTable,
                at: statement,
                "Table '\(table.name)' is dropped with its rows"
            )
        }
    }
}
