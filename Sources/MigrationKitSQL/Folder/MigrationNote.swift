import MigrationKit

/// A note about something in a migration that works, but perhaps not as its author expects.
public struct MigrationNote: Equatable, Sendable {
    /// The migration's identifier.
    public let identifier: String

    /// Where it stands.
    public let place: SQLPlace

    /// The note, in one line.
    public let message: String

    /// - Parameter place: The place in the file. Computed only if needed, since counting lines for
    ///   each statement of a large file would be slow.
    /// - Returns: `nil` if there is nothing to note about this statement.
    init?(
        words: [String],
        in identifier: String,
        usesTransaction: Bool,
        at place: @autoclosure () -> SQLPlace
    ) {
        guard let pragma = Pragma(words: words), pragma.isChange else { return nil }
        switch (pragma.name, usesTransaction) {
        // https://www.sqlite.org/pragma.html#pragma_foreign_keys
        case ("FOREIGN_KEYS", true):
            message =
                "PRAGMA foreign_keys has no effect in a transaction; foreign keys are off in every "
                + "migration anyway, and checked before its commit"
        case ("FOREIGN_KEYS", false):
            message =
                "PRAGMA foreign_keys takes effect here, since this migration runs outside of a "
                + "transaction; foreign keys are not checked afterwards"
        // SQLite keeps the mode and reports no error once the transaction has written something,
        // and the runner writes before the step does.
        // https://www.sqlite.org/pragma.html#pragma_journal_mode
        case ("JOURNAL_MODE", true):
            message =
                "PRAGMA journal_mode has no effect in a transaction: the database keeps its journal "
                + "mode; put it into a migration of its own that runs outside of one"
        default:
            return nil
        }
        self.identifier = identifier
        self.place = place()
    }

    /// A note about a step without a statement, which is applied and recorded like any other.
    init(noStatementIn identifier: String, at place: SQLPlace) {
        self.identifier = identifier
        self.place = place
        message = "there is no statement: the migration is recorded as applied, and changes nothing"
    }
}

extension MigrationNote: CustomStringConvertible {
    /// The place and the message.
    public var description: String { "\(place): \(message)" }
}
