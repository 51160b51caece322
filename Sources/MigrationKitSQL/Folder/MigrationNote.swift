/// Something in a migration that works, but not as its author may think.
public struct MigrationNote: Equatable, Sendable {
    /// The migration's identifier.
    public let identifier: String

    /// Where it stands.
    public let place: SQLPlace

    /// What there is to know, in one line.
    public let message: String

    /// - Parameter place: Where it stands. To find out means to count lines, for which a file of
    ///   thousands of statements would take long if it were done for each.
    /// - Returns: `nil` if there is nothing to say about such a statement.
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
                + "transaction; nothing checks them afterwards"
    }

    /// A step that is applied and recorded like any other, without a statement.
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
