extension LintRule {
    /// What it finds, in one sentence, for lists of rules such as SARIF's. Its ``page`` explains it.
    public var summary: String {
        switch self {
        case .dropTable: "A table that may hold rows is dropped."
        case .dropColumn: "A column that may hold data is dropped."
        case .cascadeDeletes:
            "With foreign keys on, a statement deletes or changes rows of child tables."
        case .rebuildLosesRows: "A rebuild of a table copies only some rows, or none."
        case .rebuildLosesColumn: "A rebuild doesn't copy a column that both tables have."
        case .rebuildShiftsColumns:
            "A rebuild copies by position, and values get into other columns."
        case .narrowsType: "A column gets a type or an affinity that changes stored values."
        case .deleteWithoutWhere: "DELETE without WHERE deletes all rows."
        case .updateWithoutWhere: "UPDATE without WHERE overwrites existing data."
        case .conflictDropsRows: "OR REPLACE or OR IGNORE drops rows."
        case .deleteWithoutCascade:
            "A DELETE, or an UPDATE of a key, leaves rows of other tables without their parent."
        case .rebuildLosesIndex:
            "A rebuild loses an index, its direction, its collation or its WHERE."
        case .rebuildLosesTrigger: "A rebuild loses a trigger."
        case .rebuildLosesView: "A rebuild loses a view."
        case .rebuildLosesConstraint:
            "A rebuild loses a CHECK, UNIQUE, NOT NULL, primary key or foreign key."
        case .rebuildLosesOption:
            "A rebuild loses STRICT, WITHOUT ROWID, or AUTOINCREMENT and its mark."
        case .rebuildLosesColumnProperty:
            "A rebuild loses a default, a collation or how a column is generated."
        case .renamesOldTableFirst: "The old table is renamed first, and references follow it."
        case .danglingReference:
            "A foreign key, view or trigger refers to something that no longer exists."
        case .vacuumRenumbersRows:
            "VACUUM may give rows other rowids, by which something finds them."
        case .staleFullText: "A full-text table doesn't match the table that has its texts."
        case .legacyAlterTable: "PRAGMA legacy_alter_table changes what a rename does."
        case .writableSchema: "PRAGMA writable_schema can damage the database."
        case .addColumnFails: "SQLite refuses to add the column."
        case .dropColumnFails: "SQLite refuses to drop the column."
        case .mayViolateUnique:
            "A unique index or constraint fails if the data has duplicates."
        case .mayViolateNotNull: "NOT NULL fails if the data has NULLs."
        case .mayViolateCheck: "A CHECK fails if the data doesn't satisfy it."
        case .mayViolateStrict: "STRICT fails if the data has other types."
        case .mayViolateForeignKey: "A foreign key fails if the data refers to missing rows."
        case .foreignKeyMismatch: "A foreign key refers to columns without a unique index."
        case .migrationFails: "The migration fails."
        case .breaksInstalledVersion:
            "The version of the app that is still installed may not work with the database."
        case .noEffectInTransaction:
            "A statement does nothing in a transaction, or can't run in one."
        case .notRepeatable:
            "A migration that isn't one transaction can't run again after it was interrupted."
        case .migrationChanged: "A migration was changed after it was merged or applied."
        case .migrationRemoved: "A migration was removed after it was merged or applied."
        case .migrationInserted: "A migration was inserted before merged or applied ones."
        case .foreignKeyWithoutIndex: "The columns of a foreign key have no index."
        case .noRollback: "A migration can't be rolled back."
        case .rollbackDiffers: "The rollback doesn't restore the schema, or fails."
        case .doubleQuotedString: "SQLite takes a double-quoted name for a string."
        case .tableNotStrict: "A table isn't STRICT."
        case .needlessAutoincrement: "AUTOINCREMENT is there without need."
        case .manyAlters: "One rebuild would do what many ALTER TABLEs do."
        case .checkIncomplete: "The check of a migration ended early."
        case .secretInMigration: "A key, password or token is in a migration."
        case .loadExtension: "A migration loads an extension."
        case .temporaryObject:
            "A migration makes a temporary object, or changes where temporary data goes."
        case .unusedAllow: "A comment that silences a rule silences nothing, or gives no reason."
        }
    }
}
