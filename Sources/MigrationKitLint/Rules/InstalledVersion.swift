import MigrationKitSchema

/// The rule of the group "Breaks the version still installed".
enum InstalledVersion {
    static func check(_ step: StepRecord, _ findings: inout FindingList) {
        for table in step.before.tables.values.sorted(by: { $0.name < $1.name }) {
            if let now = step.after.table(table.name) {
                guard now.sql != table.sql || now.rootPage != table.rootPage else { continue }
                columns(of: table, now, step, &findings)
                checks(of: table, now, step, &findings)
            } else if step.after.view(table.name) == nil, !step.fails(toRestore: table.name) {
                // A view with the old name serves the installed version.
                missing(table, step, &findings)
            }
        }
    }

    private static func missing(
        _ table: SchemaModel.Table,
        _ step: StepRecord,
        _ findings: inout FindingList
    ) {
        let place = step.last { $0.table(table.name) != nil && $1.table(table.name) == nil }
        let what =
            switch place?.kind {
            case .renameTable(_, let name): "renamed to '\(name)'"
            default: "dropped"
            }
        findings.add(
            .breaksInstalledVersion,
            at: place,
            "table '\(table.name)' is \(what), and the version that is still installed may use it",
            fix: "Drop it in a later release, when no older version is in use; or leave a view "
                + "with the old name."
        )
    }

    private static func columns(
        of old: SchemaModel.Table,
        _ new: SchemaModel.Table,
        _ step: StepRecord,
        _ findings: inout FindingList
    ) {
        let rebuild = step.rebuilds.first { $0.table.isSameName(as: old.name) }
        for column in old.columns where new.column(column.name) == nil {
            let place =
                rebuild?.end
                ?? step.last { before, after in
                    before.table(old.name)?.column(column.name) != nil
                        && after.table(old.name)?.column(column.name) == nil
                }
            let what =
                switch place?.kind {
                case .renameColumn(_, _, let name): "is renamed to '\(name)'"
                default: "no longer exists"
                }
            findings.add(
                .breaksInstalledVersion,
                at: place,
                "column '\(column.name)' of table '\(old.name)' \(what), and the version that is "
                    + "still installed may use it",
                fix: "Add the new column and write both in this release. Drop the old one in a "
                    + "later release, when no older version is in use."
            )
        }
        // The installed version can't know a table that has only its name from before.
        guard rebuild?.isAnew != true else { return }
        for column in new.columns where column.isRequired {
            guard new.rowIDColumn?.name != column.name else { continue }
            if let before = old.column(column.name), before.isRequired { continue }
            let place =
                rebuild?.creation
                ?? step.last { before, after in
                    before.table(old.name)?.column(column.name)?.isRequired != true
                        && after.table(old.name)?.column(column.name)?.isRequired == true
                }
            guard place?.rejection == nil else { continue }
            findings.add(
                .breaksInstalledVersion,
                at: place,
                "column '\(column.name)' of table '\(old.name)' becomes NOT NULL without a "
                    + "default, and rows of the version that is still installed may lack it",
                fix: "Give the column a default."
            )
        }
    }

    private static func checks(
        of old: SchemaModel.Table,
        _ new: SchemaModel.Table,
        _ step: StepRecord,
        _ findings: inout FindingList
    ) {
        guard let trials = step.trials,
            let rebuild = step.rebuilds.first(where: { $0.table.isSameName(as: old.name) })
        else { return }
        for check in new.checks
        where !old.checks.contains(where: { $0.expression == check.expression }) {
            guard trials.update(of: old, toViolate: check.expression.meaning) != nil else {
                continue
            }
            findings.add(
                .breaksInstalledVersion,
                at: rebuild.creation,
                "a CHECK of table '\(old.name)' becomes narrower, and the version that is still "
                    + "installed may write rows that it refuses",
                fix: "Let the app write only allowed rows in this release, and add the CHECK in a "
                    + "later one."
            )
        }
    }
}

extension SchemaModel.Column {
    /// Whether every INSERT must give it a value.
    fileprivate var isRequired: Bool {
        isNotNull && generated == nil && defaultValue == nil
    }
}

extension StepRecord {
    /// Whether a statement would give a table this name, but fails.
    fileprivate func fails(toRestore table: String) -> Bool {
        statements.contains { statement in
            guard statement.failure != nil, case .renameTable(_, let name) = statement.kind else {
                return false
            }
            return name.isSameName(as: table)
        }
    }

    /// The last statement whose schemas before and after it satisfy a condition.
    func last(
        where isChange: (_ before: SchemaModel, _ after: SchemaModel) -> Bool
    ) -> StatementRecord? {
        statements.last { isChange($0.before, $0.after) }
    }
}
