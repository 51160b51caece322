import Foundation
import MigrationKit

/// Whether the steps of a run are committed one by one or together.
public enum MigrationTransaction: Equatable, Sendable {
    /// Each step has its own transaction. If one fails, those before it stay.
    case perStep

    /// All steps share one transaction. If a step or the verification of the result fails, the
    /// database is exactly as it was before the run.
    case allOrNothing
}

/// Options of a run.
public struct MigrationOptions: Sendable {
    /// Whether the steps are committed one by one or together.
    public var transaction: MigrationTransaction

    /// Whether a run with nothing to do still verifies the database. Off by default, since an app
    /// would pay for it at every launch.
    public var verifiesUnchanged: Bool

    /// Whether rows that violated foreign keys before the run may remain. It may add none, and its report
    /// doesn't call the database verified as long as there are any.
    public var allowsViolations = false

    /// How long to wait for another process that is migrating the same database, in seconds.
    public var lockTimeout: TimeInterval

    /// Whether ``lockTimeout`` begins anew as long as the other process makes progress, so that it
    /// limits only the wait for one that hangs. Programs that migrate with this package show their
    /// progress; plain GRDB doesn't.
    public var waitsForProgress = true

    /// How long the run may spend with the batches of steps, in seconds; `nil` for as long as they take.
    /// What is left is done by the next run: the report has these steps among the pending ones.
    public var budget: TimeInterval?

    /// Cancels the run from another thread.
    public var cancellation: Cancellation?

    /// Observes the run.
    ///
    /// It is called on the database's thread, even in the middle of a statement, and must not use
    /// the database.
    public var observer: (@Sendable (MigrationEvent) -> Void)?

    /// Whether the run is part of one that already holds the lock between processes.
    var isUnderLock = false

    /// Creates options.
    ///
    /// - Parameters:
    ///   - transaction: Whether the steps are committed one by one or together.
    ///   - verifiesUnchanged: Whether a run with nothing to do still verifies the database.
    ///   - lockTimeout: How long to wait for another process, in seconds.
    ///   - budget: How long the run may spend with the batches of steps, in seconds.
    ///   - cancellation: Cancels the run from another thread.
    ///   - observer: Observes the run.
    public init(
        transaction: MigrationTransaction = .perStep,
        verifiesUnchanged: Bool = false,
        lockTimeout: TimeInterval = 30,
        budget: TimeInterval? = nil,
        cancellation: Cancellation? = nil,
        observer: (@Sendable (MigrationEvent) -> Void)? = nil
    ) {
        self.transaction = transaction
        self.verifiesUnchanged = verifiesUnchanged
        self.lockTimeout = lockTimeout
        self.budget = budget
        self.cancellation = cancellation
        self.observer = observer
    }
}

extension MigrationOptions: OperationOptions {
    package var timeout: TimeInterval { lockTimeout }
}
