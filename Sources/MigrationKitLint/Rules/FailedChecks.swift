/// The rules about migrations that fail, or whose check ended early.
enum FailedChecks {
    static func check(_ step: StepRecord, _ findings: inout FindingList) {
        if let reason = step.incomplete {
            findings.add(
                .checkIncomplete,
                at: nil,
                "The check of the migration ended early: \(reason)"
            )
        }
        for statement in step.statements {
            guard let failure = statement.failure, !statement.failsAsConsequence else { continue }
            findings.add(
                .migrationFails,
                at: statement,
                "SQLite refuses the statement: \(failure.message)"
            )
        }
    }
}
