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
        let losses = Locked<[MigrationDowngrade.Loss]>([])
        try tryOut(
            downgrade(to: target, comparison, notingIn: losses),
            in: writer,
            options: options
        )
        return MigrationDowngrade(steps: steps, losses: losses.withLock { $0 })
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
    /// - Returns: What was taken back, what went with it, and the path of the copy; `nil` if nothing was
    ///   taken back.
    /// - Throws: `MigrationKitError.cannotDowngrade(_:)` if the database doesn't have the SQL for a
    ///   step; `MigrationKitError.downgradeDiffers(_:)`; `MigrationKitError.refusedRollback(_:_:)`;
    ///   `MigrationBackupError`; what `rollbackMigrations(in:steps:options:)` throws.
    @discardableResult
    public func downgrade(
        in writer: any DatabaseWriter,
        to target: String? = nil,
        backup: String? = nil,
        comparing comparison: DriftOptions = DriftOptions(),
        options: MigrationOptions = MigrationOptions()
    ) throws -> (report: MigrationReport, losses: [MigrationDowngrade.Loss], backup: String?) {
        var copied: String?
        let losses = Locked<[MigrationDowngrade.Loss]>([])
        let applied = try appliedMigrationIdentifiers(in: writer)
        do {
            let report = try run(in: writer, options: options) {
                // Throws what the copy isn't worth making for.
                let steps = try plannedDowngrade(to: target, in: writer, options: options)
                let (path, version) = try writer.writeWithoutTransaction { db in
                    (db.filePath, try MigrationLedger.dataVersion(db))
                }
                // The journal keeps it, and is read in other folders.
                let given = backup.map { URL(fileURLWithPath: $0).path }
                if !steps.isEmpty, let copy = given ?? path.map(Self.pathOfBackup) {
                    try MigrationBackup.copy(writer, to: copy)
                    copied = copy
                }
                return downgrade(
                    to: target,
                    comparison,
                    notingIn: losses,
                    backup: copied,
                    of: version
                )
            }
            return (report, losses.withLock { $0 }, copied)
        } catch {
            // Nothing was taken back. After an error of the disk, nobody can be sure of that.
            let isOfDisk = (error as? DatabaseError)?.resultCode == .SQLITE_IOERR
            if let copied, !isOfDisk, (try? appliedMigrationIdentifiers(in: writer)) == applied {
                try? FileManager.default.removeItem(atPath: copied)
            }
            throw error
        }
    }

    /// - Parameter version: That of the copied database. Not everybody uses the lock between processes.
    private func downgrade(
        to target: String?,
        _ comparison: DriftOptions,
        notingIn losses: Locked<[MigrationDowngrade.Loss]>,
        backup: String? = nil,
        of version: Int? = nil
    ) -> Downgrade {
        let before = Locked<TableHashes?>(nil)
        return Downgrade(
            to: target,
            backup: backup,
            begin: { db in
                guard try version == nil || MigrationLedger.dataVersion(db) == version else {
                    throw MigrationKitError.changedDuringDowngrade
                }
                let contents = try TableHashes(of: db)
                before.withLock { $0 = contents }
            },
            check: { db in
                let contents = try TableHashes(of: db)
                let lost = before.withLock { $0?.losses(to: contents) ?? [] }
                losses.withLock { $0 = lost }
                try checkSchema(afterDowngrade: db, comparison)
            }
        )
    }

    /// A free name beside the database. A copy that was killed has the name that the next one takes, and
    /// is removed by it; of one that was killed when it had its name, the rest is removed here.
    private static func pathOfBackup(_ path: String) -> String {
        var number = 1
        while FileManager.default.fileExists(atPath: "\(path).before-downgrade-\(number)") {
            MigrationBackup.removeLeftovers(of: "\(path).before-downgrade-\(number)")
            number += 1
        }
        return "\(path).before-downgrade-\(number)"
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
