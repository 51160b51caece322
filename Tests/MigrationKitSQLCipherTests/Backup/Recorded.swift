import Synchronization

/// What an observer, on whichever thread, has seen.
final class Recorded<Value: Sendable>: Sendable {
    private let state: Mutex<Value>

    init(_ value: Value) {
        state = Mutex(value)
    }

    var value: Value { state.withLock { $0 } }

    func change(_ body: (inout sending Value) -> Void) {
        state.withLock { body(&$0) }
    }
}
