import GRDB
import MigrationKit
import MigrationKitFleet
import MigrationKitGRDB
import MigrationKitRescue
import MigrationKitSQLCipher

/// The work on one of many stores.
struct FleetVisit: Sendable {
    let store: FleetStore
    let host: MigrationCLIHost
    let keys: FleetKeys
    /// The keys that the stores get; `nil` if they keep theirs.
    let newKeys: FleetKeys?
    let cancellation: Cancellation?

    /// Whether a name in double quotes that names nothing is a string.
    let acceptsDoubleQuotedStrings: Bool

    /// When other processes were found to use it; `nil` at the first attempt.
    let busySince: ContinuousClock.Instant?

    /// How long to wait now for other processes, in seconds. The first attempt hardly waits, so that
    /// stores that are free don't wait for the busy ones.
    ///
    /// - Parameter seconds: How long to wait in all.
    func timeout(_ seconds: Double) -> Double {
        guard let busySince else { return min(seconds, 0.1) }
        return max(0, seconds - (.now - busySince) / .seconds(1))
    }

    /// How the store is opened.
    ///
    /// - Throws: An `EncryptedDatabaseError` if there is no file: nobody is asked for its key then.
    private func opening(for purpose: Purpose) throws -> MigrationDatabaseOpenOptions {
        try EncryptedDatabase.check(store.path, is: .file)
        var options = try keys.opening(store)
        options.purpose = purpose
        options.acceptsDoubleQuotedStrings = acceptsDoubleQuotedStrings
        return options
    }

    /// How the file that has the store's key is encrypted. Nothing is looked at.
    ///
    /// - Throws: What `FleetKeys.key(of:)` throws.
    func form() throws -> DatabaseForm {
        try keys.key(of: store).map { .encrypted($0) } ?? .plaintext()
    }

    /// How the store's file is copied.
    ///
    /// - Parameter seconds: How long to wait for other processes, in all.
    func copyOptions(timeout seconds: Double) -> RewriteOptions {
        RewriteOptions(
            timeout: timeout(seconds),
            functions: host.store?.options.functions ?? [],
            collations: host.store?.options.collations ?? [],
            cancellation: cancellation
        )
    }

    /// A full verification of the store.
    func fullVerification(with runner: GRDBMigrationRunner) throws -> DatabaseVerification {
        var options = try opening(for: .read)
        options.busyTimeout = timeout(options.busyTimeout)
        return try host.verification(of: store.path, options, runner: runner)
    }

    /// Runs migrations, a rollback or a dry run on the store, which the run's cancellation ends.
    ///
    /// - Parameter adopts: Whether another tool's record is taken over.
    /// - Throws: ``MigrationStepFailure`` for an error of a step, or of the verification in its
    ///   transaction; any other error unchanged.
    func watch<Result>(
        _ store: OpenStore,
        _ options: MigrationOptions,
        adopts: Bool = false,
        _ run: (MigrationOptions) throws -> Result
    ) throws -> Result {
        let progress = Locked(RunProgress())
        var options = options
        options.cancellation = cancellation
        options.observer = { event in progress.withLock { $0.note(event) } }
        do {
            return try run(options)
        } catch {
            throw store.explaining(error, after: progress.withLock { $0 }, options, adopts: adopts)
        }
    }

    /// Opens the store as a command for one store does, and closes it after the work.
    ///
    /// - Parameters:
    ///   - lockTimeout: How long to wait now for others who use it, in seconds; `nil` for the
    ///     ``timeout(_:)`` of a command that only reads.
    func withStore(
        _ loaded: LoadedMigrations,
        for purpose: Purpose,
        lockTimeout: Double? = nil,
        _ work: (OpenStore) throws -> Void
    ) throws {
        var options = try opening(for: purpose)
        options.busyTimeout = lockTimeout ?? timeout(options.busyTimeout)
        if purpose.losesHiddenCommits { try EncryptedDatabase.checkLog(store.path) }
        let opened = OpenStore(
            runner: loaded.runner,
            folder: loaded.folder,
            writer: try host.open(options),
            path: store.path
        )
        do {
            try work(opened)
        } catch {
            try? opened.writer.close()
            throw error
        }
        try opened.writer.close()
    }
}

extension GRDBMigrationRunner {
    /// The last of the applied migrations: what a report calls the version of a store.
    func version(of applied: Set<String>) -> String? {
        let known = migrationIdentifiers.last { applied.has($0) }
        let unknown = applied.subtracting(migrationIdentifiers)
        // Without unknown ones, the order is that of the runner.
        guard !unknown.isEmpty else { return known }
        return unknown.union(known.map { [$0] } ?? []).max {
            $0.compare($1, options: .numeric) == .orderedAscending
        }
    }
}

extension FleetRecord {
    /// Notes what a store has before a run.
    mutating func begin(with applied: Set<String>, of runner: GRDBMigrationRunner) {
        from = runner.version(of: applied)
        to = from
        pending = runner.registry.pending(given: applied).count
    }
}
