import Foundation

/// Collects what closures on other threads see.
final class Recorder<Value: Sendable>: @unchecked Sendable {
    // `@unchecked`: every access holds the lock.
    private let lock = NSLock()
    private var recorded: [Value] = []

    func append(_ value: Value) {
        lock.withLock { recorded.append(value) }
    }

    var values: [Value] {
        lock.withLock { recorded }
    }
}
