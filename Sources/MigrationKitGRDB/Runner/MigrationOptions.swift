import Foundation

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

/// Ends a run from another thread: the running statement is interrupted, its transaction undone.
public final class MigrationCancellation: @unchecked Sendable {
    // `@unchecked`: every access holds the lock.
    private let lock = NSLock()
    private var cancelled = false

    /// Creates a cancellation that nobody has asked for yet.
    public init() {}

    /// Asks for the end of the run that was given this object. It throws a `CancellationError`
    /// within a few milliseconds, or at the end of a call of the step's own that isn't SQL.
    public func cancel() {
        lock.withLock { cancelled = true }
    }

    /// Whether the end was asked for.
    public var isCancelled: Bool {
        lock.withLock { cancelled }
    }

    func check() throws {
        if isCancelled { throw CancellationError() }
    }
}
