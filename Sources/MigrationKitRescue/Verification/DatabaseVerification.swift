import Foundation
import GRDB
import Glibc
import MigrationKit
import MigrationKitGRDB
import MigrationKitSQLCipher

/// Checks everything that may be wrong with a database: files, pages, tables, rows, ledger.
///
/// ```swift
/// let checks = try DatabaseVerification(
///     "/home/me/notes.db",
///     form: .encrypted(key),
///     runner: runner
/// ).run()
/// for check in checks where !check.ok { print(check.name, check.findings.map(\.text)) }
/// ```
///
/// An asynchronous program runs it in `asyncRun`, which cancels it with the task.
///
/// The checks run in this order, whatever the earlier ones have found:
///
/// - `file_modes`: whether other users can read or write the database, encrypted or not, and its
///   journals, or write its folder (see ``allowsGroup``); and files that a conversion or restore
///   left beside it when it was killed;
/// - `write_ahead_log`: whether the log has commits that SQLite doesn't see because a frame before
///   them is damaged. This is checked before the database is opened, which could discard them;
/// - `open`: whether it can be opened;
/// - `cipher_integrity_check`: the HMAC of every page of an encrypted database, but of those that the
///   log replaces;
/// - the checks of `GRDBMigrationRunner.verificationChecks(in:additionalIndexes:isFull:options:)`.
///
/// Nothing is changed, the log included. A database with a damaged log is locked meanwhile, unless
/// somebody else has it open, and nothing is left beside it.
///
/// If the database can't be written, because of its mode or its medium, everything is checked that
/// only needs reading.
public struct DatabaseVerification: Sendable {
    let path: String
    let form: DatabaseForm?
    let runner: GRDBMigrationRunner?
    let requiredIndexes: [RequiredIndexSpec]
    let open: @Sendable (_ isExclusive: Bool) throws -> any DatabaseWriter

    /// The note that replaces the comparisons with migrations if there is no runner; `nil` for none.
    package var migrationsNote: String?

    /// Whether the database is closed at the end.
    private(set) var closes = false

    /// An observer and a cancellation.
    public var options: VerificationOptions

    /// Whether the group of the database's files and folder may read and write them. Otherwise
    /// `file_modes` reports that.
    public var allowsGroup = false

    /// Prepares the verification of a database that is opened like `EncryptedDatabase` does.
    ///
    /// - Parameters:
    ///   - path: The database. Links are followed.
    ///   - form: Its key and its encryption, or that it is plaintext.
    ///   - runner: Its steps, required indexes and own checks. Without one, the ledger isn't
    ///     checked.
    ///   - requiredIndexes: Indexes that are required in addition to the runner's own.
    ///   - opening: How it is opened, such as the functions that its schema uses. The form
    ///     determines the encryption.
    ///   - options: An observer and a cancellation.
    public init(
        _ path: String,
        form: DatabaseForm,
        runner: GRDBMigrationRunner? = nil,
        requiredIndexes: [RequiredIndexSpec] = [],
        opening: EncryptedDatabase.Options = EncryptedDatabase.Options(),
        options: VerificationOptions = VerificationOptions()
    ) {
        self.path = path
        self.form = form
        self.runner = runner
        self.requiredIndexes = requiredIndexes
        self.options = options
        closes = true
        open = { isExclusive in
            var opening = opening
            opening.cipher = form.cipher
            opening.isExclusive = isExclusive
            opening.purpose = .read
            guard let key = form.key else {
                return try EncryptedDatabase.openPlaintext(path, options: opening)
            }
            return try EncryptedDatabase.open(path, key: key, options: opening)
        }
    }

    /// Prepares the verification of a database that the host opens itself.
    ///
    /// - Parameters:
    ///   - path: The database. Links are followed.
    ///   - form: Its key and its encryption; `nil` if only the host knows them. Then the frames of
    ///     the log are not authenticated, and less is reported about a database that can't be
    ///     opened.
    ///   - runner: Its steps, required indexes and own checks.
    ///   - requiredIndexes: Indexes that are required in addition to the runner's own.
    ///   - options: An observer and a cancellation.
    ///   - open: Opens the database, or returns one that is open. It stays open.
    public init(
        _ path: String,
        form: DatabaseForm?,
        runner: GRDBMigrationRunner? = nil,
        requiredIndexes: [RequiredIndexSpec] = [],
        options: VerificationOptions = VerificationOptions(),
        open: @escaping @Sendable () throws -> any DatabaseWriter
    ) {
        self.path = path
        self.form = form
        self.runner = runner
        self.requiredIndexes = requiredIndexes
        self.options = options
        self.open = { _ in try open() }
    }

    /// Runs the checks.
    ///
    /// - Returns: The outcome of every check that could run, in order. If the database is too
    ///   damaged to be opened, the last one is `open`, with the damage.
    /// - Throws: `EncryptedDatabaseError` if there is no such file, if it can't be opened for
    ///   another reason than damage, such as a wrong key, or if it is locked for longer than the
    ///   connection waits; what `open` throws; a `CancellationError`, which is thrown after
    ///   `cipher_integrity_check` if that is running. The observer has received the checks up to
    ///   then.
    public func run() throws -> [VerificationCheck] {
        try VerificationRun(self).run()
    }
}

// MARK: - File Modes

/// Permissions that expose the database to other users.
struct FileModes {
    private let path: String
    private let allowsGroup: Bool

    /// - Parameter allowsGroup: Whether the files' group may read and write them, too.
    init(_ file: DatabaseFile, allowsGroup: Bool) {
        path = file.resolvedPath
        self.allowsGroup = allowsGroup
    }

    func outcome() throws -> VerificationOutcome {
        var outcome = VerificationOutcome()
        let owner = try FileIdentity.of(path)?.owner
        let refused: mode_t = allowsGroup ? 0o007 : 0o077
        for suffix in [""] + DatabaseFile.journalSuffixes {
            let path = path + suffix
            guard let file = try FileIdentity.of(path) else { continue }
            if file.mode & refused != 0 {
                let verb = file.mode & refused & 0o022 == 0 ? "read" : "written"
                outcome.add(
                    VerificationFinding(
                        "\(path) can be \(verb) by others (mode \(Self.octal(file.mode))): "
                            + "chmod \(allowsGroup ? "o=" : "600") it"
                    )
                )
            }
            if let owner, file.owner != owner {
                outcome.add(
                    VerificationFinding(
                        "\(path) belongs to user \(file.owner), the database to \(owner): "
                            + "chown it"
                    )
                )
            }
        }
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        if let identity = try FileIdentity.of(folder), letsOthersReplace(identity) {
            outcome.add(
                VerificationFinding(
                    "others can put another file in its place, since they can write the folder "
                        + "\(folder) (mode \(Self.octal(identity.mode))): "
                        + "chmod \(allowsGroup ? "o-w" : "go-w") it"
                )
            )
        }
        if outcome.count > 0 { outcome.detail = "other users can access the database" }
        return outcome
    }

    /// Whether users other than the owner can rename files in a folder.
    private func letsOthersReplace(_ folder: FileIdentity) -> Bool {
        // In a folder with the sticky bit, such as /tmp, users can rename only their own files.
        guard folder.mode & UInt32(S_ISVTX) == 0 else { return false }
        guard folder.mode & 0o002 == 0 else { return true }
        guard folder.mode & 0o020 != 0, !allowsGroup else { return false }
        // On many systems, every user has a private group that can write the user's folders.
        let isOwnGroup = getpwuid(folder.owner)?.pointee.pw_gid == folder.group
        return !isOwnGroup
    }

    private static func octal(_ mode: mode_t) -> String {
        let digits = String(mode & 0o7777, radix: 8)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}
