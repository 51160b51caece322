import Foundation
import GRDB
import MigrationKit

/// Options of a verification.
public struct VerificationOptions: Sendable {
    /// Ends the verification from another thread: the running statement is interrupted.
    public var cancellation: Cancellation?

    /// Observes the verification.
    ///
    /// It is called on the database's thread, even in the middle of a statement, and must not use
    /// the database.
    public var observer: (@Sendable (VerificationEvent) -> Void)?

    /// Opens another connection to a file that nobody writes while it is open. If `nil`, it gets
    /// the writer's configuration.
    ///
    /// Such connections need no locks, and may read faster than SQLite's own.
    package var opensReader: (@Sendable (_ path: String) throws -> DatabaseQueue)?

    /// Creates options.
    ///
    /// - Parameters:
    ///   - cancellation: Ends the verification from another thread.
    ///   - observer: Observes the verification.
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

/// What a verification reports while it is running.
public enum VerificationEvent: Equatable, Sendable {
    /// A check begins.
    case checkStarted(name: String)

    /// A check is still running; reported about ten times a second while a statement runs.
    case checkContinues(name: String, seconds: Double)

    /// A check is done.
    case checkFinished(VerificationCheck)
}
