import Foundation
import GRDB
import MigrationKit
import MigrationKitCommon
import MigrationKitGRDB

extension GRDBMigrationRunner {
    /// What a downgrade would take back and delete, found by running it and undoing it.
    ///
    /// - Parameters:
    ///   - writer: The database, opened for writing.
    ///   - target: The step that the database goes back to; `nil` for the last one that this runner
    ///     has.
    ///   - comparison: How the schema is compared with the one that the runner's steps give.
    ///   - options: How long to wait for others. It is always all or nothing.
    /// - Returns: The steps and the losses.
    /// - Throws: What ``downgrade(in:to:backup:comparing:options:)`` would throw.
    public func plannedDowngrade(
        in writer: any DatabaseWriter,
        to target: String? = nil,
        comparing comparison: DriftOptions = DriftOptions(),
        options: MigrationOptions = MigrationOptions()
    ) throws -> MigrationDowngrade {
        let steps = try plannedDowngrade(to: target, in: writer, options: options)
        guard !steps.isEmpty else { return MigrationDowngrade(steps: [], losses: []) }
        let before = try writer.read(TableContents.init)
        let after = Locked(before)
        let downgrade = Downgrade(to: target) { db in
            let contents = try TableContents(of: db)
            after.withLock { $0 = contents }
            try checkSchema(afterDowngrade: db, comparison)
        }
        try tryOut(downgrade, in: writer, options: options)
        let contents = after.withLock { $0 }
        return MigrationDowngrade(
            steps: steps,
            losses: before.losses(to: contents)
        )
    }

    /// Takes back the steps that a newer program has applied, so that this one works with the
    /// database again.
    ///
    /// The SQL for it is in the database's journal: of every step with a `rollbackSQL`, and of every
    /// SQL file with a down part that runs in a transaction. A verified copy of the database is made
    /// first. Then all steps are taken back, newest first, in one transaction with the same guards as
    /// a rollback. Before the commit, the database is verified, and its schema must be the one that
    /// the runner's own steps give; otherwise everything is undone.
    ///
    /// - Parameters:
    ///   - writer: The database, opened for writing.
    ///   - target: The step that the database goes back to, known or not; `nil` for the last one that
    ///     this runner has.
    ///   - backup: The path of the copy, which must be free; `nil` for a name beside the database. A
    ///     database in memory isn't copied.
    ///   - comparison: How the schema is compared with the one that the runner's steps give.
    ///   - options: How the run works. It is always all or nothing.
    /// - Returns: What was taken back, and the path of the copy; `nil` if nothing was taken back.
    /// - Throws: `MigrationKitError.cannotDowngrade(_:)` if the database doesn't have the SQL for a
    ///   step; `MigrationKitError.downgradeDiffers(_:)`; `MigrationKitError.refusedRollback(_:_:)`;
    ///   `MigrationBackupError`; what ``rollbackMigrations(in:steps:options:)`` throws.
    @discardableResult
    public func downgrade(
        in writer: any DatabaseWriter,
        to target: String? = nil,
        backup: String? = nil,
        comparing comparison: DriftOptions = DriftOptions(),
        options: MigrationOptions = MigrationOptions()
    ) throws -> (report: MigrationReport, backup: String?) {
        var copied: String?
        let report = try run(in: writer, options: options) {
            // Throws what the copy isn't worth making for.
            let steps = try plannedDowngrade(to: target, in: writer, options: options)
            let (path, version) = try writer.writeWithoutTransaction { db in
                (db.filePath, try Self.dataVersion(db))
            }
            // The journal keeps it, and is read in other folders.
            let copy = backup.map { URL(fileURLWithPath: $0).path } ?? path.map(Self.pathOfBackup)
            copied = steps.isEmpty ? nil : copy
            if let copied { try MigrationBackup.copy(writer, to: copied) }
            return Downgrade(
                to: target,
                backup: copied,
                begin: { db in
                    // Not everybody uses the lock between processes.
                    guard try Self.dataVersion(db) == version else {
                        throw MigrationKitError.changedDuringDowngrade
                    }
                },
                check: { try checkSchema(afterDowngrade: $0, comparison) }
            )
        }
        return (report, copied)
    }

    private static func pathOfBackup(_ path: String) -> String {
        let time = Date.now.formatted(
            .iso8601.year().month().day().dateTimeSeparator(.standard)
                .time(includingFractionalSeconds: false).dateSeparator(.omitted)
                .timeSeparator(.omitted)
        )
        return "\(path).before-downgrade-\(time)"
    }

    private static func dataVersion(_ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "PRAGMA data_version") ?? 0
    }

    /// Throws if the schema isn't the one that the applied steps give. If steps stay that the runner
    /// doesn't have, nobody can tell.
    private func checkSchema(afterDowngrade db: Database, _ comparison: DriftOptions) throws {
        guard try newerMigrations(in: db).isEmpty else { return }
        let drift = try drift(in: db, comparison)
        guard drift.changes.isEmpty else {
            throw MigrationKitError.downgradeDiffers(drift.texts)
        }
    }
}
