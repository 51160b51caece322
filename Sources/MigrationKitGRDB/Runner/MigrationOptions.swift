import Foundation
import MigrationKit

/// Whether the steps of a run are committed one by one or together.
public enum MigrationTransaction: Equatable, Sendable {
    /// Each step has a transaction of its own. Where one fails, those before it stay.
    case perStep

    /// All steps have one transaction. Where one fails, or the verification of the result, the
    /// database is exactly as it was before the run.
    case allOrNothing
}

/// How a run goes.
public struct MigrationOptions: Sendable {
    /// Whether the steps are committed one by one or together.
    public var transaction: MigrationTransaction

    /// Whether a run that found nothing pending verifies the database all the same. Off by default,
    /// since an app pays for it at every launch.
    public var verifiesUnchanged: Bool

    /// How long to wait for another process that is migrating the same database, in seconds.
    public var lockTimeout: TimeInterval

    /// Ends the run from another thread.
    public var cancellation: MigrationCancellation?

    /// Watches the run.
    ///
    /// It is called on the thread of the database, also in the middle of a statement, and must not
    /// use the database.
    public var observer: (@Sendable (MigrationEvent) -> Void)?

    /// Whether the run is part of one that holds the lock between processes already.
    var isUnderLock = false

    /// Creates options.
    ///
    /// - Parameters:
    ///   - transaction: Whether the steps are committed one by one or together.
    ///   - verifiesUnchanged: Whether a run that found nothing pending verifies all the same.
    ///   - lockTimeout: How long to wait for another process, in seconds.
    ///   - cancellation: Ends the run from another thread.
    ///   - observer: Watches the run.
    public init(
        transaction: MigrationTransaction = .perStep,
        verifiesUnchanged: Bool = false,
        lockTimeout: TimeInterval = 30,
        cancellation: MigrationCancellation? = nil,
        observer: (@Sendable (MigrationEvent) -> Void)? = nil
    ) {
        self.transaction = transaction
        self.verifiesUnchanged = verifiesUnchanged
        self.lockTimeout = lockTimeout
        self.cancellation = cancellation
        self.observer = observer
    }
}

extension MigrationOptions: OperationOptions {
    package var timeout: TimeInterval { lockTimeout }
}

/// Ends a run from another thread.
public typealias MigrationCancellation = Cancellation
