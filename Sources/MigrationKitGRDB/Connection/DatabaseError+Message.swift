import Foundation
import GRDB
import MigrationKit

extension DatabaseError {
    /// The same error, whose message also names a step, unless it does already.
    func naming(_ step: String, _ configuration: Configuration) -> DatabaseError {
        guard let message, !message.contains(step) else { return self }
        return DatabaseError(
            resultCode: extendedResultCode,
            message: message + Self.suffix(naming: step),
            sql: sql,
            arguments: arguments,
            publicStatementArguments: configuration.publicStatementArguments
        )
    }

    /// The error with SQLite's own message, for a text that names the step itself.
    ///
    /// - Parameter step: The step that the message may name.
    package func withoutNaming(_ step: String) -> DatabaseError {
        let suffix = Self.suffix(naming: step)
        guard let message, message.hasSuffix(suffix) else { return self }
        return DatabaseError(
            resultCode: extendedResultCode,
            message: String(message.dropLast(suffix.count)),
            sql: sql,
            arguments: arguments
        )
    }

    /// The message without values of rows and strings of SQL. If it names a step, it still does.
    package var messageWithoutValues: String {
        let message = message ?? "error \(extendedResultCode.rawValue)"
        let end =
            message.range(of: Self.beforeStep, options: .backwards)?.lowerBound ?? message.endIndex
        let ofSQLite = SQLiteMessage(String(message[..<end]), code: extendedResultCode.rawValue)
        return ofSQLite.withoutValues + message[end...]
    }

    private static func suffix(naming step: String) -> String { "\(beforeStep)\(step))" }

    private static let beforeStep = " (in the migration "
}
