import Foundation
import GRDB
import MigrationKit
import MigrationKitGRDB
import MigrationKitSQL
import MigrationKitSchema

/// Runs migrations on a scratch database in memory, and reports what they would lose or break.
///
/// Each migration is run on what the earlier ones leave, and on a copy with a few generated rows in
/// the tables that it reaches. Nothing outside of memory is touched.
///
/// In a folder, `-- migrationkit:allow RULE reason` silences a rule: for the statement in whose lines
/// it stands, otherwise for the next one. Before the first statement of a file, it counts for the
/// whole file if an empty line follows it. A reason is required. For steps in Swift there is
/// ``levels``.
///
/// ```swift
/// let report = try MigrationLint(steps: registry.steps).report()
/// #expect(report.findings.allSatisfy { $0.level < .error })
/// ```
public struct MigrationLint: Sendable {
    /// Migrations as they were merged into a branch or applied to a database.
    public struct Published: Sendable {
        /// Where they come from, as a message names it: `main`, or `the database`.
        public let source: String

        /// The identifiers in order, each with its checksum if that is known.
        public let migrations: [(identifier: String, checksum: String?)]

        /// Creates a list of published migrations.
        public init(source: String, migrations: [(identifier: String, checksum: String?)]) {
            self.source = source
            self.migrations = migrations
        }
    }

    /// The configuration of the scratch databases in memory. Register in its `prepareDatabase` the
    /// functions and collations that the migrations use.
    public var configuration = Configuration()

    /// The level of each rule that differs from its own; `nil` turns the rule off.
    public var levels: [LintRule: LintLevel?] = [:]

    /// The migrations that must not change any more.
    public var published: [Published] = []

    /// The identifiers to report on; `nil` for all. The others are run, too, since those checked
    /// build on them.
    public var selection: Set<String>?

    /// What must hold after the last migration. They are only compiled.
    public var checks: [CheckQuery] = []

    /// A database whose row counts and data decide the rules that depend on data. It is only read.
    public var database: (any DatabaseReader)?

    /// How much a migration may do on the scratch database.
    var budget = StepBudget()

    /// Ends the check before the next migration.
    package var cancellation: Cancellation?

    /// Gets the number of migrations that were run.
    package var observer: (@Sendable (LintProgress) -> Void)?

    private let steps: [MigrationStep<Database>]
    private let folder: MigrationFolder?

    /// Checks steps in Swift.
    ///
    /// - Parameter steps: All steps of an app, in order.
    public init(steps: [MigrationStep<Database>]) {
        self.steps = steps
        folder = nil
    }

    /// Checks a folder of SQL files.
    ///
    /// - Parameter folder: The folder.
    public init(folder: MigrationFolder) {
        steps = folder.steps
        self.folder = folder
    }

    /// Runs the check.
    ///
    /// - Returns: The findings of the selected migrations.
    /// - Throws: A `DatabaseError` if ``database`` can't be read.
    public func report() throws -> LintReport {
        guard let database else { return try report(reading: nil) }
        return try database.read { try report(reading: $0) }
    }

    private func report(reading database: Database?) throws -> LintReport {
        let run = try LintRun(
            folder: folder,
            configuration: configuration,
            budget: budget,
            database: database
        )
        var records: [(step: StepRecord, findings: FindingList)] = []
        var end: (schema: SchemaModel, broken: [BrokenObject])?
        var reached: MigrationStep<Database>?
        let operation = operation
        do {
            for (number, step) in steps.enumerated() {
                try operation.checkCancellation()
                operation.report(LintProgress(done: number, total: steps.count))
                reached = step
                if isSelected(step) {
                    var record = try run.record(step)
                    var list = FindingList(of: record)
                    for rule in Rules.withTrials { rule(record, &list) }
                    // They hold a database.
                    record.trials = nil
                    records.append((record, list))
                } else {
                    try run.skip(step)
                }
            }
            end = try run.end()
        } catch let error as DatabaseError
            where [.SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_ERROR].contains(error.resultCode)
        {
            // A migration has written over what SQLite needs to read the scratch database.
        }
        let unreadable = end == nil ? reached.map { [LintFinding(endingAt: $0)] } : nil
        let general =
            (unreadable ?? []) + Publication.findings(in: steps, published)
            + Publication.withoutWayDown(in: steps, selected: isSelected)
            + (try database.map { try violations(in: $0, before: records.map(\.step)) } ?? [])
            + (end == nil ? [] : run.refused(checks))
        let recorded = Set(records.map(\.step.identifier))
        var findings = general.filter { !recorded.contains($0.migration) }
        for var (record, list) in records {
            record.final = end?.schema ?? record.after
            record.finallyBroken = end?.broken ?? []
            for rule in Rules.all { rule(record, &list) }
            let comments = AllowComments(in: folder?.scripts[record.identifier])
            findings +=
                comments.apply(
                    to: general.filter { $0.migration == record.identifier } + list.findings,
                    of: record.identifier,
                    isDecided: isDecided
                ).inOrder
        }
        return LintReport(findings: findings.compactMap(leveled), checked: records.count)
    }

    /// The rows of the database that violate foreign keys already: the first migration that isn't applied
    /// fails for them.
    private func violations(
        in database: Database,
        before records: [StepRecord]
    ) throws -> [LintFinding] {
        let applied = Set(published.flatMap(\.migrations).map(\.identifier))
        guard let first = records.first(where: { !applied.contains($0.identifier) }),
            let step = steps.first(where: { $0.identifier == first.identifier }),
            step.foreignKeyChecks == .deferred
        else { return [] }
        let violations = try ForeignKeyViolations(database)
        guard let phrase = violations.phrase else { return [] }
        let tables = Set(violations.tables.map(\.foldedName))
        // It may repair them.
        let changesThem = first.statements.flatMap(\.actions).contains {
            [.insert, .update, .delete, .drop].contains($0.kind)
                && tables.contains($0.name.foldedName)
        }
        return [
            LintFinding(
                rule: .mayViolateForeignKey,
                level: changesThem ? .warning : .error,
                migration: step.identifier,
                file: step.sourceFile,
                message:
                    "in the database, \(phrase) already, and all rows are checked after the migration",
                fix:
                    "Repair them first ('verify' lists them), or leave them with --allow-violations."
            )
        ]
    }

    private func isSelected(_ step: MigrationStep<Database>) -> Bool {
        selection?.contains(step.identifier) ?? true
    }

    /// Whether the rule finds the same everywhere, so that a comment that silences nothing can be
    /// reported.
    private func isDecided(_ rule: LintRule) -> Bool {
        let isOff = levels[rule].map { $0 == nil } ?? false
        let dependsOnOthers = [LintRule.migrationChanged, .migrationRemoved, .migrationInserted]
            .contains(rule)
        return !isOff && database == nil && !dependsOnOthers
    }

    /// A finding with the level that the settings give its rule.
    private func leveled(_ finding: LintFinding) -> LintFinding? {
        guard let setting = levels[finding.rule] else { return finding }
        return setting.map { finding.with(level: $0) }
    }
}

extension LintFinding {
    /// The scratch database can't be read after a migration.
    fileprivate init(endingAt step: MigrationStep<Database>) {
        self.init(
            rule: .checkIncomplete,
            level: .error,
            migration: step.identifier,
            file: step.sourceFile,
            message:
                "the check ended here: SQLite can't read the database any more, since this migration, or "
                + "the one before it, has written over its pages or its schema",
            fix: "A migration must write neither. What follows wasn't checked."
        )
    }
}

extension MigrationLint: OperationOptions {
    /// Nothing is waited for.
    package var timeout: TimeInterval { 0 }
}

/// How many of the migrations were run.
package struct LintProgress: Sendable {
    package let done: Int
    package let total: Int
}
