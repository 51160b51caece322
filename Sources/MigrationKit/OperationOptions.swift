import Foundation

/// The options of a long call: who watches it and may end it.
package protocol OperationOptions: Sendable {
    associatedtype Event: Sendable

    var cancellation: Cancellation? { get set }
    var observer: (@Sendable (Event) -> Void)? { get set }

    /// How long to wait for other processes, in seconds.
    var timeout: TimeInterval { get }
}

extension OperationOptions {
    package var operation: LongOperation<Event> {
        LongOperation(timeout: timeout, cancellation: cancellation, observer: observer)
    }
}
