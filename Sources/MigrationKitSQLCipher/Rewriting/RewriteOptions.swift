import Foundation
import GRDB
import MigrationKit

/// How a conversion, a rotation, a backup, a restore or a salvage runs.
public struct RewriteOptions: Sendable {
    /// How long to wait for other processes, in seconds.
    public var timeout: TimeInterval

    /// SQL functions that the schema uses: in CHECK constraints, generated columns, indexes.
    public var functions: [DatabaseFunction]

    /// Collations that the schema uses.
    public var collations: [DatabaseCollation]

    /// Gives each connection what else the schema uses, such as the tokenizer of a full-text index. It must
    /// not write to the database.
    public var prepareDatabase: (@Sendable (Database) throws -> Void)?

    /// Cancels it from another thread.
    public var cancellation: Cancellation?

    /// Observes it. It is called on the thread that copies, and must not use the database.
    public var observer: (@Sendable (ConversionEvent) -> Void)?

    /// Creates options. Each parameter that isn't given has its default.
    ///
    /// - Parameters:
    ///   - timeout: How long to wait for other processes, in seconds.
    ///   - functions: SQL functions that the schema uses, in addition to `uuid()` and GRDB's.
    ///   - collations: Collations that the schema uses, in addition to GRDB's.
    ///   - cancellation: Cancels it from another thread.
    ///   - observer: Observes it.
    ///   - prepareDatabase: Gives each connection what else the schema uses.
    public init(
        timeout: TimeInterval = 5,
        functions: [DatabaseFunction] = [],
        collations: [DatabaseCollation] = [],
        cancellation: Cancellation? = nil,
        observer: (@Sendable (ConversionEvent) -> Void)? = nil,
        prepareDatabase: (@Sendable (Database) throws -> Void)? = nil
    ) {
        self.timeout = timeout
        self.functions = functions
        self.collations = collations
        self.prepareDatabase = prepareDatabase
        self.cancellation = cancellation
        self.observer = observer
    }

    package var monitor: ConversionMonitor {
        ConversionMonitor(timeout: timeout, cancellation: cancellation, observer: observer)
    }

    /// How the files are opened.
    func opening(_ form: DatabaseForm) -> EncryptedDatabase.Options {
        EncryptedDatabase.Options(
            cipher: form.cipher,
            // Short: the caller retries, and can be cancelled between two attempts.
            busyTimeout: 0.1,
            functions: functions,
            collations: collations,
            prepareDatabase: prepareDatabase
        )
    }
}

extension RewriteOptions: OperationOptions {}
