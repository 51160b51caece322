import MigrationKitCommon
import Foundation

/// Why a command can't start.
public enum MigrationCLIError: Error, Equatable, Sendable {
    /// The host can't make schema snapshots.
    case schemaSnapshotNotConfigured

    /// There is no such command; `nearest` was probably meant.
    case unknownCommand(String, nearest: String?)

    /// The migrations create no such table; `nearest` was probably meant.
    case unknownTable(String, nearest: String?)

    /// An argument, or the value of an environment variable, is not UTF-8 text. Contains only its
    /// name, because the value may be a secret.
    case notText(String)

    /// No database was named.
    case noDatabasePath

    /// No key source was named, and there is no terminal to ask on.
    case noKey

    /// No key source was named, but the command needs one for any database.
    case noKeyToConvert

    /// No source of the new key was named, and there is no terminal to ask on.
    case noNewKey

    /// More than one key source was named. Lists their options.
    case severalKeySources([String])

    /// A key was given together with the option that says that the database is plaintext.
    case keyForPlaintext(option: String)

    /// An account was given without its service.
    case accountWithoutService

    /// A collection was given without the service of the item in it.
    case collectionWithoutService

    /// Several migrations begin with the given text.
    case ambiguousMigration(String, candidates: [String])

    /// There is no terminal for a confirmation of `deed`, an infinitive such as `replace the
    /// database`.
    case needsConfirmation(deed: String)

    /// `--adopt` needs a folder of files, but the program has built-in migrations.
    case adoptionWithoutFolder

    /// Migrations are pending in a database that can't be written, so a dry run isn't possible.
    case cannotTryOut(path: String)

    /// Migrations are pending, and `--exit-code` was given.
    case pending([String])

    /// A command's output file can't be written.
    case cannotWrite(path: String, reason: String)
}

extension MigrationCLIError: LocalizedError {
    /// What is wrong, in one line.
    public var errorDescription: String? {
        switch self {
        case .schemaSnapshotNotConfigured:
            "this program was built without schema snapshots"
        case .unknownCommand(let name, _):
            "there is no command '\(name.printable)'"
        case .unknownTable(let name, _):
            "the migrations create no table '\(name.printable)'"
        case .notText(let name):
            "\(name) is not UTF-8 text"
        case .noDatabasePath:
            "no database was given"
        case .noKey, .noKeyToConvert:
            "no key was given for the database"
        case .noNewKey:
            "no new key was given for the database"
        case .severalKeySources(let options):
            "the key is given more than once: \(options.joined(separator: ", "))"
        case .keyForPlaintext(let option):
            "\(option) and --no-encryption contradict each other"
        case .accountWithoutService:
            "--keychain-account needs --keychain-service"
        case .collectionWithoutService:
            "--keychain-collection needs --keychain-service"
        case .ambiguousMigration(let text, let candidates):
            "'\(text)' is ambiguous: it matches \(candidates.count) migrations"
        case .needsConfirmation(let deed):
            "there is no terminal to ask whether to \(deed)"
        case .adoptionWithoutFolder:
            "--adopt needs a folder of migrations; this program's migrations are built in"
        case .cannotTryOut(let path):
            "\(path) can't be written, so a dry run is not possible"
        case .pending(let identifiers):
            "\(identifiers.count) \(identifiers.count == 1 ? "migration is" : "migrations are") pending"
        case .cannotWrite(let path, let reason):
            "\(path) can't be written: \(reason)"
        }
    }

    /// What to do about it.
    public var recoverySuggestion: String? {
        switch self {
        case .schemaSnapshotNotConfigured:
            "Its author can give MigrationCLIHost a 'generateSchemaSnapshot'."
        case .unknownCommand(_, let nearest?):
            "Did you mean '\(nearest)'?"
        case .unknownCommand:
            "--help lists the commands."
        case .unknownTable(_, let nearest?):
            "Did you mean '\(nearest)'?"
        case .unknownTable:
            "'schema-dump' shows the tables."
        case .notText:
            "File names must be UTF-8: rename the file, or create a link with such a name."
        case .noDatabasePath:
            """
            Give it with --db-path, in the environment variable MIGRATIONKIT_DB_PATH, or as \
            db-path in migrationkit.toml.
            """
        case .noKey:
            """
            Give its source: --keychain-service for the desktop's secret store, --password-file \
            for a file or (as '-') standard input, --password-command for a program that prints \
            it. For a plaintext database, use --no-encryption.
            'key find' searches the secret store for the key.
            """
        case .noKeyToConvert:
            """
            Give its source: --keychain-service for the desktop's secret store, --password-file \
            for a file or (as '-') standard input, --password-command for a program that prints \
            it.
            """
        case .noNewKey:
            """
            Give its source: --new-password-file for a file or (as '-') standard input, \
            --new-keychain-service for the desktop's secret store, --new-password-command for a \
            program that prints it.
            """
        case .severalKeySources:
            "Give only one. The environment is used only if no option gives a key."
        case .keyForPlaintext(let option):
            "For a plaintext database leave out \(option). For an encrypted one leave out --no-encryption."
        case .accountWithoutService, .collectionWithoutService:
            "Add --keychain-service with the service under which the key is stored."
        case .ambiguousMigration(_, let candidates):
            """
            Give more of the name:
              \(candidates.prefix(5).joined(separator: "\n  "))
            """ + (candidates.count > 5 ? "\n  …" : "")
        case .cannotTryOut:
            """
            A dry run applies the migrations and undoes them. 'plan' only shows them. Or copy the \
            database with 'backup' and try the copy.
            """
        case .needsConfirmation:
            "To confirm, add --yes."
        case .adoptionWithoutFolder:
            "Leave out --adopt, and give 'baseline' the last migration that the database already "
                + "has."
        case .pending:
            "'migrate' applies what is pending."
        case .cannotWrite:
            "Choose another path with --output, or '-' for standard output."
        }
    }
}

/// A step or its rollback failed.
public struct MigrationStepFailure: Error {
    /// The step's identifier.
    public let identifier: String

    /// Whether it was being rolled back.
    public let isRollback: Bool

    /// How many steps of the same run were committed before it.
    public let committed: Int

    /// In what the step ran, so that what it did is undone or stays.
    public let transaction: Transaction

    /// In what a step ran.
    public enum Transaction: Sendable {
        /// In one transaction, its own or that of the whole run.
        case own
        /// Each of its batches in a transaction.
        case batches
        /// In none.
        case none
    }

    /// What the ledger contains after the error.
    public let ledger: Ledger

    /// What the ledger contains after a step failed in its transaction.
    public enum Ledger: Sendable {
        /// The state before the step.
        case unchanged
        /// The state after the step: the error came after the commit, from releasing a lock or from
        /// the disk.
        case changed
        /// It can't be read.
        case unreadable
    }

    /// Whether the database has tables, but no recorded migration that made them.
    public let wasUnmanaged: Bool

    /// What violated foreign keys before the step, if it failed for a violation; `nil` if nothing did.
    public let violationsBefore: String?

    /// Whether it ran on a copy that is removed.
    public internal(set) var isRehearsal = false

    /// What went wrong.
    public let underlying: any Error
}

extension MigrationCLIError: CodedError {
    /// What programs are given of the error.
    public var code: ErrorCode {
        switch self {
        case .schemaSnapshotNotConfigured: ErrorCode("schemaSnapshotNotConfigured", .usage)
        case .unknownCommand: ErrorCode("unknownCommand", .usage)
        case .unknownTable: ErrorCode("unknownTable", .usage)
        case .notText: ErrorCode("notText", .usage)
        case .noDatabasePath: ErrorCode("noDatabasePath", .usage)
        case .noKey, .noKeyToConvert: ErrorCode("noKey", .usage)
        case .noNewKey: ErrorCode("noNewKey", .usage)
        case .severalKeySources: ErrorCode("severalKeySources", .usage)
        case .keyForPlaintext: ErrorCode("keyForPlaintext", .usage)
        case .accountWithoutService: ErrorCode("accountWithoutService", .usage)
        case .collectionWithoutService: ErrorCode("collectionWithoutService", .usage)
        case .ambiguousMigration: ErrorCode("ambiguousMigration", .usage)
        case .needsConfirmation: ErrorCode("needsConfirmation", .usage)
        case .adoptionWithoutFolder: ErrorCode("adoptionWithoutFolder", .usage)
        case .cannotTryOut: ErrorCode("readOnly", .noPermission)
        case .pending: ErrorCode("pending", .differs)
        case .cannotWrite: ErrorCode("cannotWrite", .cannotCreate)
        }
    }
}
