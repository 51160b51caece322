import MigrationKitCommon

/// Ends long work from another thread: a run of migrations, a verification, a conversion, a backup.
///
/// The work is given the object, and throws a `CancellationError` soon after ``cancel()``: within a few
/// milliseconds while SQLite is at work, or at the end of a call that isn't SQL. What was not committed
/// is undone. Work that has put a new file into its place is done, and ends as if it wasn't cancelled.
public final class Cancellation: Sendable {
    private let cancelled = Locked(false)

    /// Creates a cancellation that nobody has asked for yet.
    public init() {}

    /// Asks for the end of the work.
    public func cancel() {
        cancelled.withLock { $0 = true }
    }

    /// Whether the end was asked for.
    public var isCancelled: Bool { cancelled.withLock { $0 } }

    /// - Throws: A `CancellationError` if the end was asked for.
    package func check() throws {
        if isCancelled { throw CancellationError() }
    }
}
