import MigrationKitGRDB
import MigrationKitSchema

/// The rule of the group "Breaks the version still installed": what the runner keeps in the database
/// when it applies the migration.
enum InstalledVersion {
    static func check(_ step: StepRecord, _ findings: inout FindingList) {
        // What can't be applied, or what the author has judged, isn't judged.
        guard step.older == nil, step.succeeds else { return }
        var effect = StepEffect { step.before.objects }
        for statement in step.statements { effect.note(statement) }
        var reasons = effect.reasons { step.after.objects }
        if reasons.isEmpty, !step.usesTransaction {
            let text = "a migration outside of a transaction isn't judged"
            reasons = [StepEffect.Reason(text, stillRuns: true)]
        }
        guard !reasons.isEmpty else { return }
        let places = places(of: Set(reasons), step)
        let word = step.format == nil ? "older: .work" : "-- migrate:older works"
        // What rows refuse is another rule's finding.
        for reason in reasons where places[reason]?.rejection == nil {
            findings.add(
                .breaksInstalledVersion,
                level: reason.stillRuns ? .note : .warning,
                at: places[reason],
                "older versions may not work with the database: \(reason.text)",
                fix:
                    "Do it in a later release, when no older version is in use; or, if they do work "
                    + "with it, say so in the migration: \(word)"
            )
        }
    }

    /// The statements after which older versions no longer work.
    ///
    /// - Parameter wholly: Whether each is judged by all that the migration has changed up to there. A migration
    ///   of a hundred statements changes another table with each; only a few reasons come from another table
    ///   than the one that they name, such as that of a trigger's rows.
    private static func places(
        of reasons: Set<StepEffect.Reason>,
        _ step: StepRecord,
        wholly: Bool = false
    ) -> [StepEffect.Reason: StatementRecord] {
        var effect = StepEffect { step.before.objects }
        var places: [StepEffect.Reason: StatementRecord] = [:]
        for statement in step.statements {
            var change = StepEffect { step.before.objects }
            guard change.note(statement) else { continue }
            func judged(_ effect: StepEffect, _ schema: SchemaModel) -> Set<StepEffect.Reason> {
                let part = wholly ? effect : effect.limited(to: change)
                return Set(part.reasons { schema.objects })
            }
            let last = judged(effect, statement.before)
            effect.note(statement)
            let now = judged(effect, statement.after)
            for reason in now.intersection(reasons).subtracting(last) { places[reason] = statement }
        }
        let others = reasons.subtracting(places.keys)
        guard !others.isEmpty, !wholly else { return places }
        return places.merging(self.places(of: others, step, wholly: true)) { place, _ in place }
    }
}

extension StepEffect {
    /// - Returns: Whether the statement may have an effect.
    @discardableResult
    fileprivate mutating func note(_ statement: StatementRecord) -> Bool {
        let changes = statement.after.changes(since: statement.before)
        note(changes)
        // SQLite reports the rows of a dropped table as deleted.
        let isDrop = statement.actions.contains { $0.kind == .drop }
        var writesRows = false
        for action in statement.actions where action.database != "temp" && !action.isOfSchema {
            switch action.kind {
            case .update:
                note(.update(table: action.name, columns: action.detail.map { [$0] } ?? []))
            case .delete where !isDrop: note(.delete(table: action.name))
            case .insert: note(.insert(table: action.name))
            default: continue
            }
            writesRows = true
        }
        switch statement.kind {
        case .insert, .update, .delete:
            if statement.actions.contains(where: \.isOfSchema) { writesSchema = true }
        case .pragma("user_version", _?), .pragma("application_id", _?): changesVersions = true
        default: return writesRows || !changes.isEmpty
        }
        return true
    }
}

extension StatementAction {
    fileprivate var isOfSchema: Bool {
        [.insert, .update, .delete].contains(kind)
            && ["sqlite_master", "sqlite_schema"].contains(name.foldedName)
    }
}
