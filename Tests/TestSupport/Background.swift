import Dispatch
import Synchronization

/// Work on a thread of its own, away from the few that run tests.
public final class Background<Value: Sendable>: Sendable {
    private let group = DispatchGroup()
    private let result = Mutex<Result<Value, any Error>?>(nil)

    /// Starts the work.
    public init(_ work: @escaping @Sendable () throws -> Value) {
        DispatchQueue.global().async(group: group) { [self] in
            let outcome = Result(catching: work)
            result.withLock { $0 = outcome }
        }
    }

    /// Whether the work is done.
    public var isOver: Bool { result.withLock { $0 != nil } }

    /// Waits for the work, and answers what it did.
    public func value() throws -> Value {
        group.wait()
        guard let outcome = result.withLock({ $0 }) else { throw CancellationError() }
        return try outcome.get()
    }
}
