import GRDB
import MigrationKit
import MigrationKitGRDB

/// Checks a list of steps as its users will run it: from every version, forward and back.
///
/// ```swift
/// let check = MigrationCheck(steps: steps)
/// try check.everything()
/// try check.rows(
///     plantedAt: "0003_tags",
///     plant: { db in try db.execute(sql: "INSERT INTO tag (name) VALUES ('urgent')") },
///     survive: { db in
///         let names = try String.fetchAll(db, sql: "SELECT name FROM tag")
///         #expect(names == ["urgent"])
///     }
/// )
/// ```
///
/// Every check throws what it finds, so it works in Swift Testing and in XCTest. It uses databases
/// in memory, and a new connection for every version. So it detects a step that relies on something
/// that an earlier one left on the connection, such as a temporary table.
public struct MigrationCheck: Sendable {
    private let configuration: Configuration
    private let makeRunner: @Sendable () throws -> GRDBMigrationRunner

    /// Creates a check of a list of steps.
    ///
    /// A list that can't be registered is reported by the first check.
    ///
    /// - Parameters:
    ///   - steps: The steps, oldest first.
    ///   - enforceLexicographicOrder: Whether the identifiers must ascend as text.
    ///   - integration: The hooks of the app, which take part in every run.
    ///   - requiredIndexes: The indexes that a fully migrated database must have.
    ///   - configuration: The configuration of the databases in memory. Register in its
    ///     `prepareDatabase` the functions and collations that the steps use, or give a key.
    public init(
        steps: [GRDBMigrationRunner.Step],
        enforceLexicographicOrder: Bool = true,
        integration: GRDBMigrationRunner.Integration = .init(),
        requiredIndexes: [RequiredIndexSpec] = [],
        configuration: Configuration = Configuration()
    ) {
        self.configuration = configuration
        makeRunner = {
            try GRDBMigrationRunner(
                steps: steps,
                enforceLexicographicOrder: enforceLexicographicOrder,
                integration: integration,
                requiredIndexes: requiredIndexes
            )
        }
    }

    /// Creates a check of an app's own runner, with its hooks.
    ///
    /// - Parameters:
    ///   - runner: The runner.
    ///   - configuration: The configuration of the databases in memory.
    public init(runner: GRDBMigrationRunner, configuration: Configuration = Configuration()) {
        self.configuration = configuration
        makeRunner = { runner }
    }

    // MARK: - The Checks

    /// Runs every check that needs only the steps: ``freshInstall()``, ``everyUpgrade()``,
    /// ``secondRun()``, ``everyOlderVersion()`` and ``everyRollback()``.
    ///
    /// - Returns: What was checked, and which steps have no rollback to check.
    /// - Throws: ``MigrationCheckError`` for the first finding; a `MigrationKitError` if the list
    ///   can't be registered.
    @discardableResult
    public func everything() throws -> MigrationCheckReport {
        try freshInstall()
        try everyUpgrade()
        try secondRun()
        try everyOlderVersion()
        return try everyRollback()
    }

    /// Checks that an empty database can be migrated to the end, and is then sound.
    ///
    /// - Throws: ``MigrationCheckError/freshInstallFailed(step:reason:)``; a `MigrationKitError` if
    ///   the list can't be registered.
    public func freshInstall() throws {
        try checking { _ = try $0.installed() }
    }

    /// Checks that a database of every version, including an empty one, can be migrated to the end,
    /// and that all of them get the schema of a fresh install.
    ///
    /// - Throws: ``MigrationCheckError/upgradeFailed(from:step:reason:)`` or
    ///   ``MigrationCheckError/upgradeLeadsElsewhere(from:difference:)``; and what
    ///   ``freshInstall()`` throws.
    public func everyUpgrade() throws {
        try checking { versions in
            let final = try SchemaSnapshot(of: versions.installed())
            _ = try versions.climb(from: versions.empty()) { rung in
                let upgraded = try versions.copy(of: rung.before)
                try versions.migrate(upgraded, from: rung.former)
                let difference = try SchemaSnapshot(of: upgraded).difference(from: final)
                guard difference.isEmpty else {
                    throw MigrationCheckError.upgradeLeadsElsewhere(
                        from: rung.former,
                        difference: difference
                    )
                }
                return true
            }
        }
    }

    /// Checks that a second run on a migrated database changes nothing: no table, no row.
    ///
    /// - Throws: ``MigrationCheckError/secondRunFailed(step:reason:)`` or
    ///   ``MigrationCheckError/secondRunChanges(difference:)``; and what ``freshInstall()`` throws.
    public func secondRun() throws {
        try checking { versions in
            try versions.runAgain(on: versions.copy(of: versions.installed()))
        }
    }

    /// Checks that a version works with the database of the next one, if that one's step says so: by its
    /// author, or because the runner judges so when it applies it.
    ///
    /// The statements are those that name all of the older version's columns: each table and view is
    /// read, and each table gets rows, changes and deletes them. What fails already on a database of the
    /// older version isn't judged.
    ///
    /// - Throws: ``MigrationCheckError/olderVersionFails(step:statement:reason:)``; and what
    ///   ``freshInstall()`` throws.
    public func everyOlderVersion() throws {
        try checking { versions in
            _ = try versions.climb(from: versions.empty()) { rung in
                let records = try versions.runner.migrationRecords(in: rung.after)
                if records[rung.identifier]?.older == .work {
                    try rung.before.read { try OlderStatements(of: $0) }.working(on: rung.before)
                        .run(on: versions.copy(of: rung.after), after: rung.identifier)
                }
                return true
            }
        }
    }

    /// Checks that an older version's own statements work with the databases of all later versions that
    /// say so.
    ///
    /// - Parameters:
    ///   - identifier: The last step that the older version knows.
    ///   - run: Runs statements of that version in a transaction, which is undone.
    /// - Throws: ``MigrationCheckError/olderVersionFails(step:statement:reason:)``;
    ///   `MigrationKitError.unknownMigrationTarget(_:)`; what `run` throws on the version itself.
    public func olderVersion(
        _ identifier: String,
        works run: (Database) throws -> Void
    ) throws {
        try checking { versions in
            guard let place = versions.identifiers.firstIndex(of: identifier) else {
                throw MigrationKitError.unknownMigrationTarget(identifier)
            }
            let database = try versions.empty()
            try versions.migrate(database, from: nil, upTo: identifier)
            try database.undoing(run)
            _ = try versions.climb(from: database, at: place + 1) { rung in
                let records = try versions.runner.migrationRecords(in: rung.after)
                guard records[rung.identifier]?.older == .work else { return false }
                do {
                    try rung.after.undoing(run)
                } catch {
                    throw MigrationCheckError.olderVersionFails(
                        step: rung.identifier,
                        statement: (error as? DatabaseError)?.sql
                            ?? "a statement of '\(identifier)'",
                        reason: (error as? DatabaseError)?.message ?? "\(error)"
                    )
                }
                return true
            }
        }
    }

    /// Checks that the rollback of every step restores the schema of the version before it, that
    /// the step can be applied again afterwards, and that the latest steps can be rolled back one
    /// after the other.
    ///
    /// Steps without a rollback are skipped, and listed in the result.
    ///
    /// - Returns: What was checked.
    /// - Throws: ``MigrationCheckError/rollbackFailed(step:reason:)``,
    ///   ``MigrationCheckError/rollbackLeavesOtherSchema(step:difference:)``,
    ///   ``MigrationCheckError/reapplicationFailed(step:reason:)`` or
    ///   ``MigrationCheckError/reapplicationLeadsElsewhere(step:difference:)``; and what
    ///   ``everyUpgrade()`` throws.
    @discardableResult
    public func everyRollback() throws -> MigrationCheckReport {
        try checking { versions in
            let reversible = Set(versions.runner.rollbackCapableMigrationIdentifiers)
            let empty = try versions.empty()
            var schema = try SchemaSnapshot(of: empty)
            var schemas: [String: SchemaSnapshot] = [:]
            var database = try versions.climb(from: empty) { rung in
                schemas[rung.identifier] = schema
                let after = try SchemaSnapshot(of: rung.after)
                if reversible.contains(rung.identifier) {
                    let undone = try versions.copy(of: rung.after)
                    try versions.rollBack(rung.identifier, in: undone, to: schema)
                    try versions.reapply(rung.identifier, in: undone, to: after)
                }
                schema = after
                return true
            }
            for identifier in versions.identifiers.reversed() {
                guard reversible.contains(identifier), let before = schemas[identifier] else {
                    break
                }
                database = try versions.copy(of: database)
                try versions.rollBack(identifier, in: database, to: before)
            }
            return MigrationCheckReport(
                steps: versions.identifiers,
                withoutRollback: versions.identifiers.filter { !reversible.contains($0) }
            )
        }
    }

    /// Checks that rows of an earlier version survive to the end.
    ///
    /// - Parameters:
    ///   - identifier: The last step of the version in which the rows are inserted.
    ///   - plant: Inserts the rows into a database of that version, in a transaction, with foreign
    ///     keys on.
    ///   - survive: Checks the rows in the migrated database. If they are wrong, it throws, or
    ///     records a failure of the test.
    /// - Throws: The closures' errors, unchanged;
    ///   ``MigrationCheckError/upgradeFailed(from:step:reason:)`` if the rows keep a step from
    ///   being applied; `MigrationKitError.unknownMigrationTarget(_:)`.
    public func rows(
        plantedAt identifier: String,
        plant: (Database) throws -> Void,
        survive: (Database) throws -> Void
    ) throws {
        try checking { versions in
            guard versions.identifiers.contains(identifier) else {
                throw MigrationKitError.unknownMigrationTarget(identifier)
            }
            let planted = try versions.empty()
            try versions.migrate(planted, from: nil, upTo: identifier)
            try planted.write(plant)
            let database = try versions.copy(of: planted)
            try versions.migrate(database, from: identifier)
            try database.read(survive)
        }
    }

    private func checking<Value>(_ body: (CheckedVersions) throws -> Value) throws -> Value {
        do {
            return try body(
                CheckedVersions(runner: makeRunner(), configuration: configuration)
            )
        } catch let failure as CheckFailure {
            throw failure.finding
        }
    }
}

/// What a check has covered.
public struct MigrationCheckReport: Equatable, Sendable {
    /// The identifiers of the steps, in order.
    public let steps: [String]

    /// The identifiers of the steps without a rollback, which were skipped.
    ///
    /// ```swift
    /// #expect(try check.everything().withoutRollback == ["0004_split_names"])
    /// ```
    public let withoutRollback: [String]
}
