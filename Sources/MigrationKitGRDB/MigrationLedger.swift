import GRDB
import MigrationKit

/// The table in which a database remembers its applied steps.
///
/// It is the table of GRDB's own `DatabaseMigrator`, so that a database can go from one to the
/// other and back.
enum MigrationLedger {
    /// Makes the table, as GRDB does, if it is not there.
    static func create(_ db: Database) throws {
        try db.execute(
            sql: "CREATE TABLE IF NOT EXISTS grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY)"
        )
    }

    /// The identifiers of all applied steps, also of those that no registry knows.
    static func read(_ db: Database) throws -> Set<String> {
        guard try tableExists(db) else { return [] }
        return try String.fetchSet(db, sql: "SELECT identifier FROM grdb_migrations")
    }

    /// GRDB's own answer comes from a cache, which knows neither what another process has done to
    /// the schema nor what was rolled back.
    private static func tableExists(_ db: Database) throws -> Bool {
        try Bool.fetchOne(
            db,
            sql: """
                SELECT EXISTS (
                    SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'grdb_migrations'
                )
                """
        ) ?? false
    }

    /// How many steps are applied. Cheaper than reading them, for a look before each of many steps.
    static func count(_ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM grdb_migrations") ?? 0
    }

    static func contains(_ identifier: String, _ db: Database) throws -> Bool {
        try Bool.fetchOne(
            db,
            sql: "SELECT EXISTS (SELECT 1 FROM grdb_migrations WHERE identifier = ?)",
            arguments: [identifier]
        ) ?? false
    }

    static func insert(_ identifier: String, _ db: Database) throws {
        try db.execute(
            sql: "INSERT INTO grdb_migrations (identifier) VALUES (?)",
            arguments: [identifier]
        )
    }

    static func remove(_ identifiers: some Sequence<String>, _ db: Database) throws {
        for identifier in identifiers {
            try db.execute(
                sql: "DELETE FROM grdb_migrations WHERE identifier = ?",
                arguments: [identifier]
            )
        }
    }
}

extension MigrationRegistry<Database> {
    /// Refuses a database that a newer program has migrated.
    func checkKnows(_ applied: Set<String>) throws {
        let known = steps.reduce(into: Set(identifiers)) { $0.formUnion($1.mergedIdentifiers) }
        let unknown = applied.subtracting(known)
        guard unknown.isEmpty else {
            throw MigrationKitError.databaseIsNewer(unknown: unknown.sorted())
        }
    }

    /// The applied steps, in the order of the registry.
    func applied(among applied: Set<String>) -> [MigrationStep<Database>] {
        steps.filter { applied.contains($0.identifier) }
    }

    /// An applied step that a pending one behind `step` stands for, if there is one.
    func merged(behind step: MigrationStep<Database>, among applied: Set<String>) -> String? {
        steps.drop { $0.identifier != step.identifier }.dropFirst()
            .filter { !applied.contains($0.identifier) }
            .compactMap { $0.mergedIdentifiers.intersection(applied).max() }
            .last
    }

    /// The identifiers of the pending steps, in the order of the registry.
    func pending(given applied: Set<String>) -> [String] {
        identifiers.filter { !applied.contains($0) }
    }
}
