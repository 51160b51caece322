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
        guard let pragma = Pragma(words: words), pragma.isChange, pragma.name == "FOREIGN_KEYS"
        else { return nil }
        self.identifier = identifier
        self.place = place()
        // https://www.sqlite.org/pragma.html#pragma_foreign_keys
        message =
            usesTransaction
            ? "PRAGMA foreign_keys has no effect in a transaction; foreign keys are off in every "
                + "migration anyway, and checked before its commit"
            : "PRAGMA foreign_keys takes effect here, since this migration runs outside of a "
                + "transaction; foreign keys are not checked afterwards"
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
