import MigrationKitCommon
import Dispatch

/// Runs two functions at the same time, the second one on another thread, and waits for both.
///
/// - Returns: The results of both.
package func atOnce<First, Second: Sendable>(
    _ first: () throws -> First,
    _ second: @escaping @Sendable () throws -> Second
) -> (first: Result<First, any Error>, second: Result<Second, any Error>) {
    let other = OtherWork<Second>()
    let end = DispatchGroup()
    // A separate thread: all threads of the global queues may be blocked, perhaps waiting for this.
    DispatchQueue(label: "MigrationKit.atOnce").async(group: end) { other.run(second) }
    let result = Result(catching: first)
    end.wait()
    return (result, other.result)
}

/// Work on another thread.
private final class OtherWork<Value: Sendable>: Sendable {
    private let outcome = Locked<Result<Value, any Error>>(.failure(CancellationError()))

    var result: Result<Value, any Error> { outcome.withLock { $0 } }

    func run(_ work: () throws -> Value) {
        let result = Result(catching: work)
        outcome.withLock { $0 = result }
    }
}
