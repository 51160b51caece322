import Foundation
import GRDB
import MigrationKit

extension DatabaseConversion {
    /// Options of a conversion.
    public struct Options: Sendable {
        /// The new file, which must not exist; `nil` to replace the database.
        public var outputPath: String?

        /// Where the original is copied, byte for byte, before it is replaced. The path must be
        /// free.
        public var keptOriginalPath: String?

        /// How long to wait for others who have the database open or locked, in seconds.
        public var timeout: TimeInterval

        /// SQL functions that the schema uses: in CHECK constraints, generated columns, indexes.
        public var functions: [DatabaseFunction]

        /// Collations that the schema uses.
        public var collations: [DatabaseCollation]

        /// Cancels the conversion from another thread.
        public var cancellation: Cancellation?

        /// Observes the conversion. It is called on the thread that converts, and must not use the
        /// database.
        public var observer: (@Sendable (ConversionEvent) -> Void)?

        /// Creates options. Each parameter that isn't given has its default.
        ///
        /// - Parameters:
        ///   - outputPath: The new file, which must not exist; `nil` to replace the database.
        ///   - keptOriginalPath: Where the original is copied before it is replaced.
        ///   - timeout: How long to wait for others who have the database open, in seconds.
        ///   - functions: SQL functions that the schema uses, in addition to `uuid()` and GRDB's.
        ///   - collations: Collations that the schema uses, in addition to GRDB's.
        ///   - cancellation: Cancels the conversion from another thread.
        ///   - observer: Observes the conversion.
        public init(
            outputPath: String? = nil,
            keptOriginalPath: String? = nil,
            timeout: TimeInterval = 5,
            functions: [DatabaseFunction] = [],
            collations: [DatabaseCollation] = [],
            cancellation: Cancellation? = nil,
            observer: (@Sendable (ConversionEvent) -> Void)? = nil
        ) {
            self.outputPath = outputPath
            self.keptOriginalPath = keptOriginalPath
            self.timeout = timeout
            self.functions = functions
            self.collations = collations
            self.cancellation = cancellation
            self.observer = observer
        }
    }
}

extension DatabaseConversion.Options: OperationOptions {}
