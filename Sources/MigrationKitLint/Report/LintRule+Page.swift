extension LintRule {
    /// Its page, in Markdown: what it finds, why, the safe pattern, an example.
    ///
    /// It is the text of `Documentation/lint`, which is part of the program.
    public var page: String { String(decoding: bytes, as: UTF8.self) }

    private var bytes: [UInt8] {
        switch self {
        case .dropTable: PackageResources.drop_table_md
        case .dropColumn: PackageResources.drop_column_md
        case .cascadeDeletes: PackageResources.cascade_deletes_md
        case .rebuildLosesRows: PackageResources.rebuild_loses_rows_md
        case .rebuildLosesColumn: PackageResources.rebuild_loses_column_md
        case .rebuildShiftsColumns: PackageResources.rebuild_shifts_columns_md
        case .narrowsType: PackageResources.narrows_type_md
        case .deleteWithoutWhere: PackageResources.delete_without_where_md
        case .updateWithoutWhere: PackageResources.update_without_where_md
        case .conflictDropsRows: PackageResources.conflict_drops_rows_md
        case .deleteWithoutCascade: PackageResources.delete_without_cascade_md
        case .rebuildLosesIndex: PackageResources.rebuild_loses_index_md
        case .rebuildLosesTrigger: PackageResources.rebuild_loses_trigger_md
        case .rebuildLosesView: PackageResources.rebuild_loses_view_md
        case .rebuildLosesConstraint: PackageResources.rebuild_loses_constraint_md
        case .rebuildLosesOption: PackageResources.rebuild_loses_option_md
        case .rebuildLosesColumnProperty: PackageResources.rebuild_loses_column_property_md
        case .renamesOldTableFirst: PackageResources.renames_old_table_first_md
        case .danglingReference: PackageResources.dangling_reference_md
        case .vacuumRenumbersRows: PackageResources.vacuum_renumbers_rows_md
        case .staleFullText: PackageResources.stale_full_text_md
        case .legacyAlterTable: PackageResources.legacy_alter_table_md
        case .writableSchema: PackageResources.writable_schema_md
        case .addColumnFails: PackageResources.add_column_fails_md
        case .dropColumnFails: PackageResources.drop_column_fails_md
        case .mayViolateUnique: PackageResources.may_violate_unique_md
        case .mayViolateNotNull: PackageResources.may_violate_not_null_md
        case .mayViolateCheck: PackageResources.may_violate_check_md
        case .mayViolateStrict: PackageResources.may_violate_strict_md
        case .mayViolateForeignKey: PackageResources.may_violate_foreign_key_md
        case .foreignKeyMismatch: PackageResources.foreign_key_mismatch_md
        case .migrationFails: PackageResources.migration_fails_md
        case .breaksInstalledVersion: PackageResources.breaks_installed_version_md
        case .noEffectInTransaction: PackageResources.no_effect_in_transaction_md
        case .notRepeatable: PackageResources.not_repeatable_md
        case .migrationChanged: PackageResources.migration_changed_md
        case .migrationRemoved: PackageResources.migration_removed_md
        case .migrationInserted: PackageResources.migration_inserted_md
        case .foreignKeyWithoutIndex: PackageResources.foreign_key_without_index_md
        case .noRollback: PackageResources.no_rollback_md
        case .rollbackDiffers: PackageResources.rollback_differs_md
        case .doubleQuotedString: PackageResources.double_quoted_string_md
        case .tableNotStrict: PackageResources.table_not_strict_md
        case .needlessAutoincrement: PackageResources.needless_autoincrement_md
        case .manyAlters: PackageResources.many_alters_md
        case .checkIncomplete: PackageResources.check_incomplete_md
        case .secretInMigration: PackageResources.secret_in_migration_md
        case .loadExtension: PackageResources.load_extension_md
        case .temporaryObject: PackageResources.temporary_object_md
        case .unusedAllow: PackageResources.unused_allow_md
        }
    }
}
