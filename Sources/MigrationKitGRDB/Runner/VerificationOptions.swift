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

    /// Whether a full verification runs SQLite's `integrity_check` on the whole database. Otherwise
    /// it compares the indexes with their tables in linear time, and SQLite's check runs on the
    /// tables in which that finds a fault, to name the rows.
    public var usesSQLiteIntegrityCheck = false

    /// The check named `schema`, which `MigrationKitSchema` has; `nil` to leave it out.
    package var schemaCheck: (any SchemaCheck)?

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

/// Compares the schema with the one that the applied steps give.
package protocol SchemaCheck: Sendable {
    func outcome(
        of runner: GRDBMigrationRunner,
        in writer: any DatabaseWriter,
        cancellation: Cancellation?
    ) throws -> VerificationOutcome
}
