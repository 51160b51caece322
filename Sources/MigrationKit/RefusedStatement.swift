/// A kind of statement that a migration must not contain, because it has effects outside the
/// migration's transaction.
public enum RefusedStatement: String, Equatable, Sendable, CaseIterable {
    /// `BEGIN`, `COMMIT`, `END`, `ROLLBACK`, `SAVEPOINT` or `RELEASE` outside a trigger's body.
    case transactionControl

    /// The same in a step that runs outside of a transaction, where its author wants one.
    case ownTransaction

    /// `ATTACH`, `DETACH`, or `VACUUM INTO`, which writes another file.
    case attachment

    /// `VACUUM` in a step that runs in a transaction.
    case vacuum

    /// A `PRAGMA` that gives or changes the key, or that changes how the file is encrypted.
    case encryptionPragma

    /// A `PRAGMA` that changes where temporary data goes.
    case temporaryStoragePragma

    /// A `PRAGMA` that turns off the journal, or keeps commits from reaching the disk.
    case durabilityPragma

    /// Its name in messages.
    package var name: String {
        switch self {
        case .transactionControl, .ownTransaction: "BEGIN, COMMIT or ROLLBACK"
        case .attachment: "ATTACH, DETACH or VACUUM INTO"
        case .vacuum: "VACUUM"
        case .encryptionPragma: "a PRAGMA about the key or the encryption"
        case .temporaryStoragePragma: "a PRAGMA about temporary storage"
        case .durabilityPragma: "a PRAGMA that turns off the journal or its synchronization"
        }
    }

    /// The reason why a migration can't contain it, as a clause.
    package var reason: String {
        switch self {
        case .transactionControl, .ownTransaction:
            "the runner begins and ends every transaction"
        case .attachment:
            "a migration works on its own database only"
        case .vacuum:
            "SQLite can't do it in a transaction, and this migration runs in one"
        case .encryptionPragma:
            "the program that opens a database decides how it is encrypted"
        case .temporaryStoragePragma:
            "it could write temporary data to the disk unencrypted"
        case .durabilityPragma:
            "a failed or interrupted migration could not be undone"
        }
    }

    /// What to do instead.
    ///
    /// - Parameter wayOut: How a migration of the format says that it runs outside of a transaction;
    ///   `nil` if it can't.
    package func advice(wayOutOfTransaction wayOut: String?) -> String {
        switch self {
        case .transactionControl:
            "Remove it. A migration is undone as a whole. Put parts that must commit separately into migrations of their own."
        case .ownTransaction:
            """
            Put what stands between BEGIN and COMMIT into a migration of its own that runs in a transaction: \
            it is undone as a whole, with foreign keys off, and checked before its commit. Without BEGIN \
            and COMMIT, an error in the middle of this one would leave the part before it.
            """
        case .attachment:
            "Remove it. Import data with another program; 'migrate --backup' copies the database."
        case .vacuum:
            if let wayOut {
                "Put it into a migration of its own that \(wayOut)"
            } else {
                """
                In this format, every migration runs in a transaction. Use another format for the \
                folder, and put it into a migration of its own
                """
            }
        case .encryptionPragma:
            "Remove it. If it contains a real key, change that key: it is no longer secret."
        case .temporaryStoragePragma:
            "Remove it."
        case .durabilityPragma:
            "Remove it. WAL, DELETE, TRUNCATE and PERSIST are safe journal modes; NORMAL, FULL and "
                + "EXTRA are safe levels of synchronization."
        }
    }

    /// Classifies a statement by its beginning.
    ///
    /// - Parameter words: The statement's first tokens, in upper case and without quotes, spaces
    ///   and comments. ``length`` tokens are enough.
    package init?(words: some Sequence<String>) {
        let words = Self.withoutExplain(words)
        switch words.first {
        case "BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE":
            self = .transactionControl
        case "ATTACH", "DETACH":
            self = .attachment
        case "VACUUM":
            // A name may come before: VACUUM main INTO 'file'.
            self = words.dropFirst().prefix(2).contains("INTO") ? .attachment : .vacuum
        default:
            guard let pragma = Pragma(words: words) else { return nil }
            self.init(pragma)
        }
    }

    private init?(_ pragma: Pragma) {
        switch pragma.name {
        case "KEY", "REKEY", "HEXKEY", "HEXREKEY", "TEXTKEY", "TEXTREKEY", "CIPHER_MIGRATE":
            self = .encryptionPragma
        case let name
        where pragma.isChange && (name.hasPrefix("CIPHER") || name.hasSuffix("KDF_ITER")):
            self = .encryptionPragma
        case "TEMP_STORE" where pragma.isChange, "TEMP_STORE_DIRECTORY" where pragma.isChange:
            self = .temporaryStoragePragma
        case "JOURNAL_MODE" where pragma.isChange && !pragma.keepsJournal,
            "SYNCHRONOUS" where pragma.isChange && !pragma.keepsSynchronizing:
            self = .durabilityPragma
        default:
            return nil
        }
    }

    /// How many tokens are needed to classify a statement:
    /// `EXPLAIN QUERY PLAN PRAGMA schema . name = value`.
    package static let length = 9

    /// Some pragmas act while they are compiled, so EXPLAIN doesn't make them harmless:
    /// <https://www.sqlite.org/pragma.html>
    private static func withoutExplain(_ words: some Sequence<String>) -> ArraySlice<String> {
        let words = Array(words)[...]
        guard words.first == "EXPLAIN" else { return words }
        return words.dropFirst(words.dropFirst().first == "QUERY" ? 3 : 1)
    }
}

/// A `PRAGMA`, read from the first tokens of its statement.
package struct Pragma {
    /// The name in upper case.
    package let name: String
    /// Whether it is given a value.
    package let isChange: Bool
    /// The value's first token in upper case, if it is given one.
    private let value: String

    /// - Parameter words: The statement's first tokens in upper case and without quotes.
    package init?(words: some Sequence<String>) {
        var words = Array(words)[...]
        guard words.popFirst() == "PRAGMA" else { return nil }
        if words.dropFirst().first == "." { words = words.dropFirst(2) }
        guard let name = words.popFirst() else { return nil }
        self.name = name
        isChange = ["=", "("].contains(words.first)
        value = words.dropFirst().first ?? ""
    }

    /// SQLite accepts a prefix of a mode's name, and ignores an unknown mode.
    fileprivate var keepsJournal: Bool {
        value.isEmpty || !["OFF", "MEMORY"].contains { $0.hasPrefix(value) }
    }

    /// SQLite treats several other numbers and words as `OFF`.
    fileprivate var keepsSynchronizing: Bool {
        ["1", "2", "3", "NORMAL", "FULL", "EXTRA"].contains(value)
    }
}
