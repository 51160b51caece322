import MigrationKitCommon

/// Cancels long work from another thread: a run of migrations, a verification, a conversion, a
/// backup.
///
/// Pass the object to the work. After ``cancel()``, the work throws a `CancellationError`: within a
/// few milliseconds while SQLite runs, or at the end of a call that isn't SQL. Uncommitted changes
/// are undone. Work that has already put a new file in place completes as if it weren't cancelled.
public final class Cancellation: Sendable {
    private let cancelled = Locked(false)

    /// Creates a cancellation that isn't requested yet.
    public init() {}

    /// Requests the end of the work.
    public func cancel() {
        cancelled.withLock { $0 = true }
    }

    /// Whether the end was requested.
    public var isCancelled: Bool { cancelled.withLock { $0 } }

    /// - Throws: A `CancellationError` if the end was requested.
    package func check() throws {
        if isCancelled { throw CancellationError() }
    }
}
