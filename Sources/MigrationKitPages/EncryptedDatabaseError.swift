import MigrationKitCommon
import Foundation

/// Why a database can't be opened or used.
///
/// None of these errors contains any part of a key.
public enum EncryptedDatabaseError: Error, Equatable, Sendable {
    /// There is no file, and the options don't allow creating one.
    case noSuchFile(path: String)

    /// The file is empty, and the options don't allow creating a database.
    case empty(path: String)

    /// The path leads to a folder.
    case isDirectory(path: String)

    /// The path leads to something that isn't a file, such as `a named pipe`.
    case notAFile(path: String, kind: String)

    /// The file can't be a database, encrypted or not: its size isn't a number of pages.
    case notADatabase(path: String)

    /// Something that isn't a file has a journal's name beside the database: a folder, a named
    /// pipe, a socket or a device.
    case journalIsNoFile(path: String, kind: String)

    /// The journal at this path is root's, and the database another user's; or it is another user's in
    /// a folder that all may write. SQLite would give it to the database's owner, or write into it.
    case journalOfAnother(path: String)

    /// The path is or passes the link `link`, which another user has laid in a folder that others may
    /// write. It could lead to any file.
    case linkOfAnother(path: String, link: String)

    /// The journal at this path names a file that isn't SQLite's, which SQLite would delete.
    case foreignJournal(path: String)

    /// The write-ahead log or rollback journal at `journal` holds pages that aren't of the database at
    /// `path`, or of another state of it. SQLite would write them into it. `isSound` says whether the
    /// database is sound without them; `nil` if there is no database.
    case otherJournal(path: String, journal: String, mismatch: JournalMismatch, isSound: Bool?)

    /// A key was given for a database that is not encrypted.
    case plaintext(path: String)

    /// No key was given for a file that isn't a plaintext database.
    case encrypted(path: String)

    /// The key opens no page of the file. Another key, other cipher settings, a damaged salt and
    /// random bytes can't be distinguished.
    case wrongKey(path: String)

    /// The passphrase consists of a raw key's hexadecimal digits, and opens the file as that raw key.
    case rawKeyAsPassphrase(path: String)

    /// The raw key's hexadecimal digits, in lower case, open the file as a passphrase.
    case passphraseAsRawKey(path: String)

    /// The key opens the file with the settings of another SQLCipher version, usually an older one.
    /// The major version is given: 4, 3, 2 or 1. With a raw key, files of version 2 look like those
    /// of version 3, and are reported as 3.
    case olderFormat(path: String, cipherCompatibility: Int)

    /// The key opens the file with other settings than the given ones and those of SQLCipher's versions.
    /// Those with the same key derivation are found at once, as are all of a raw key.
    case otherSettings(path: String, cipher: CipherSettings)

    /// The file is one of SQLite3 Multiple Ciphers, another library, with the ciphers that it may have in
    /// words. `isKeyRight` says whether the key is known to be right.
    case multipleCiphers(path: String, ciphers: String, isKeyRight: Bool)

    /// The plaintext header has another size than the settings say: 0 if the file has none, `nil` if
    /// it has one and the size isn't known. If a size is given, the key is right.
    case plaintextHeader(path: String, size: Int?)

    /// The key and the salt of a file with a plaintext header open no page of it. Which of the two is
    /// wrong can't be distinguished.
    case wrongKeyOrSalt(path: String)

    /// The key is right, but content is damaged. `pages` lists the pages that SQLCipher's check
    /// found, counted from 1, at most a hundred. It is empty if the check found none, for example
    /// in a truncated file.
    case damaged(path: String, pages: [Int])

    /// A frame of the write-ahead log, counted from 1, is damaged. SQLite doesn't see the commits
    /// from there on, and they would be lost with the log. A power cut in the middle of a
    /// transaction may look the same.
    case damagedLog(path: String, frame: Int)

    /// The operating system denies reading the file.
    case permissionDenied(path: String)

    /// The file can be read but not written.
    case readOnly(path: String)

    /// The file's folder can't be written, so SQLite can't keep its journal there.
    case readOnlyFolder(path: String)

    /// Another connection held a lock for longer than the timeout.
    case locked(path: String)

    /// A program was stopped in the middle of a change. Undoing it requires opening the file for
    /// writing.
    case needsRecovery(path: String)

    /// The file is intact, but requires a newer SQLite, or has a schema that this one can't read, or
    /// not safely.
    case newerFormat(path: String)

    /// The file can't be created; the reason in words.
    case cannotCreate(path: String, reason: String)

    /// A connection is not SQLCipher's, so it would write without encryption.
    case noSQLCipher

    /// The disk, or the quota on it, is full.
    case diskFull(path: String)

    /// The operating system reported an error while the file was read or written.
    case inputOutput(path: String, detail: String)
}

extension EncryptedDatabaseError: LocalizedError {
    /// What went wrong, in one line.
    public var errorDescription: String? {
        switch self {
        case .noSuchFile(let path):
            "there is no database \(path)"
        case .empty(let path):
            "\(path) is empty"
        case .isDirectory(let path):
            "\(path) is a folder, not a database"
        case .notAFile(let path, let kind):
            "\(path) is \(kind), not a database"
        case .notADatabase(let path):
            "\(path) is not a database"
        case .journalIsNoFile(let path, let kind):
            "\(path) is a \(kind), not a file"
        case .journalOfAnother(let path):
            "\(path) belongs to another user than the database, or is another file's name"
        case .linkOfAnother(let path, let link):
            link == path
                ? "\(path) is a link that belongs to another user"
                : "\(path) passes a link that belongs to another user: \(link)"
        case .foreignJournal(let path):
            "\(path) is no journal of SQLite's: it names another file, which SQLite would delete"
        case .otherJournal(let path, let journal, let mismatch, _):
            switch mismatch {
            case .missingDatabase:
                "there is no database \(path), but \(journal) holds pages of one"
            case .damaged: "\(journal) is damaged, so \(path) can't be brought back as a whole"
            default: "\(journal) doesn't fit \(path): \(mismatch.reason)"
            }
        case .plaintext(let path):
            "\(path) is not encrypted"
        case .encrypted(let path):
            "\(path) is encrypted, or not a database"
        case .wrongKey(let path):
            "the key does not open \(path)"
        case .rawKeyAsPassphrase(let path):
            "the key does not open \(path) as a passphrase, but opens it as a raw key"
        case .passphraseAsRawKey(let path):
            "the key does not open \(path) as a raw key, but opens it as a passphrase"
        case .olderFormat(let path, let version):
            "\(path) is in the format of SQLCipher \(version)"
        case .multipleCiphers(let path, let ciphers, _):
            "\(path) is a file of SQLite3 Multiple Ciphers, with \(ciphers)"
        case .otherSettings(let path, let cipher):
            "\(path) has other settings: \(cipher)"
        case .plaintextHeader(let path, nil):
            "\(path) is encrypted after a plaintext header"
        case .plaintextHeader(let path, 0):
            "\(path) has no plaintext header"
        case .plaintextHeader(let path, let size?):
            "\(path) has a plaintext header of \(size) bytes"
        case .wrongKeyOrSalt(let path):
            "the key and the salt do not open \(path)"
        case .damaged(let path, let pages):
            "\(path) is damaged" + Self.describe(pages)
        case .damagedLog(let path, let frame):
            "the write-ahead log of \(path) is damaged in frame \(frame)"
        case .permissionDenied(let path):
            "there is no permission to read \(path)"
        case .readOnly(let path):
            "\(path) can't be written"
        case .readOnlyFolder(let path):
            "the folder of \(path) can't be written"
        case .locked(let path):
            "\(path) is locked by another program"
        case .needsRecovery(let path):
            "\(path) has an unfinished change"
        case .newerFormat(let path):
            "\(path) needs a newer SQLite"
        case .cannotCreate(let path, let reason):
            "\(path) can't be created: \(reason)"
        case .noSQLCipher:
            "this program was linked without SQLCipher"
        case .diskFull(let path):
            "the disk is full, and \(path) can't grow"
        case .inputOutput(let path, let detail):
            "\(path) can't be read or written: \(detail)"
        }
    }

    /// Whether the key doesn't open the file.
    package var isWrongKey: Bool {
        switch self {
        case .wrongKey, .rawKeyAsPassphrase, .passphraseAsRawKey, .wrongKeyOrSalt: true
        default: false
        }
    }

    /// The error of a file of another library; `nil` if it isn't one.
    ///
    /// - Parameter start: The file's first bytes, at least 24.
    package static func multipleCiphers(
        _ start: [UInt8],
        path: String,
        isKeyRight: Bool = false
    ) -> EncryptedDatabaseError? {
        FileBeginning.multipleCiphers(start).map {
            .multipleCiphers(path: path, ciphers: $0, isKeyRight: isKeyRight)
        }
    }

    /// Statements of that library, after its key was set.
    private static let multipleCiphersConversion =
        "  PRAGMA cipher = 'sqlcipher'; PRAGMA legacy = 4; PRAGMA rekey = '…';"

    /// Statements of SQLCipher 3, whose own cipher is AES-256.
    private static let otherCipherConversion = """
          PRAGMA key = '…'; PRAGMA cipher = 'aes-128-cbc';
          ATTACH 'new.db' AS new KEY '…'; SELECT sqlcipher_export('new');
        """

    /// What to do about it.
    public var recoverySuggestion: String? {
        switch self {
        case .noSuchFile:
            "Check the path. A database is only created if the option 'createsFile' is set."
        case .empty:
            "To create a database here, set the option 'createsFile'. Otherwise restore a backup."
        case .isDirectory:
            "Give the path of the database file in it."
        case .notAFile:
            "A database is a regular file. Check the path."
        case .notADatabase:
            "Check the path. If it was a database, it was truncated or overwritten: move it away, and restore a backup."
        case .journalIsNoFile:
            "SQLite uses this name for a journal and would open it. Find out what created it, then remove it."
        case .journalOfAnother:
            """
            SQLite would give it to the database's owner, or write pages of the database into it. If a \
            program of that user has the database open, wait until it is closed. Otherwise, find out what \
            created it, and move it away.
            """
        case .linkOfAnother:
            """
            Others may write to its folder, so it could lead to any file. Find out what created it. If the \
            file that it leads to is meant, give the path of that file.
            """
        case .foreignJournal:
            "Nothing was changed. Find out what created it, and move it away."
        case .otherJournal(_, let journal, .missingDatabase, _):
            """
            A new database in its place would delete them. So none was created, and nothing was \
            changed.
            If the database was moved or renamed, move it back beside \(journal). Salvaging recovers what \
            the log itself holds.
            To restore a backup or to begin with a new database, move \(journal) away first, and keep it: \
            it doesn't fit either.
            """
        case .otherJournal(let path, let journal, let mismatch, _) where mismatch.isOfOwnChange:
            """
            \(mismatch.consequence) So the database was not opened, and nothing was changed.
            \(mismatch.origin)
            Keep a copy of \(path) and \(journal). Salvaging undoes the change as far as that can be done.
            """
        case .otherJournal(let path, let journal, let mismatch, let isSound):
            """
            SQLite would write its pages into the database. So the database was not opened, and nothing \
            was changed.\(Self.state(isSound))
            \(mismatch.origin)
            Keep a copy of \(path) and \(journal). To go on without the changes in \(journal), move it \
            away. Salvaging recovers what is in both.
            """
        case .plaintext:
            "Open it without encryption, or encrypt it first. Check that no program expects it to be encrypted."
        case .encrypted:
            "If it is a database, open it with its key."
        case .wrongKey:
            """
            Either the key is wrong, or the file is not a SQLCipher database, or its first bytes \
            are damaged. These look alike.
            Tried: the given settings, and those of SQLCipher 4, 3, 2 and 1.
            """
        case .rawKeyAsPassphrase:
            "The hexadecimal digits are the key itself. Give them as a raw key."
        case .passphraseAsRawKey:
            "The key is derived from the hexadecimal digits. Give them as a passphrase, in lower case."
        case .olderFormat(_, let version):
            version == CipherSettings.current.compatibility
                ? "The key is right. Open it with these settings."
                : "The key is right. Open it with these settings, or convert it to those of SQLCipher 4."
        case .multipleCiphers(_, _, true):
            """
            The key is right, but SQLCipher can't read the first page. With that library, this gives the file \
            the form of SQLCipher 4:
            \(Self.multipleCiphersConversion)
            """
        case .multipleCiphers:
            """
            SQLCipher can't read it. With that library and its key, this gives the file the form of \
            SQLCipher 4:
            \(Self.multipleCiphersConversion)
            """
        case .otherSettings(_, let cipher):
            switch cipher.obstacle {
            case nil:
                "The key is right. Open it with these settings, or convert it to those of SQLCipher 4."
            case .mask:
                """
                The key is right. SQLCipher keeps the mask of HMACs for all connections of a program, so it \
                isn't set here. Salvaging reads the file, and writes a new one without it.
                """
            case .smallPages:
                """
                The key is right. SQLCipher can't read pages of 512 bytes with HMACs, which leave fewer than \
                the 480 bytes that SQLite needs. SQLCipher 3 wrote such files: salvaging reads them, and \
                writes a new one. What SQLCipher 4 writes with this size is lost.
                """
            case .otherCipher:
                """
                The key is right, and the file isn't damaged. SQLCipher 4 only has AES-256 in CBC mode. \
                SQLCipher 3 can export the file, with the cipher that its program has set:
                \(Self.otherCipherConversion)
                """
            }
        case .plaintextHeader(_, nil):
            """
            Apps for Apple's systems make such files, so it need not be damaged. Open it with the size of \
            the header, usually 32, and with the salt, which its app keeps beside the key.
            """
        case .plaintextHeader(_, 0):
            "It begins with its salt, or isn't a database. Open it without these settings."
        case .plaintextHeader:
            "The key is right. Open it with this size of the header."
        case .wrongKeyOrSalt:
            """
            Either the key or the salt is wrong, or the file is not a SQLCipher database. These look \
            alike.
            Tried: the given settings, and those of SQLCipher 4, 3 and 2 with this header.
            """
        case .damaged:
            "The file is damaged; the key is not the problem. Keep a copy of the file, and restore a backup."
        case .damagedLog:
            """
            SQLite ignores commits from that frame on, and opening the database for writing discards them. So it was not opened, and nothing was changed.
            If the last program wrote with PRAGMA synchronous = NORMAL, a power cut can cause \
            this. To give up those commits, open the database once with that program, which \
            discards them.
            To try to recover them, copy the database and its -wal file first. Salvaging recovers \
            what is in both.
            """
        case .permissionDenied:
            "Check the owner and the mode of the file and of the folders above it. A database should have mode 600."
        case .readOnly:
            "Check the owner and the mode of the file, and whether its disk is mounted for writing."
        case .readOnlyFolder:
            "SQLite keeps a journal beside the file. Check the owner and the mode of the folder."
        case .locked:
            "Close the other program, or wait longer."
        case .needsRecovery:
            "A program was stopped while it wrote. Opening the database for writing undoes the change."
        case .newerFormat:
            "Its pages are intact, but this SQLite can't read their format or schema. Use a release of this program that is built with a newer SQLCipher."
        case .cannotCreate:
            "The folder must exist and be writable."
        case .noSQLCipher:
            "The linker chose another copy of SQLite. Link libsqlcipher.a, as the module CSQLCipher asks for."
        case .diskFull:
            "Free some space and try again. The change was undone."
        case .inputOutput:
            "Check the disk and the system's log."
        }
    }

    /// Whether a database is sound without its journal, as a sentence.
    package static func state(_ isSound: Bool?) -> String {
        switch isSound {
        case true: " Without it, the database is sound."
        case false: " Without it, the database isn't sound either."
        case nil: ""
        }
    }

    private static func describe(_ pages: [Int]) -> String {
        switch pages.count {
        case 0: ""
        case 1: " in page \(pages[0])"
        case 2...8: " in pages " + pages.map(String.init).joined(separator: ", ")
        default: " in \(pages.count) pages or more, page \(pages[0]) among them"
        }
    }
}

extension EncryptedDatabaseError: CodedError {
    /// The error's code for programs, and its exit status.
    public var code: ErrorCode {
        switch self {
        case .noSuchFile: ErrorCode("noSuchFile", .noInput)
        case .empty: ErrorCode("empty", .noInput)
        case .isDirectory: ErrorCode("isDirectory", .noInput)
        case .notAFile: ErrorCode("notAFile", .noInput)
        case .notADatabase: ErrorCode("notADatabase", .noInput)
        case .journalIsNoFile: ErrorCode("journalIsNoFile", .noInput)
        case .journalOfAnother: ErrorCode("journalOfAnother", .noPermission)
        case .linkOfAnother: ErrorCode("linkOfAnother", .noPermission)
        case .foreignJournal: ErrorCode("foreignJournal", .inputOutput)
        case .otherJournal: ErrorCode("otherJournal", .inputOutput)
        case .plaintext: ErrorCode("plaintext", .noPermission)
        case .encrypted: ErrorCode("encrypted", .noPermission)
        case .wrongKey, .rawKeyAsPassphrase, .passphraseAsRawKey, .wrongKeyOrSalt:
            ErrorCode("wrongKey", .noPermission)
        case .olderFormat: ErrorCode("olderFormat", .noPermission)
        case .multipleCiphers: ErrorCode("multipleCiphers", .noInput)
        case .otherSettings: ErrorCode("otherSettings", .noPermission)
        case .plaintextHeader: ErrorCode("plaintextHeader", .noPermission)
        case .damaged: ErrorCode("damaged", .inputOutput)
        case .damagedLog: ErrorCode("damagedLog", .inputOutput)
        case .permissionDenied: ErrorCode("permissionDenied", .noPermission)
        case .readOnly: ErrorCode("readOnly", .noPermission)
        case .readOnlyFolder: ErrorCode("readOnlyFolder", .noPermission)
        case .locked: ErrorCode("locked", .busy)
        case .needsRecovery: ErrorCode("needsRecovery", .inputOutput)
        case .newerFormat: ErrorCode("newerFormat", .inputOutput)
        case .cannotCreate: ErrorCode("cannotCreate", .cannotCreate)
        case .noSQLCipher: ErrorCode("noSQLCipher", .inputOutput)
        case .diskFull: ErrorCode("diskFull", .inputOutput)
        case .inputOutput: ErrorCode("inputOutput", .inputOutput)
        }
    }
}
