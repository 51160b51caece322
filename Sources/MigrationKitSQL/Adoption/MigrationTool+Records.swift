import GRDB

extension MigrationTool {
    /// The names of the tables in which this and other tools record what they have done. No migration
    /// makes them.
    package static let recordTables: [String] =
        allCases.compactMap(\.versionTable) + [
            // Alembic, Atlas, Cloudflare D1, Django, Drizzle, Entity Framework Core
            "alembic_version", "atlas_schema_revisions", "d1_migrations", "django_migrations",
            "__drizzle_migrations", "__EFMigrationsHistory", "__EFMigrationsLock",
            // Knex, Liquibase, Prisma, Rails
            "knex_migrations", "knex_migrations_lock", "DATABASECHANGELOG",
            "DATABASECHANGELOGLOCK", "_prisma_migrations", "ar_internal_metadata",
            // Android, Room, SeaORM, Sequelize
            "android_metadata", "room_master_table", "seaql_migrations", "SequelizeMeta",
            // yoyo
            "_yoyo_migration", "_yoyo_log", "_yoyo_version", "yoyo_lock",
        ]

    /// The tables of a database that are such records by their columns, whatever they are called.
    ///
    /// - Throws: GRDB's `DatabaseError` if the database can't be read.
    package static func recordTables(in db: Database) throws -> [String] {
        let laravels = try TableColumn.ofAllTables(in: db).filter(isLaravels).map(\.table)
        return try found(in: db).map(\.table) + laravels
    }

    /// Laravel's `migrations`, which may have a prefix. The name alone says too little.
    /// <https://github.com/laravel/framework/blob/12.x/src/Illuminate/Database/Migrations/DatabaseMigrationRepository.php>
    private static func isLaravels(_ table: String, _ columns: [TableColumn]) -> Bool {
        table.lowercased().hasSuffix("migrations")
            && columns.map { $0.name.lowercased() } == ["id", "migration", "batch"]
    }
}
