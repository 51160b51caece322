import GRDB
import MigrationKit

/// The table in which a database records its applied steps.
///
/// It is the table of GRDB's own `DatabaseMigrator`, so a database can be migrated with either.
package enum MigrationLedger {
    package static let table = "grdb_migrations"

    /// Whether this is the table's name, compared as SQLite does. Called for every statement of a
    /// step.
    static func isTable(_ name: String) -> Bool {
        name.utf8.count == table.utf8.count && name.lowercased() == table
    }

    /// Creates the table, as GRDB does, if it is missing.
    package static func create(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE IF NOT EXISTS main.grdb_migrations \
                (identifier TEXT NOT NULL PRIMARY KEY)
                """
        )
    }

    /// The identifiers of all applied steps, including those that no registry has.
    ///
    /// - Throws: `MigrationKitError.unusableTable(_:)` if something else has made the table.
    package static func read(_ db: Database) throws -> Set<String> {
        guard try db.hasTable(table) else { return [] }
        return try db.reading(table) {
            let statement = try db.cachedStatement(
                sql: "SELECT identifier FROM main.grdb_migrations"
            )
            return try DatabaseValue.fetchAll(statement)
                .reduce(into: []) { identifiers, value in
                    guard case .string(let identifier) = value.storage, !identifier.isEmpty else {
                        throw MigrationKitError.unusableTable(table)
                    }
                    identifiers.insert(identifier)
                }
        }
    }

    /// The steps that are applied, and those whose batches are under way.
    package struct Started {
        package var applied: Set<String>
        let begun: [String: MigrationJournal.Begun]

        /// The identifiers of both. A step that is begun has changed rows, so that none before it may be
        /// applied or taken back.
        package var all: Set<String> { applied.union(begun.keys) }

        /// The identifiers of those that are begun, the last one first.
        var begunNewestFirst: [String] {
            begun.sorted { $0.value.isLater(than: $1.value) }.map(\.key)
        }

        /// The same without some.
        func subtracting(_ identifiers: some Sequence<String>) -> Started {
            let identifiers = Set(identifiers)
            return Started(
                applied: applied.subtracting(identifiers),
                begun: begun.filter { !identifiers.has($0.key) }
            )
        }

        /// The same, with more that are applied.
        func adding(_ identifiers: Set<String>) -> Started {
            Started(
                applied: applied.union(identifiers),
                begun: begun.filter { !identifiers.has($0.key) }
            )
        }
    }

    /// The steps that are applied or begun.
    ///
    /// - Throws: `MigrationKitError.unusableTable(_:)` if something else has made a table of them.
    package static func started(_ db: Database) throws -> Started {
        let applied = try read(db)
        return Started(
            applied: applied,
            begun: try MigrationJournal.begun(db).filter { !applied.has($0.key) }
        )
    }

    /// A number that changes whenever another connection commits anything.
    /// <https://www.sqlite.org/pragma.html#pragma_data_version>
    package static func dataVersion(_ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "PRAGMA data_version") ?? 0
    }

    static func contains(_ identifier: String, _ db: Database) throws -> Bool {
        let statement = try db.cachedStatement(
            sql: "SELECT EXISTS (SELECT 1 FROM main.grdb_migrations WHERE identifier = ?)"
        )
        return try Bool.fetchOne(statement, arguments: [identifier]) ?? false
    }

    /// - Throws: `MigrationKitError.unusableTable(_:)` if the row isn't there afterwards. A trigger
    ///   can prevent it.
    static func insert(_ identifier: String, _ db: Database) throws {
        try db.cachedStatement(sql: "INSERT INTO main.grdb_migrations (identifier) VALUES (?)")
            .execute(arguments: [identifier])
        guard try db.changesCount == 1 && contains(identifier, db) else {
            throw MigrationKitError.unusableTable(table)
        }
    }

    /// - Throws: `MigrationKitError.unusableTable(_:)` if a row is still there afterwards.
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
    /// Throws if a newer program has migrated the database, or if applied steps are missing.
    func checkKnows(_ applied: Set<String>, _ db: Database) throws {
        try checkHasAll(applied)
        let newer = try newer(among: applied, db)
        guard newer.isEmpty else { throw MigrationKitError.databaseIsNewer(newer) }
    }

    /// Throws if a newer program has migrated the database in a way with which this one can't work, or
    /// if applied steps are missing. Where both have steps that the other doesn't know, nobody can say
    /// in which order they belong.
    ///
    /// - Returns: The applied steps that the registry doesn't have.
    func checkWorks(with applied: Set<String>, _ db: Database) throws -> [String] {
        // Without those, no way back is complete.
        try checkHasAll(applied)
        let newer = try newer(among: applied, db)
        let works = newer.allSatisfy { $0.older == .work }
        guard works, newer.isEmpty || pending(given: applied).isEmpty else {
            throw MigrationKitError.databaseIsNewer(newer)
        }
        return newer.filter { !$0.isBegun }.map(\.identifier).sorted()
    }

    func checkHasAll(_ applied: Set<String>) throws {
        let missing = unknown(among: applied).missing
        guard missing.isEmpty else {
            throw MigrationKitError.appliedMigrationsMissing(missing)
        }
    }

    /// The applied steps that belong to a newer program, as the journal describes them: in the order
    /// in which they were applied, those that it doesn't know first. Begun ones that the registry doesn't
    /// have come last, wherever they would belong: only a program that has them can go on.
    package func newer(among applied: Set<String>, _ db: Database) throws -> [NewerMigration] {
        let newer = unknown(among: applied).newer
        let begun = try MigrationJournal.begun(db)
            .filter { !applied.has($0.key) && !Set(identifiers).has($0.key) }
            .map { NewerMigration($0.key, $0.value, without: newer) }
            .sorted { $0.identifier < $1.identifier }
        // The usual case, with no more of the journal.
        guard !newer.isEmpty else { return begun }
        let records = try MigrationJournal.records(db)
        return newer.map { NewerMigration($0, records[$0], without: newer) }
            .enumerated().sorted {
                let times = [$0, $1].map { $0.element.appliedAt ?? .distantPast }
                return (times[0], $0.offset) < (times[1], $1.offset)
            }
            .map(\.element) + begun
    }

    /// The applied steps that the registry doesn't have, sorted.
    ///
    /// If the identifiers ascend, a step before the registry's last one is missing from the
    /// registry, and so is one that the registry has in another encoding. A step after it belongs to
    /// a newer program.
    package func unknown(among applied: Set<String>) -> (newer: [String], missing: [String]) {
        let unknown = applied.filter { !knownIdentifiers.has($0) }.sorted()
        let isBefore: (String, String) -> Bool = {
            $0.compare($1, options: .numeric) == .orderedAscending
        }
        let ascends =
            !unknown.isEmpty && zip(identifiers, identifiers.dropFirst()).allSatisfy(isBefore)
        let last = ascends ? identifiers.last : nil
        // The registry has it in another encoding: the file's name was changed.
        let isMissing: (String) -> Bool = { identifier in
            knownIdentifiers.contains(identifier) || last.map { isBefore(identifier, $0) } ?? false
        }
        return (unknown.filter { !isMissing($0) }, unknown.filter(isMissing))
    }

    /// Throws if steps were changed after they were applied, or after their batches had begun.
    func checkUnchanged(_ started: MigrationLedger.Started, _ db: Database) throws {
        let changed = try changed(among: started.applied, db)
        guard changed.isEmpty else { throw MigrationKitError.changedAfterApplied(changed) }
        let begun = self.changed(begun: started.begun)
        guard begun.isEmpty else {
            throw MigrationKitError.changedSinceBegun(
                begun,
                canBeTakenBack: begun.allSatisfy { started.begun[$0]?.rollbackSQL != nil }
            )
        }
    }

    /// The begun steps that aren't any more what they were when they changed rows, in order.
    ///
    /// One that has changed no row begins anew, whatever its text is.
    package func changed(begun: [String: MigrationJournal.Begun]) -> [String] {
        guard !begun.isEmpty else { return [] }
        return steps.compactMap { step in
            guard let begun = begun[step.identifier], begun.progress.rowsChanged > 0,
                !begun.goesOn(with: step)
            else { return nil }
            return step.identifier
        }
    }

    /// The applied steps whose checksum differs from the journal's, in order.
    package func changed(among applied: Set<String>, _ db: Database) throws -> [String] {
        guard steps.contains(where: { $0.checksum != nil }) else { return [] }
        return changed(among: applied, try MigrationJournal.records(db))
    }

    /// The applied steps whose checksum differs from the recorded one, in order.
    func changed(
        among applied: Set<String>,
        _ records: [String: MigrationRecord]
    ) -> [String] {
        steps.compactMap { step in
            guard let checksum = step.checksum, applied.has(step.identifier),
                let recorded = records[step.identifier]?.checksum, recorded != checksum
            else { return nil }
            return step.identifier
        }
    }

    /// The applied steps whose record `repair` brings up to date, in order: those whose checksum
    /// differs, or only the way back, which hasn't run.
    package func repairable(
        among applied: Set<String>,
        _ records: [String: MigrationRecord]
    ) -> [String] {
        let changed = changed(among: applied, records)
        return steps.compactMap { step in
            guard applied.has(step.identifier) else { return nil }
            let hasNewWayBack =
                step.rollbackSQL != nil && step.rollbackSQL != records[step.identifier]?.rollbackSQL
            return hasNewWayBack || changed.contains(step.identifier) ? step.identifier : nil
        }
    }

    /// The applied and begun steps in the order in which they are taken back.
    ///
    /// Those that are begun come first, wherever they are in the registry: what is recorded was applied
    /// before they began, or beside them.
    func newestFirst(_ started: MigrationLedger.Started) -> [MigrationStep<Database>] {
        let begun = started.begunNewestFirst.compactMap { identifier in
            steps.first { $0.identifier.utf8.elementsEqual(identifier.utf8) }
        }
        return begun + applied(among: started.applied).reversed()
    }

    /// The applied steps, in the order of the registry.
    package func applied(among applied: Set<String>) -> [MigrationStep<Database>] {
        steps.filter { applied.has($0.identifier) }
    }

    /// An applied step that a pending step after `step` replaces, if there is one.
    func merged(behind step: MigrationStep<Database>, among applied: Set<String>) -> String? {
        steps.drop { $0.identifier != step.identifier }.dropFirst()
            .filter { !applied.has($0.identifier) }
            .compactMap { $0.mergedIdentifiers.intersection(applied).max() }
            .last
    }

    /// The pending steps that come before an applied one, unless that is allowed.
    package func late(among applied: Set<String>) -> [String] {
        guard !allowsOutOfOrder,
            let latest = steps.lastIndex(where: { applied.has($0.identifier) })
        else { return [] }
        // A step that replaces others is not late if one of those is applied.
        return steps[..<latest].filter {
            !applied.has($0.identifier) && $0.mergedIdentifiers.isDisjoint(with: applied)
        }.map(\.identifier)
    }

    /// The identifiers of the pending steps, in the order of the registry.
    package func pending(given applied: Set<String>) -> [String] {
        identifiers.filter { !applied.has($0) }
    }
}

extension NewerMigration {
    fileprivate init(
        _ identifier: String,
        _ begun: MigrationJournal.Begun,
        without unknown: [String]
    ) {
        self.init(
            identifier: identifier,
            appVersion: begun.appVersion,
            older: begun.older?.without(unknown),
            canBeTakenBack: begun.rollbackSQL != nil,
            isBegun: true
        )
    }

    /// - Parameter unknown: The steps that the versions in question don't know either.
    init(_ identifier: String, _ record: MigrationRecord?, without unknown: [String] = []) {
        self.init(
            identifier: identifier,
            appliedAt: record?.appliedAt,
            appVersion: record?.appVersion,
            older: record?.older?.without(unknown),
            canBeTakenBack: record?.rollbackSQL != nil
        )
    }
}

extension MigrationKitError {
    /// - Parameter steps: What the journal says of the steps, oldest first.
    fileprivate static func databaseIsNewer(_ steps: [NewerMigration]) -> Self {
        .databaseIsNewer(unknown: steps.map(\.identifier).sorted(), steps: steps)
    }
}

extension Database {
    /// Reads one of our tables, which another program may have created with other columns.
    ///
    /// - Throws: `MigrationKitError.unusableTable(_:)` if the SQL doesn't fit it.
    package func reading<Value>(_ table: String, _ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
            throw MigrationKitError.unusableTable(table)
        }
    }

    /// Whether one of our tables exists. GRDB caches its answer, which then misses other processes'
    /// changes and rollbacks.
    ///
    /// - Throws: `MigrationKitError.unusableTable(_:)` if something else has the name: reading a
    ///   view runs its author's SQL, which may never end, and a virtual table runs its module.
    package func hasTable(_ name: String) throws -> Bool {
        let statement = try cachedStatement(
            sql: """
                SELECT type = 'table' AND rootpage > 0 FROM main.sqlite_master
                WHERE type <> 'trigger' AND name = ? COLLATE NOCASE
                """
        )
        let isTable = try Bool.fetchAll(statement, arguments: [name])
        guard isTable.allSatisfy({ $0 }) else { throw MigrationKitError.unusableTable(name) }
        return !isTable.isEmpty
    }
}
