import MigrationKitCommon
import Foundation

/// Why steps can't be registered, applied or rolled back.
///
/// All errors except ``stepEndedTransaction(_:)`` and ``stepChangedLedger(_:)`` are found before
/// the database is changed.
public enum MigrationKitError: Error, Equatable, Sendable {
    /// Several steps have the same identifier. The repeated identifiers, sorted.
    case duplicateIdentifiers([String])

    /// The identifiers are not in ascending order.
    case identifiersOutOfOrder(expected: [String], actual: [String])

    /// No step has the identifier that a migration should end with.
    case unknownMigrationTarget(String)

    /// No step has the identifier that should be rolled back.
    case unknownMigrationIdentifier(String)

    /// The step to roll back was defined without a rollback.
    case rollbackNotDefined(String)

    /// The number of steps to roll back is negative.
    case rollbackStepCountMustBeNonNegative(Int)

    /// The number of steps to apply is negative.
    case stepCountMustBeNonNegative(Int)

    /// The step to roll back to is not applied.
    case rollbackTargetNotApplied(String)

    /// The step to roll back is not the one that was applied last.
    case rollbackMustTargetLatestApplied(latestApplied: String, requested: String)

    /// A step after the target is applied. Migrations go forward only; to go back, use a rollback.
    case targetBehindDatabase(target: String, latestApplied: String)

    /// The ledger has steps that the registry doesn't have, and none of the registry's steps comes
    /// later: a newer program applied them, or the latest steps were renamed or deleted. Lists the
    /// unknown identifiers, sorted, and what the database's journal says of them, oldest first.
    case databaseIsNewer(unknown: [String], steps: [NewerMigration] = [])

    /// The ledger has steps that the registry no longer has, although it has later ones. Lists the
    /// missing identifiers, sorted.
    case appliedMigrationsMissing([String])

    /// A table that records the applied steps has unexpected columns or rows, or doesn't keep a row
    /// that is written to it. Contains the table's name.
    case unusableTable(String)

    /// The step changes the ledger or its journal. It was undone.
    case stepChangedLedger(String)

    /// Steps were changed after they were applied. Lists their identifiers, in order.
    case changedAfterApplied([String])

    /// Steps were changed after their batches had begun: some rows are as the old text made them. Lists
    /// their identifiers, in order, and whether the database has kept what takes them back.
    case changedSinceBegun([String], canBeTakenBack: Bool)

    /// A step is begun, and can't be taken back and applied again before one that was applied meanwhile
    /// and comes later.
    case redoOutOfOrder(String, latestApplied: String)

    /// Steps are pending that come before an applied one. Lists the pending ones, in order.
    case pendingBeforeApplied(pending: [String], latestApplied: String)

    /// A step replaces another one, which is still registered.
    case mergesRegisteredMigration(merged: String, by: String)

    /// A step can't be part of an all-or-nothing run.
    case notForAllOrNothing(String, MigrationBatchObstacle)

    /// A statement can't be run in batches: the place or the step, and why.
    case unusableBatch(String, reason: String)

    /// A statement that runs in batches changes rows again that it has changed already: the place or the
    /// step. The batch was undone.
    case batchRepeats(String)

    /// A statement that runs in batches isn't getting done: the place or the step, and how many rows it
    /// has changed the last time it went through the table.
    case batchNeverEnds(String, rows: Int)

    /// The write-ahead log has reached its limit, in bytes, and others keep it from beginning anew.
    case logStaysFull(path: String, limit: Int)

    /// Another process held the migration lock for longer than the time limit, in seconds. `holder`
    /// is its process id, if that is known.
    case locked(path: String, holder: Int32?, seconds: Double)

    /// Another process holds the migration lock, and has made no progress for the time limit, in
    /// seconds. `holder` is its process id, if that is known.
    case stalled(path: String, holder: Int32?, seconds: Double)

    /// The lock file can't be created. The code is that of `errno`; `EMLINK` means that it is a hard
    /// link to another file, and `EEXIST` that it is no file.
    case cannotLock(path: String, code: Int32)

    /// These applied steps can't be taken back: the program doesn't know them, and the database doesn't
    /// have the SQL for it.
    case cannotDowngrade([NewerMigration])

    /// No applied step is known to the program that is to go back to its last one. Lists those that are
    /// applied.
    case noKnownMigration(applied: [String])

    /// After a downgrade, the schema would not be the one that the program's own steps give. Each
    /// difference is one line. Nothing was changed.
    case downgradeDiffers([String])

    /// While the copy before a downgrade was made, another program has changed the database. Nothing was
    /// taken back.
    case changedDuringDowngrade

    /// The SQL that undoes a step has a statement that no step may contain.
    case refusedRollback(String, RefusedStatement)

    /// The database already has applied steps, so a baseline isn't possible.
    case baselineOnMigratedDatabase(latestApplied: String)

    /// The database was opened for reading only, and would have to be changed.
    case readOnlyDatabase

    /// The step tried to commit or roll back its own transaction. It was undone.
    case stepEndedTransaction(String)
}

extension MigrationKitError: LocalizedError {
    /// What is wrong, in one line.
    public var errorDescription: String? {
        switch self {
        case .duplicateIdentifiers(let identifiers):
            "several migrations have the same identifier: \(identifiers.joined(separator: ", "))"
        case .identifiersOutOfOrder(let expected, let actual):
            Self.describeDisorder(expected: expected, actual: actual)
        case .unknownMigrationTarget(let target):
            "there is no migration '\(target)'"
        case .unknownMigrationIdentifier(let identifier):
            "there is no migration '\(identifier)'"
        case .rollbackNotDefined(let identifier):
            "the migration '\(identifier)' can't be rolled back: it was defined without a rollback"
        case .rollbackStepCountMustBeNonNegative(let count):
            "the number of steps to roll back is negative: \(count)"
        case .stepCountMustBeNonNegative(let count):
            "the number of steps to apply is negative: \(count)"
        case .rollbackTargetNotApplied(let target):
            "the database can't go back to '\(target)', which is not applied"
        case .rollbackMustTargetLatestApplied(let latestApplied, let requested):
            "'\(requested)' can't be rolled back before '\(latestApplied)', which was applied later"
        case .targetBehindDatabase(let target, let latestApplied):
            "the database is already at '\(latestApplied)', which comes after '\(target)'"
        case .databaseIsNewer(let unknown, _):
            "the database has unknown migrations: "
                + unknown.joined(separator: ", ")
        case .appliedMigrationsMissing(let missing):
            "\(missing.joined(separator: ", ")) \(missing.count == 1 ? "was" : "were") applied, "
                + "but no longer \(missing.count == 1 ? "exists" : "exist")"
        case .unusableTable(let name):
            "the table '\(name)' doesn't have the columns and constraints that GRDB and MigrationKit create"
        case .stepChangedLedger(let identifier):
            "the migration '\(identifier)' changes the migration ledger or its journal"
        case .changedAfterApplied(let changed):
            "\(changed.joined(separator: ", ")) \(changed.count == 1 ? "was" : "were") changed "
                + "after \(changed.count == 1 ? "it was" : "they were") applied"
        case .changedSinceBegun(let changed, _):
            "\(changed.joined(separator: ", ")) \(changed.count == 1 ? "was" : "were") changed "
                + "after \(changed.count == 1 ? "its" : "their") batches had begun"
        case .redoOutOfOrder(let identifier, let latestApplied):
            "'\(identifier)' is begun, and can't be applied again before '\(latestApplied)', which is applied"
        case .pendingBeforeApplied(let pending, let latestApplied):
            "\(pending.joined(separator: ", ")) \(pending.count == 1 ? "is" : "are") pending, "
                + "although '\(latestApplied)', which comes later, is applied"
        case .mergesRegisteredMigration(let merged, let identifier):
            "the migration '\(identifier)' merges '\(merged)', which is still registered"
        case .notForAllOrNothing(let identifier, .usesNoTransaction):
            "the migration '\(identifier)' runs outside of a transaction, and so can't be part of "
                + "an all-or-nothing run"
        case .notForAllOrNothing(let identifier, .mixedForeignKeyChecks):
            "the migration '\(identifier)' needs immediate foreign-key checks, but other migrations of this all-or-nothing run need deferred ones"
        case .unusableBatch(let name, let reason):
            "\(name): the statement can't be run in batches: \(reason)"
        case .batchRepeats(let name):
            "\(name): run a second time, the statement changes rows that it has changed already"
        case .batchNeverEnds(let name, let rows):
            "\(name): the statement isn't getting done: it went through the table again, and changed "
                + "\(rows) \(rows == 1 ? "row" : "rows"), no fewer than before"
        case .logStaysFull(let path, let limit):
            "the log \(path)-wal has reached its limit of \(limit / 1024) KiB, and can't begin anew"
        case .locked(let path, let holder, let seconds):
            "another process\(holder.map { " (\($0))" } ?? "") has been migrating \(path) for more "
                + "than \(seconds.plainText) seconds"
        case .stalled(let path, let holder, let seconds):
            "another process\(holder.map { " (\($0))" } ?? ""), which is migrating \(path), has made no "
                + "progress for \(seconds.plainText) seconds"
        case .cannotLock(let path, let code):
            "the lock file \(path) can't be created: \(FileLock.Failure.reason(for: code, at: path))"
        case .cannotDowngrade(let steps):
            "\(steps.map(\.identifier).joined(separator: ", ")) can't be taken back: "
                + "the database doesn't have the SQL for it"
        case .noKnownMigration(let applied):
            "none of the applied migrations is known here: \(applied.joined(separator: ", "))"
        case .downgradeDiffers(let differences):
            "the downgrade would give another schema than this version's migrations: "
                + differences.joined(separator: "; ")
        case .changedDuringDowngrade:
            "another program changed the database while it was copied for the downgrade"
        case .refusedRollback(let identifier, let statement):
            "the rollback of '\(identifier)' contains \(statement.name): \(statement.reason)"
        case .baselineOnMigratedDatabase(let latestApplied):
            "the database already has applied migrations, the latest is '\(latestApplied)'"
        case .readOnlyDatabase:
            "the database was opened for reading only, and can't be changed"
        case .stepEndedTransaction(let identifier):
            "the migration '\(identifier)' ends the transaction that it runs in"
        }
    }

    /// What to do about it.
    public var recoverySuggestion: String? {
        switch self {
        case .duplicateIdentifiers:
            "Give each migration a unique identifier. Keep the identifier of one that was shipped."
        case .identifiersOutOfOrder:
            "Number the migrations so that they ascend as text (0001_, 0002_), and add new ones at the end."
        case .unknownMigrationTarget, .unknownMigrationIdentifier:
            "Give the identifier of a registered migration."
        case .rollbackNotDefined:
            "Define how to undo it, or write a new migration that changes what it did."
        case .rollbackTargetNotApplied:
            "A rollback goes back to an applied migration. To go forward, migrate."
        case .rollbackStepCountMustBeNonNegative, .stepCountMustBeNonNegative:
            "Give 0 or a positive number."
        case .rollbackMustTargetLatestApplied(let latestApplied, _):
            "Roll back '\(latestApplied)' first."
        case .targetBehindDatabase:
            "Migrations go forward only. To go back, use a rollback."
        case .databaseIsNewer(_, let steps) where steps.allSatisfy { $0.older == nil }:
            """
            If a newer program has applied them, use its release, or a later one. If they were \
            renamed or deleted, restore them.
            """
        case .databaseIsNewer(_, let steps):
            Self.waysOut(of: steps, downgrade: "a downgrade takes them back")
        case .appliedMigrationsMissing(let missing):
            "Restore it: never delete an applied migration. It may be on another branch."
                + Self.encodingHint(missing)
        case .unusableTable:
            """
            Another program created or changed it, or a trigger keeps rows from being recorded. \
            grdb_migrations needs a column 'identifier' with the applied migrations. \
            grdb_migrationkit_journal holds when each was applied, its checksum, and its way back; it may be \
            dropped.
            """
        case .stepChangedLedger:
            """
            Remove what changes 'grdb_migrations' or 'grdb_migrationkit_journal'. The runner records \
            migrations itself.
            """
        case .changedAfterApplied:
            """
            Undo the change, and write a new migration for the rest: the old text has already run. \
            If the new text has the same effect, or this is the only such database, repair the \
            migration.
            """
        case .changedSinceBegun(_, canBeTakenBack: true):
            """
            Some rows are as the old text made them. Put it back, and a run goes on. Or roll the migration \
            back, by the SQL that the database has kept: the new text then begins anew.
            """
        case .changedSinceBegun:
            """
            Some rows are as the old text made them. Put it back, and a run goes on. The database has no SQL \
            that takes back what is done.
            """
        case .redoOutOfOrder:
            "Nothing was changed. Roll it back. Then migrate, and allow it out of order."
        case .pendingBeforeApplied:
            """
            It may come from another branch. Give it the next number, or allow it out of order if \
            it doesn't depend on later migrations.
            """
        case .mergesRegisteredMigration:
            "Remove the merged migration from the list, or from the migration that merges it."
        case .notForAllOrNothing:
            "First migrate up to and including it without all-or-nothing."
        case .unusableBatch:
            "Write it in another way, or without 'migrate:batch': it then runs in one transaction."
        case .batchRepeats:
            """
            The batch was undone. Add a condition that no longer holds for a row that is done, such as \
            WHERE size IS NULL.
            """
        case .batchNeverEnds:
            """
            What is done stays done. Another program may keep writing such rows: update it first. Then \
            migrate again.
            """
        case .logStaysFull:
            """
            Another program has been reading for long. What is done stays done: close that program, and \
            migrate again.
            """
        case .locked:
            "Wait until it is done, or allow more time. The lock ends with that process."
        case .stalled:
            "See what it is doing. Its lock ends with it; then start again."
        case .cannotLock:
            """
            The database's folder must be writable, and its disk must work: SQLite keeps its \
            journal there, too.
            """
        case .cannotDowngrade(let steps):
            Self.waysOut(of: steps, downgrade: "")
        case .noKnownMigration:
            "Nothing was changed. It may be another program's database, or these the wrong migrations."
        case .downgradeDiffers:
            """
            Nothing was changed. Either the rollbacks of the newer version's migrations don't undo all \
            that they did: go back with that version, or restore a backup from before it. Or something \
            else has changed the schema before: what the app itself has made can be left out of the \
            comparison.
            """
        case .changedDuringDowngrade:
            "Nothing was taken back. Close the other program, remove the copy, and try again."
        case .refusedRollback:
            "Nothing was changed. Go back with the version that applied it, or restore a backup."
        case .baselineOnMigratedDatabase:
            "A baseline is for databases that have never been migrated. Migrate this one."
        case .readOnlyDatabase:
            "Open it for writing: 'readonly' and 'isReadOnly' are false by default."
        case .stepEndedTransaction:
            "Remove BEGIN, COMMIT and ROLLBACK from it: every migration already has a transaction."
        }
    }

    /// Names the first identifier that is out of place: a list of hundreds would not help.
    private static func describeDisorder(expected: [String], actual: [String]) -> String {
        guard let index = zip(expected, actual).enumerated().first(where: { $1.0 != $1.1 })?.offset
        else {
            return "the migrations are out of order"
        }
        return
            "the migrations are out of order: '\(actual[index])' comes before '\(expected[index])'"
    }
}

extension MigrationKitError {
    /// What to do about steps that the program doesn't know.
    ///
    /// - Parameter downgrade: How they are taken back.
    package static func waysOut(of steps: [NewerMigration], downgrade: String) -> String {
        let known = steps.map { "\($0)." }
        let version = steps.neededVersion.map { "version \($0)" } ?? "the version that applied them"
        let lasting = steps.filter { !$0.canBeTakenBack }.map(\.identifier)
        let way =
            lasting.isEmpty
            ? "Use \(version) or a later one; or \(downgrade)."
            : """
            Use \(version) or a later one. The database has no SQL that takes back \
            \(lasting.joined(separator: ", ")).
            """
        return (known + [way]).joined(separator: "\n")
    }

    /// What explains that a migration is missing although one of that name seems to be there.
    package static func encodingHint(_ identifiers: [String]) -> String {
        identifiers.allSatisfy { $0.utf8.allSatisfy { $0 < 0x80 } }
            ? ""
            : " If one of this name is there, its accents are encoded in another way: names are compared byte by byte."
    }
}

extension MigrationKitError: CodedError {
    /// The error's code for programs, and its exit status.
    public var code: ErrorCode {
        switch self {
        case .duplicateIdentifiers, .identifiersOutOfOrder:
            ErrorCode("unusableMigrations", .dataError)
        case .unknownMigrationTarget: ErrorCode("unknownTarget", .usage)
        case .unknownMigrationIdentifier: ErrorCode("unknownMigration", .usage)
        case .rollbackNotDefined: ErrorCode("rollbackNotDefined", .dataError)
        case .rollbackStepCountMustBeNonNegative, .stepCountMustBeNonNegative:
            ErrorCode("negativeSteps", .usage)
        case .rollbackTargetNotApplied: ErrorCode("notApplied", .usage)
        case .appliedMigrationsMissing: ErrorCode("migrationsMissing", .dataError)
        case .unusableTable: ErrorCode("unusableLedger", .dataError)
        case .stepChangedLedger: ErrorCode("failed", .failed)
        case .unusableBatch: ErrorCode("unusableBatch", .dataError)
        case .batchRepeats: ErrorCode("batchRepeats", .failed)
        case .batchNeverEnds: ErrorCode("batchNeverEnds", .failed)
        case .logStaysFull: ErrorCode("logStaysFull", .busy)
        case .changedAfterApplied, .changedSinceBegun: ErrorCode("migrationsChanged", .dataError)
        case .rollbackMustTargetLatestApplied: ErrorCode("notLatestApplied", .usage)
        case .targetBehindDatabase: ErrorCode("targetBehindDatabase", .usage)
        case .databaseIsNewer(_, let steps)
        where !steps.isEmpty && steps.allSatisfy(\.canBeTakenBack):
            ErrorCode("databaseCanBeDowngraded", .dataError)
        case .databaseIsNewer: ErrorCode("databaseIsNewer", .dataError)
        case .pendingBeforeApplied, .redoOutOfOrder: ErrorCode("pendingBeforeApplied", .dataError)
        case .mergesRegisteredMigration: ErrorCode("unusableMigrations", .dataError)
        case .notForAllOrNothing: ErrorCode("notForAllOrNothing", .dataError)
        case .locked, .stalled: ErrorCode("locked", .busy)
        case .cannotLock(_, let code):
            FileLock.Failure.isFault(code)
                ? ErrorCode("inputOutput", .inputOutput) : ErrorCode("cannotLock", .noPermission)
        case .cannotDowngrade: ErrorCode("cannotDowngrade", .dataError)
        case .noKnownMigration: ErrorCode("cannotDowngrade", .dataError)
        case .downgradeDiffers: ErrorCode("downgradeDiffers", .dataError)
        case .changedDuringDowngrade: ErrorCode("locked", .busy)
        case .refusedRollback: ErrorCode("unusableMigrations", .dataError)
        case .baselineOnMigratedDatabase: ErrorCode("baselineOnMigratedDatabase", .usage)
        case .readOnlyDatabase: ErrorCode("readOnly", .noPermission)
        case .stepEndedTransaction: ErrorCode("failed", .failed)
        }
    }
}
