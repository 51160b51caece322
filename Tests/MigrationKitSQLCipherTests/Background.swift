import Dispatch
import Synchronization
import Testing

/// Work on a thread of its own, away from the few that run tests.
final class Background<Value: Sendable>: Sendable {
    private let group = DispatchGroup()
    private let result = Mutex<Result<Value, any Error>?>(nil)

    /// Starts the work.
    init(_ work: @escaping @Sendable () throws -> Value) {
        DispatchQueue.global().async(group: group) { [self] in
            let outcome = Result(catching: work)
            result.withLock { $0 = outcome }
        }
    }

    /// Waits for the work, and answers what it did.
    func value() throws -> Value {
        group.wait()
        return try #require(result.withLock { $0 }).get()
    }
}
