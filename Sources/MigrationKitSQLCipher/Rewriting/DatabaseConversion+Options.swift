import Foundation
import GRDB
import MigrationKit

extension DatabaseConversion {
    /// How a conversion goes.
    public struct Options: Sendable {
        /// The new file, which must not be there yet; `nil` to replace the database.
        public var outputPath: String?

        /// Where the original goes, byte for byte, before it is replaced; nothing may be there.
        public var keptOriginalPath: String?

        /// How long to wait, in seconds, for others who have the database open, or locked.
        public var timeout: TimeInterval

        /// SQL functions that the schema uses: in CHECK constraints, generated columns, indexes.
        public var functions: [DatabaseFunction]

        /// Collations that the schema uses.
        public var collations: [DatabaseCollation]

        /// Ends the conversion from another thread.
        public var cancellation: Cancellation?

        /// Watches the conversion. It is called on the thread that converts, and must not use the
        /// database.
        public var observer: (@Sendable (ConversionEvent) -> Void)?

        /// Options that differ from the defaults where a parameter is given.
        ///
        /// - Parameters:
        ///   - outputPath: The new file, which must not be there yet; `nil` to replace the database.
        ///   - keptOriginalPath: Where the original goes before it is replaced.
        ///   - timeout: How long to wait, in seconds, for others who have the database open.
        ///   - functions: SQL functions that the schema uses, beside `uuid()` and GRDB's.
        ///   - collations: Collations that the schema uses, beside GRDB's.
        ///   - cancellation: Ends the conversion from another thread.
        ///   - observer: Watches the conversion.
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
