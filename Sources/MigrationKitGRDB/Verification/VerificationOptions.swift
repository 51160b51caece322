import Foundation
import GRDB
import MigrationKit

/// How a verification goes.
public struct VerificationOptions: Sendable {
    /// Ends the verification from another thread: the running statement is interrupted.
    public var cancellation: Cancellation?

    /// Watches the verification.
    ///
    /// It is called on the thread of the database, also in the middle of a statement, and must not
    /// use the database.
    public var observer: (@Sendable (VerificationEvent) -> Void)?

    /// Opens a further connection to a file that nobody writes as long as it is open; `nil` opens it
    /// as the writer's connections were.
    ///
    /// Two such connections do without locks, and may read faster than SQLite's own can.
    package var opensReader: (@Sendable (_ path: String) throws -> DatabaseQueue)?

    /// Creates options.
    ///
    /// - Parameters:
    ///   - cancellation: Ends the verification from another thread.
    ///   - observer: Watches the verification.
    public init(
        cancellation: Cancellation? = nil,
        observer: (@Sendable (VerificationEvent) -> Void)? = nil
    ) {
        self.cancellation = cancellation
        self.observer = observer
    }
}

extension VerificationOptions: OperationOptions {
    /// A verification waits as long as its connection does.
    package var timeout: TimeInterval { 0 }
}

/// What a verification reports while it goes on.
public enum VerificationEvent: Equatable, Sendable {
    /// A check begins.
    case checkStarted(name: String)

    /// A check goes on; reported about ten times a second while a statement runs.
    case checkContinues(name: String, seconds: Double)

    /// A check is done.
    case checkFinished(VerificationCheck)
}
