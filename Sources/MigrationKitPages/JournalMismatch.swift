/// What shows that a write-ahead log or a rollback journal isn't the one of the database beside it.
public enum JournalMismatch: String, Sendable, Encodable {
    /// Its pages were encrypted with another key, or with another salt.
    case key

    /// Its first page has another salt than the database.
    case salt

    /// The key opens its pages, but none of the database.
    case database

    /// Its pages have another size.
    case pageSize

    /// Its pages aren't pages of a database, or not in this form. Only where pages have no HMAC.
    case content

    /// It continues another state of the database, an older or a newer one.
    case state

    /// It says that the database was empty before an unfinished change. The database has been written
    /// as a whole since then.
    case emptyDatabase

    /// It belongs to a transaction over several databases, and the file that joins them isn't at its place:
    /// the database was moved meanwhile. SQLite would keep the half of the change that is written.
    case superJournal

    /// It belongs to an unfinished change, and some of its pages are damaged. SQLite would undo a part of
    /// the change, and keep the rest.
    case damaged

    /// The key opens neither it nor the database, so it may be the database's own or not.
    case unproved

    /// There is no database beside it, or an empty file. SQLite would delete it.
    case missingDatabase

    /// The reason in words, about "it".
    package var reason: String {
        switch self {
        case .key: "it was written with another key or another salt"
        case .salt: "it was written with another salt"
        case .database: "the key opens it, but no page of the database"
        case .pageSize: "its pages have another size"
        case .content: "its pages aren't those of such a database"
        case .state: "it continues another state of the database"
        case .emptyDatabase: "it would make the database empty"
        case .superJournal:
            "its change is to several databases, and the file that says so isn't where it was"
        case .damaged: "some of its pages are damaged"
        case .unproved: "the key opens neither, so it can't be proved to be the database's own"
        case .missingDatabase: "there is no database"
        }
    }

    /// Whether it is the database's own, and its change has to be undone as a whole.
    package var isOfOwnChange: Bool { self == .superJournal || self == .damaged }

    /// What SQLite would do, in a sentence.
    package var consequence: String {
        switch self {
        case .superJournal:
            """
            SQLite would take the change for a finished one, and keep the half of it that is in the \
            database.
            """
        case .damaged: "SQLite would undo a part of the change, and keep the rest."
        default: "SQLite would write its pages into the database."
        }
    }

    /// Where it may come from, in sentences.
    package var origin: String {
        let replaced =
            "It may be left from a file that was replaced, for example by copying a backup back."
        return switch self {
        case .key:
            "\(replaced) Or the key was changed just before a program ended: then try the new key."
        case .database:
            """
            \(replaced) Or the key was changed just before a program ended: then it holds the whole \
            database, and salvaging with this key recovers that.
            """
        case .superJournal:
            """
            The database was moved or copied with an unfinished change. Move it back to where it was, with all \
            files of its folder, and open it there; salvaging undoes the change, too.
            """
        case .damaged:
            "A program was stopped in the middle of a change, and the journal was damaged then or later."
        default: replaced
        }
    }
}
