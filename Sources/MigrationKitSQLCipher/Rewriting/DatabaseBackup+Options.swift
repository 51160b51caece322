import Foundation
import GRDB
import MigrationKit

extension DatabaseBackup {
    /// How a backup is made or restored, or a database salvaged.
    public struct Options: Sendable {
        /// How long to wait, in seconds, for others who are in the way.
        public var timeout: TimeInterval

        /// SQL functions that the schema uses: in CHECK constraints, generated columns, indexes.
        public var functions: [DatabaseFunction]

        /// Collations that the schema uses.
        public var collations: [DatabaseCollation]

        /// Ends it from another thread.
        public var cancellation: Cancellation?

        /// Watches it. It is called on the thread that copies, and must not use the database.
        public var observer: (@Sendable (ConversionEvent) -> Void)?

        /// Options that differ from the defaults where a parameter is given.
        ///
        /// - Parameters:
        ///   - timeout: How long to wait, in seconds, for others who are in the way.
        ///   - functions: SQL functions that the schema uses, beside `uuid()` and GRDB's.
        ///   - collations: Collations that the schema uses, beside GRDB's.
        ///   - cancellation: Ends it from another thread.
        ///   - observer: Watches it.
        public init(
            timeout: TimeInterval = 5,
            functions: [DatabaseFunction] = [],
            collations: [DatabaseCollation] = [],
            cancellation: Cancellation? = nil,
            observer: (@Sendable (ConversionEvent) -> Void)? = nil
        ) {
            self.timeout = timeout
            self.functions = functions
            self.collations = collations
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
                // What is waited for is waited for outside, where it can be cancelled.
                busyTimeout: 0.1,
                functions: functions,
                collations: collations
            )
        }
    }
}

extension DatabaseBackup.Options: OperationOptions {}
