import Foundation

/// A value that several threads use, one at a time.
///
/// Swift's own `Mutex` requires newer systems than the Apple platforms that the runner supports.
package final class Locked<Value>: @unchecked Sendable {
    // `@unchecked`: `value` is private, and every access to it holds the lock.
    private let lock = NSLock()
    private var value: Value

    package init(_ value: Value) {
        self.value = value
    }

    package func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        try lock.withLock { try body(&value) }
    }
}
