/// A rule of the linter. Its raw value is its name in findings, comments and settings, and never
/// changes.
public enum LintRule: String, CaseIterable, Codable, Sendable {
    // MARK: Rows are lost

    /// A table that may hold rows is dropped, and its rows are not copied first.
    case dropTable = "drop-table"
    /// A column that may hold data is dropped.
    case dropColumn = "drop-column"
    /// With foreign keys on, a statement deletes or changes rows of child tables.
    case cascadeDeletes = "cascade-deletes"
    /// A rebuild copies only some rows, or none.
    case rebuildLosesRows = "rebuild-loses-rows"
    /// A rebuild doesn't copy a column that the old and the new table both have.
    case rebuildLosesColumn = "rebuild-loses-column"
    /// A rebuild copies by position, and values get into other columns.
    case rebuildShiftsColumns = "rebuild-shifts-columns"
    /// A column gets a type or an affinity that changes stored values.
    case narrowsType = "narrows-type"
    /// `DELETE` without `WHERE`.
    case deleteWithoutWhere = "delete-without-where"
    /// `UPDATE` without `WHERE` overwrites existing data.
    case updateWithoutWhere = "update-without-where"
    /// `OR REPLACE` or `OR IGNORE` drops rows.
    case conflictDropsRows = "conflict-drops-rows"
    /// A `DELETE`, or an `UPDATE` of a key, leaves rows of other tables without their parent.
    case deleteWithoutCascade = "delete-without-cascade"

    // MARK: Something else is lost

    /// A rebuild loses an index, its direction, its collation or its `WHERE`.
    case rebuildLosesIndex = "rebuild-loses-index"
    /// A rebuild loses a trigger.
    case rebuildLosesTrigger = "rebuild-loses-trigger"
    /// A rebuild loses a view.
    case rebuildLosesView = "rebuild-loses-view"
    /// A rebuild loses a `CHECK`, `UNIQUE` or `NOT NULL`, a primary key or a foreign key.
    case rebuildLosesConstraint = "rebuild-loses-constraint"
    /// A rebuild loses `STRICT`, `WITHOUT ROWID`, or `AUTOINCREMENT` and its mark.
    case rebuildLosesOption = "rebuild-loses-option"
    /// A rebuild loses a default, a collation or how a column is generated.
    case rebuildLosesColumnProperty = "rebuild-loses-column-property"
    /// The old table is renamed first, and references follow it.
    case renamesOldTableFirst = "renames-old-table-first"
    /// A foreign key, view or trigger refers to something that no longer exists.
    case danglingReference = "dangling-reference"
    /// `VACUUM` gives rows other rowids, by which a full-text table or something else finds them.
    case vacuumRenumbersRows = "vacuum-renumbers-rows"
    /// A full-text table doesn't match the table that has its texts.
    case staleFullText = "stale-full-text"
    /// `PRAGMA legacy_alter_table`.
    case legacyAlterTable = "legacy-alter-table"
    /// `PRAGMA writable_schema`.
    case writableSchema = "writable-schema"

    // MARK: Fails on real data

    /// `ADD COLUMN` that SQLite refuses: `NOT NULL` without a constant default, `UNIQUE`,
    /// `PRIMARY KEY`, `CURRENT_TIMESTAMP`, `REFERENCES` with a default.
    case addColumnFails = "add-column-fails"
    /// `DROP COLUMN` that SQLite refuses: the column is indexed, or part of a key, trigger, view or
    /// generated column.
    case dropColumnFails = "drop-column-fails"
    /// A unique index or constraint on data that may have duplicates.
    case mayViolateUnique = "may-violate-unique"
    /// `NOT NULL` on data that may have NULLs.
    case mayViolateNotNull = "may-violate-not-null"
    /// A `CHECK` on data that may not satisfy it.
    case mayViolateCheck = "may-violate-check"
    /// `STRICT` on data that may have other types.
    case mayViolateStrict = "may-violate-strict"
    /// A foreign key on data that may refer to missing rows.
    case mayViolateForeignKey = "may-violate-foreign-key"
    /// A foreign key refers to columns without a unique index.
    case foreignKeyMismatch = "foreign-key-mismatch"
    /// The migration fails.
    case migrationFails = "migration-fails"

    // MARK: Breaks the version still installed

    /// The version of the app that is still installed may not work with the database.
    case breaksInstalledVersion = "breaks-installed-version"

    // MARK: Does nothing, or something else, in a transaction

    /// A statement does nothing in a transaction, or can't run in one.
    case noEffectInTransaction = "no-effect-in-transaction"

    // MARK: Not repeatable

    /// A migration that isn't one transaction and can't run again after it was interrupted.
    case notRepeatable = "not-repeatable"
    /// A migration was changed after it was merged or applied.
    case migrationChanged = "migration-changed"
    /// A migration was removed after it was merged or applied.
    case migrationRemoved = "migration-removed"
    /// A migration was inserted before merged or applied ones.
    case migrationInserted = "migration-inserted"

    // MARK: Missing or doubtful

    /// The columns of a foreign key have no index.
    case foreignKeyWithoutIndex = "foreign-key-without-index"
    /// There is no rollback.
    case noRollback = "no-rollback"
    /// The rollback doesn't restore the schema, or fails.
    case rollbackDiffers = "rollback-differs"
    /// A double-quoted name that SQLite takes for a string.
    case doubleQuotedString = "double-quoted-string"
    /// A table that isn't `STRICT`.
    case tableNotStrict = "table-not-strict"
    /// `AUTOINCREMENT` without need.
    case needlessAutoincrement = "needless-autoincrement"
    /// Many `ALTER TABLE`s that one rebuild would do.
    case manyAlters = "many-alters"
    /// The check of a migration ended early: it loops, or needs something that only the app has.
    case checkIncomplete = "check-incomplete"

    // MARK: Security

    /// A key, password or token in a migration.
    case secretInMigration = "secret-in-migration"
    /// `load_extension`.
    case loadExtension = "load-extension"
    /// A temporary object, or a change of where temporary data goes.
    case temporaryObject = "temporary-object"

    // MARK: Comments that silence a rule

    /// `-- migrationkit:allow` that silences nothing, gives no reason, or names no rule.
    case unusedAllow = "unused-allow"

    /// The level of its findings unless the configuration says otherwise.
    ///
    /// An error is almost always a mistake. A warning needs a look: whether it is one depends on
    /// the data or on other programs. A note is advice.
    public var level: LintLevel {
        switch self {
        case .cascadeDeletes, .rebuildLosesRows, .rebuildLosesColumn, .rebuildShiftsColumns,
            .rebuildLosesIndex, .rebuildLosesTrigger, .renamesOldTableFirst, .danglingReference,
            .vacuumRenumbersRows, .staleFullText,
            .addColumnFails, .dropColumnFails, .foreignKeyMismatch, .migrationFails,
            .migrationChanged, .migrationRemoved, .secretInMigration, .loadExtension:
            .error
        case .dropTable, .dropColumn, .narrowsType, .deleteWithoutWhere, .updateWithoutWhere,
            .conflictDropsRows, .deleteWithoutCascade, .rebuildLosesView, .rebuildLosesConstraint,
            .rebuildLosesOption, .rebuildLosesColumnProperty, .legacyAlterTable, .writableSchema,
            .mayViolateUnique, .mayViolateNotNull, .mayViolateCheck, .mayViolateStrict,
            .mayViolateForeignKey, .breaksInstalledVersion, .noEffectInTransaction,
            .notRepeatable, .migrationInserted, .rollbackDiffers, .checkIncomplete,
            .temporaryObject, .unusedAllow:
            .warning
        case .foreignKeyWithoutIndex, .noRollback, .doubleQuotedString, .tableNotStrict,
            .needlessAutoincrement, .manyAlters:
            .note
        }
    }
}
