import Foundation
import GRDB
import MigrationKit

/// The table in which a database remembers its applied steps.
///
/// It is the table of GRDB's own `DatabaseMigrator`, so that a database can go from one to the
/// other and back.
enum MigrationLedger {
    static let table = "grdb_migrations"

    /// Whether this is the table's name, as SQLite compares names. Every statement of a step is asked
    /// about.
    static func isTable(_ name: String) -> Bool {
        name.utf8.count == table.utf8.count && name.lowercased() == table
    }

    /// Makes the table, as GRDB does, if it is not there.
    static func create(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE IF NOT EXISTS main.grdb_migrations \
                (identifier TEXT NOT NULL PRIMARY KEY)
                """
        )
    }

    /// The identifiers of all applied steps, also of those that no registry knows.
    ///
    /// - Throws: `MigrationKitError.unusableTable(_:)` if something else has made the table.
    static func read(_ db: Database) throws -> Set<String> {
        guard try db.hasTable(table) else { return [] }
        return try db.reading(table) {
            try DatabaseValue.fetchAll(db, sql: "SELECT identifier FROM main.grdb_migrations")
                .reduce(into: []) { identifiers, value in
                    guard case .string(let identifier) = value.storage, !identifier.isEmpty else {
                        throw MigrationKitError.unusableTable(table)
                    }
                    identifiers.insert(identifier)
                }
        }
    }

    /// A number that changes when another connection commits something, whatever it is.
    /// <https://www.sqlite.org/pragma.html#pragma_data_version>
    static func dataVersion(_ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "PRAGMA data_version") ?? 0
    }

    static func contains(_ identifier: String, _ db: Database) throws -> Bool {
        let statement = try db.cachedStatement(
            sql: "SELECT EXISTS (SELECT 1 FROM main.grdb_migrations WHERE identifier = ?)"
        )
        return try Bool.fetchOne(statement, arguments: [identifier]) ?? false
    }

    /// - Throws: `MigrationKitError.unusableTable(_:)` if the row isn't there afterwards: a trigger
    ///   can keep it out.
    static func insert(_ identifier: String, _ db: Database) throws {
        try db.cachedStatement(sql: "INSERT INTO main.grdb_migrations (identifier) VALUES (?)")
            .execute(arguments: [identifier])
        guard try db.changesCount == 1 && contains(identifier, db) else {
            throw MigrationKitError.unusableTable(table)
        }
    }

    /// - Throws: `MigrationKitError.unusableTable(_:)` if a row isn't gone afterwards.
    static func remove(_ identifiers: some Sequence<String>, _ db: Database) throws {
        for identifier in identifiers {
            try db.execute(
                sql: "DELETE FROM main.grdb_migrations WHERE identifier = ?",
                arguments: [identifier]
            )
            guard try db.changesCount == 1 && !contains(identifier, db) else {
                throw MigrationKitError.unusableTable(table)
            }
        }
    }
}

extension MigrationRegistry<Database> {
    /// Refuses a database that a newer program has migrated, or with steps that are gone.
    func checkKnows(_ applied: Set<String>) throws {
        let unknown = unknown(among: applied)
        guard unknown.newer.isEmpty else {
            throw MigrationKitError.databaseIsNewer(unknown: unknown.newer)
        }
        guard unknown.missing.isEmpty else {
            throw MigrationKitError.appliedMigrationsMissing(unknown.missing)
        }
    }

    /// The applied steps that the registry doesn't know, sorted.
    ///
    /// Where the identifiers ascend, one before the last of the registry is missing from it: a
    /// newer program's come behind.
    func unknown(among applied: Set<String>) -> (newer: [String], missing: [String]) {
        let known = steps.reduce(into: Set(identifiers)) { $0.formUnion($1.mergedIdentifiers) }
        let unknown = applied.subtracting(known).sorted()
        let isBefore: (String, String) -> Bool = {
            $0.compare($1, options: .numeric) == .orderedAscending
        }
        guard !unknown.isEmpty, let last = identifiers.last,
            zip(identifiers, identifiers.dropFirst()).allSatisfy(isBefore)
        else { return (unknown, []) }
        return (unknown.filter { !isBefore($0, last) }, unknown.filter { isBefore($0, last) })
    }

    /// Refuses steps that were changed after they were applied.
    func checkUnchanged(_ applied: Set<String>, _ db: Database) throws {
        let changed = try changed(among: applied, db)
        guard changed.isEmpty else { throw MigrationKitError.changedAfterApplied(changed) }
    }

    /// The applied steps whose checksum is another one than the journal has, in order.
    func changed(among applied: Set<String>, _ db: Database) throws -> [String] {
        guard steps.contains(where: { $0.checksum != nil }) else { return [] }
        return changed(among: applied, try MigrationJournal.records(db))
    }

    /// The applied steps whose checksum is another one than they are remembered with, in order.
    func changed(
        among applied: Set<String>,
        _ records: [String: MigrationRecord]
    ) -> [String] {
        steps.compactMap { step in
            guard let checksum = step.checksum, applied.contains(step.identifier),
                let recorded = records[step.identifier]?.checksum, recorded != checksum
            else { return nil }
            return step.identifier
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

    /// The pending steps that come before an applied one, unless that is allowed.
    func late(among applied: Set<String>) -> [String] {
        guard !allowsOutOfOrder,
            let latest = steps.lastIndex(where: { applied.contains($0.identifier) })
        else { return [] }
        // A step that takes the place of others is not late where one of them is applied.
        return steps[..<latest].filter {
            !applied.contains($0.identifier) && $0.mergedIdentifiers.isDisjoint(with: applied)
        }.map(\.identifier)
    }

    /// The identifiers of the pending steps, in the order of the registry.
    func pending(given applied: Set<String>) -> [String] {
        identifiers.filter { !applied.contains($0) }
    }
}

extension Database {
    /// Does something with a table of ours, which others may have made otherwise.
    ///
    /// - Throws: `MigrationKitError.unusableTable(_:)` if the SQL doesn't fit it.
    func reading<Value>(_ table: String, _ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
            throw MigrationKitError.unusableTable(table)
        }
    }

    /// Whether a table of ours is there. GRDB's own answer comes from a cache, which knows neither
    /// what another process has done to the schema nor what was rolled back.
    ///
    /// - Throws: `MigrationKitError.unusableTable(_:)` if something else has the name: reading a
    ///   view runs what its author wrote, which need not come to an end, and a virtual table what
    ///   its module does.
    func hasTable(_ name: String) throws -> Bool {
        let isTable = try Bool.fetchAll(
            self,
            sql: """
                SELECT type = 'table' AND rootpage > 0 FROM main.sqlite_master
                WHERE type <> 'trigger' AND name = ? COLLATE NOCASE
                """,
            arguments: [name]
        )
        guard isTable.allSatisfy({ $0 }) else { throw MigrationKitError.unusableTable(name) }
        return !isTable.isEmpty
    }
}
