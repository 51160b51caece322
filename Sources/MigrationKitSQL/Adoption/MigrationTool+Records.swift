extension MigrationTool {
    /// The tables in which this and other tools record what they have done. No migration makes
    /// them.
    package static let recordTables: [String] =
        allCases.compactMap(\.versionTable) + [
            // Alembic, Atlas, Django, Drizzle, Entity Framework Core
            "alembic_version", "atlas_schema_revisions", "django_migrations",
            "__drizzle_migrations", "__EFMigrationsHistory", "__EFMigrationsLock",
            // Knex, Liquibase, Prisma, Rails
            "knex_migrations", "knex_migrations_lock", "DATABASECHANGELOG",
            "DATABASECHANGELOGLOCK", "_prisma_migrations", "ar_internal_metadata",
            // Android, Room, SeaORM, Sequelize
            "android_metadata", "room_master_table", "seaql_migrations", "SequelizeMeta",
        ]
}
