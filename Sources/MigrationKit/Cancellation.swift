import MigrationKitCommon

/// Cancels long work from another thread: a run of migrations, a verification, a conversion, a
/// backup.
///
/// Pass the object to the work. After ``cancel()``, the work throws a `CancellationError`: within a
/// few milliseconds while SQLite runs, or at the end of a call that isn't SQL. Uncommitted changes
/// are undone. Work that has already put a new file in place completes as if it weren't cancelled.
///
/// Work in ``asyncRun(_:)`` needs none: it ends when its task is cancelled.
public final class Cancellation: Sendable {
    private let cancelled = Locked(false)
    private let others: [Cancellation]

    /// Creates a cancellation that isn't requested yet.
    public init() {
        others = []
    }

    /// Creates one that is requested as soon as one of the others is.
    private init(requestedBy others: [Cancellation]) {
        self.others = others
    }

    /// Requests the end of the work.
    public func cancel() {
        cancelled.withLock { $0 = true }
    }

    /// Whether the end was requested.
    public var isCancelled: Bool {
        cancelled.withLock { $0 } || others.contains(where: \.isCancelled)
    }

    /// - Throws: A `CancellationError` if the end was requested.
    package func check() throws {
        if isCancelled { throw CancellationError() }
    }

    /// The cancellation of the task that waits for the current thread in ``asyncRun(_:)``.
    @TaskLocal package static var ofTask: Cancellation?

    /// What ends a call that is made on the current thread.
    ///
    /// - Parameter own: The cancellation that the call was given.
    package static func ofCall(_ own: Cancellation?) -> Cancellation? {
        guard let own, let ofTask else { return own ?? ofTask }
        return Cancellation(requestedBy: [own, ofTask])
    }
}
