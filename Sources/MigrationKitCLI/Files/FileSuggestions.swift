import MigrationKitSQL
import MigrationKitSQLCipher

extension EncryptedDatabaseError: ToolSuggesting {
    var suggestion: String? {
        switch self {
        case .noSuchFile:
            "Check the path. Only 'migrate', 'schema-load' and 'restore' create a database."
        case .empty:
            "To create a database here, migrate it. Otherwise restore a backup."
        case .olderFormat(_, CipherSettings.current.compatibility):
            """
            The key is right, and the format is the current one. Leave out --cipher-compatibility \
            and the other encryption options.
            """
        case .olderFormat(_, let version):
            """
            The key is right. Add --cipher-compatibility \(version), or convert the file with \
            '\(Program.name) upgrade'.
            """
        case .plaintext(let path):
            """
            To encrypt it:
              \(Program.name) encrypt \(path.shellPath)
            To use it as it is, leave out the key and add --no-encryption. Check that no program \
            expects it to be encrypted.
            """
        case .wrongKey(let path):
            """
            \(recoverySuggestion ?? "")
            \(Self.search(path))
            If the key is hexadecimal digits, add --raw-key. If the file has other settings, give \
            them: --cipher-compatibility, --cipher-page-size, --kdf-iterations, --kdf-algorithm, \
            --hmac-algorithm.
            If the key is right, '\(Program.name) salvage' searches for a flipped bit in the first \
            bytes and recovers what it can read.
            """
        case .plaintextHeader(let path, nil):
            """
            Apps for Apple's systems make such files, so it need not be damaged. Give its salt, which the \
            app keeps beside the key:
              \(Program.name) status --db-path \(path.shellWord) --cipher-salt <digits>
            If the raw key has 96 digits, the salt is in it: add --raw-key and \
            --cipher-plaintext-header-size 32. A header of another size than 32 bytes is given with \
            that option, too.
            """
        case .plaintextHeader(_, 0):
            """
            It begins with its salt, or isn't a database. Leave out --cipher-salt and \
            --cipher-plaintext-header-size.
            """
        case .plaintextHeader(_, let size?):
            "The key is right. Add --cipher-plaintext-header-size \(size)."
        case .wrongKeyOrSalt(let path):
            """
            \(recoverySuggestion ?? "")
            \(Self.search(path, more: " --cipher-salt <digits>"))
            If the key is hexadecimal digits, add --raw-key. If the file has other settings, give \
            them: --cipher-compatibility, --cipher-page-size, --kdf-iterations, --kdf-algorithm, \
            --hmac-algorithm.
            """
        case .rawKeyAsPassphrase:
            "The hexadecimal digits are the key itself: add --raw-key."
        case .damaged:
            """
            The file is damaged; the key is not the problem. \(Failure.adviceOnDamage)
            """
        case .damagedLog:
            """
            SQLite ignores commits from that frame on, and opening the database for writing \
            discards them. So it was not opened, and nothing was changed.
            If the last program wrote with PRAGMA synchronous = NORMAL, a power cut can cause \
            this. To give up those commits, run 'migrate --accept-lost-commits', or open the \
            database once with that program; both discard them.
            To try to recover them, copy the database and its -wal file first. '\(Program.name) \
            salvage' recovers what is in both.
            """
        case .otherJournal(let path, let journal, .missingDatabase, _):
            """
            A new database in its place would delete them. So none was created, and nothing was \
            changed.
            If the database was moved or renamed, move it back beside \(journal).
            Otherwise, to recover what \(journal) itself holds, beside an empty file:
              touch \(path.shellPath)
              \(Program.name) salvage \(path.shellPath) --output recovered.db
            To restore a backup or to begin with a new database, keep it under another name first; it \
            doesn't fit either:
              mv \(journal.shellPath) \((journal + ".kept").shellPath)
            """
        case .otherJournal(let path, let journal, .superJournal, _):
            """
            SQLite would take the change for a finished one, and keep the half of it that is in the \
            database. So the database was not opened, and nothing was changed.
            \(JournalMismatch.superJournal.origin)
            To keep both, copy them first:
              cp \(path.shellPath) \(journal.shellPath) DIR
            To undo the change in a new file:
              \(Program.name) salvage \(path.shellPath) --output recovered.db
            """
        case .otherJournal(let path, let journal, let mismatch, let isSound):
            """
            SQLite would write its pages into the database. So the database was not opened, and nothing \
            was changed.\(Self.state(isSound))
            \(mismatch.origin)
            To keep both, copy them first:
              cp \(path.shellPath) \(journal.shellPath) DIR
            To recover what is in both:
              \(Program.name) salvage \(path.shellPath) --output recovered.db
            To go on without it, give it another name:
              mv \(journal.shellPath) \((journal + ".kept").shellPath)
            """
        default:
            recoverySuggestion
        }
    }

    /// The commands that find a database's key, or bring it back, each on a line.
    private static func search(
        _ path: String,
        more: String = ""
    ) -> String {
        """
        To search the secret store for its key, and each file of a folder:
          \(Program.name) key find --db-path \(path.shellWord)\(more) --key-file DIR
        To get it back from the copy that 'key export' made, into a file (without --output: into the \
        secret store):
          \(Program.name) key import COPY --db-path \(path.shellWord)\(more) --output FILE
        """
    }
}

extension SQLStatementError: ToolSuggesting {
    var suggestion: String? {
        guard code.name == "damaged" else { return recoverySuggestion }
        return [recoverySuggestion, Failure.adviceOnDamage]
            .compactMap { $0 }.joined(separator: "\n")
    }
}

extension DatabaseConversionError: ToolSuggesting {
    var suggestion: String? {
        switch self {
        case .notPlaintext: "To give an encrypted database another key, use 'rekey'."
        default: recoverySuggestion
        }
    }
}
