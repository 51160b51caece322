import Foundation
import MigrationKit
import MigrationKitGRDB
import MigrationKitSchema

/// Options of a rehearsal.
public struct RehearsalOptions: Sendable {
    /// How the steps run: one by one or together, and what they may leave. Its observer and its
    /// cancellation aren't used.
    public var migration: MigrationOptions

    /// How the verification compares the schema with the one that the steps give; `nil` to leave
    /// that out.
    public var drift: DriftOptions?

    /// Ends the rehearsal from another thread.
    public var cancellation: Cancellation?

    /// Observes the rehearsal.
    ///
    /// It is called on the database's thread, even in the middle of a statement, and must not use
    /// the database.
    public var observer: (@Sendable (RehearsalEvent) -> Void)?

    /// Creates options.
    ///
    /// - Parameters:
    ///   - migration: How the steps run.
    ///   - drift: How the schema is compared with the one that the steps give.
    ///   - cancellation: Ends the rehearsal from another thread.
    ///   - observer: Observes the rehearsal.
    public init(
        migration: MigrationOptions = MigrationOptions(),
        drift: DriftOptions? = DriftOptions(),
        cancellation: Cancellation? = nil,
        observer: (@Sendable (RehearsalEvent) -> Void)? = nil
    ) {
        self.migration = migration
        self.drift = drift
        self.cancellation = cancellation
        self.observer = observer
    }
}

extension RehearsalOptions: OperationOptions {
    /// A rehearsal waits as long as the database's connection does.
    package var timeout: TimeInterval { migration.lockTimeout }
}

/// What a rehearsal reports while it is running.
public enum RehearsalEvent: Equatable, Sendable {
    /// The database is being copied.
    case copying(bytesDone: Int, bytesTotal: Int)

    /// The steps run on the copy.
    case migrating(MigrationEvent)

    /// The copy is verified.
    case verifying(VerificationEvent)
}
