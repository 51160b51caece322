import Synchronization

/// Ends a ``DatabaseConversion``, a ``DatabaseBackup`` or a ``DatabaseRestore`` from another thread;
/// the database is left as it was.
public final class ConversionCancellation: Sendable {
    private let cancelled = Atomic(false)

    /// Creates a cancellation that nobody has asked for yet.
    public init() {}

    /// Asks for the end of the conversion that was given this object. It throws a
    /// `CancellationError` at once, or after the check of the new file's HMACs; and not any more
    /// once the new file is in its place.
    public func cancel() {
        cancelled.store(true, ordering: .relaxed)
    }

    /// Whether the end was asked for.
    public var isCancelled: Bool { cancelled.load(ordering: .relaxed) }

    func check() throws {
        if isCancelled { throw CancellationError() }
    }
}
