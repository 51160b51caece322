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
        case .multipleCiphers(let path, _, true):
            """
            \(recoverySuggestion ?? "")
            Or, with this tool, into a new file:
              \(Program.name) salvage \(path.shellPath) --output FILE
            """
        case .otherSettings(_, let cipher) where cipher.obstacle == .otherCipher: recoverySuggestion
        case .otherSettings(let path, let cipher) where !cipher.canBeSet:
            """
            \(recoverySuggestion ?? "")
              \(Program.name) salvage \(path.shellPath) --find-settings --output FILE
            """
        case .otherSettings(_, let cipher):
            """
            The key is right. Add \(cipher.options.joined(separator: " ")), or convert the file with \
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
            If the file may have settings of its own, '\(Program.name) key check' searches for them, as \
            every command does with --find-settings.
            \(Self.otherReasons)
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
            If the key is hexadecimal digits, add --raw-key. If the file may have settings of its own, \
            '\(Program.name) key check' searches for them, as every command does with --find-settings.
            """
        case .rawKeyAsPassphrase:
            "The hexadecimal digits are the key itself: add --raw-key."
        case .passphraseAsRawKey:
            """
            The key is derived from the hexadecimal digits, in lower case: leave out --raw-key. If the item \
            of a secret store says that it is a raw key, 'key set' stores it anew.
            """
        case .damaged(let path, let pages) where pages.first == 1 && pages.count > 1:
            """
            The key opens other pages than these. If a program ended while it changed the key, the file \
            has pages of two keys: try the former one, or give both:
              \(Program.name) salvage \(path.shellPath) --output FILE --second-password-file OTHER
            Otherwise, it is damaged. \(Failure.adviceOnDamage)
            """
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
        case .otherJournal(let path, let journal, let mismatch, _) where mismatch.isOfOwnChange:
            """
            \(mismatch.consequence) So the database was not opened, and nothing was changed.
            \(mismatch.origin)
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
        case .needsRecovery(let path):
            """
            A program was stopped while it wrote, and SQLite undoes that change as soon as the file is \
            opened for writing. So it was not opened, and nothing was changed. Start that program again, \
            or let this tool undo it:
              \(Program.name) status --db-path \(path.shellWord)
            Or copy the database and its journal, and use the copy.
            """
        default:
            recoverySuggestion
        }
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
