import MigrationKitPages
import MigrationKitCommon
import Foundation
import GRDB
import KeyStore

/// Rewrites a database: encrypted, as plaintext, with another key, or with other settings.
///
/// ```swift
/// try DatabaseConversion.encrypt("/home/me/notes.db", key: key).run()
/// try DatabaseConversion.rekey("/home/me/notes.db", from: old, to: new).run()
/// ```
///
/// Everything is copied into a new file beside the old one, which is opened with the new key and
/// compared with the old one row by row, looked through by SQLite's and SQLCipher's checks, and
/// synchronized to the disk; only then it takes the old one's place, at once. So at every instant,
/// and whatever ends the process, there is one whole file at the path, the old one or the new one.
/// SQLCipher's own `PRAGMA rekey` and `cipher_migrate` can't promise that.
///
/// The database is locked for the whole time: no other program reads or writes it, and programs
/// that have it open must close it first. All connections that this process has to it must be
/// closed.
///
/// What is kept: rows with their rowids, the schema, what `ANALYZE` found, `user_version`,
/// `application_id`, the text's encoding, `auto_vacuum`, WAL mode, and the owner where the process
/// is root. The mode is 0600, or less if it was less. What is not: `schema_version`, and pages that
/// were free.
///
/// The peak of memory is less than 200 megabytes, and a few times the largest single value. No part
/// of an encrypted database is written in the clear, unless that is what was asked for.
public struct DatabaseConversion: Sendable {
    /// The database, as it was named.
    public let path: String

    package let source: DatabaseForm
    package let target: DatabaseForm
    let isUpgrade: Bool
    package var options: Options

    /// Any conversion, from the database's current form to a target.
    ///
    /// - Parameters:
    ///   - path: The database. Links are followed, and stay.
    ///   - source: How it is.
    ///   - target: The form that it gets.
    ///   - options: Where the new file goes, what happens to the old one, how long to wait.
    public init(
        _ path: String,
        from source: DatabaseForm,
        to target: DatabaseForm,
        options: Options = Options()
    ) {
        self.init(path, from: source, to: target, isUpgrade: false, options: options)
    }

    private init(
        _ path: String,
        from source: DatabaseForm,
        to target: DatabaseForm,
        isUpgrade: Bool,
        options: Options
    ) {
        self.path = path
        self.source = source
        self.target = target
        self.isUpgrade = isUpgrade
        self.options = options
    }

    /// Encrypts a plaintext database.
    ///
    /// The old clear text is not on the disk any more as a file, and may still be there otherwise:
    /// in blocks that were freed, on flash memory, in snapshots and backups.
    ///
    /// - Parameters:
    ///   - path: The database. Links are followed, and stay.
    ///   - key: Its key from then on.
    ///   - cipher: How it is encrypted, beside the key.
    ///   - options: Where the new file goes, what happens to the old one, how long to wait.
    public static func encrypt(
        _ path: String,
        key: DatabaseKey,
        cipher: CipherSettings = .current,
        options: Options = Options()
    ) -> DatabaseConversion {
        DatabaseConversion(
            path,
            from: .plaintext(),
            to: .encrypted(key, cipher: cipher),
            options: options
        )
    }

    /// Writes an encrypted database in the clear.
    ///
    /// - Parameters:
    ///   - path: The database. Links are followed, and stay.
    ///   - key: Its key.
    ///   - cipher: How it is encrypted, beside the key.
    ///   - pageSize: Bytes a page of the new file; `nil` for the old one's.
    ///   - options: Where the new file goes, what happens to the old one, how long to wait.
    public static func decrypt(
        _ path: String,
        key: DatabaseKey,
        cipher: CipherSettings = .current,
        pageSize: Int? = nil,
        options: Options = Options()
    ) -> DatabaseConversion {
        DatabaseConversion(
            path,
            from: .encrypted(key, cipher: cipher),
            to: .plaintext(pageSize: pageSize),
            options: options
        )
    }

    /// Gives an encrypted database another key. Passphrase and raw key can follow each other.
    ///
    /// - Parameters:
    ///   - path: The database. Links are followed, and stay.
    ///   - key: Its key so far.
    ///   - newKey: Its key from then on.
    ///   - cipher: How it is encrypted, beside the key.
    ///   - newCipher: How it will be encrypted; `nil` to keep the settings.
    ///   - options: Where the new file goes, what happens to the old one, how long to wait.
    public static func rekey(
        _ path: String,
        from key: DatabaseKey,
        to newKey: DatabaseKey,
        cipher: CipherSettings = .current,
        newCipher: CipherSettings? = nil,
        options: Options = Options()
    ) -> DatabaseConversion {
        DatabaseConversion(
            path,
            from: .encrypted(key, cipher: cipher),
            to: .encrypted(newKey, cipher: newCipher ?? cipher),
            options: options
        )
    }

    /// Brings a database of an older SQLCipher, or with settings of its own, to the current ones.
    ///
    /// - Parameters:
    ///   - path: The database. Links are followed, and stay.
    ///   - key: Its key, which stays.
    ///   - cipher: How it is encrypted, beside the key. Where these are the current settings, those
    ///     of the older versions are tried as well.
    ///   - newCipher: How it will be encrypted.
    ///   - options: Where the new file goes, what happens to the old one, how long to wait.
    public static func upgrade(
        _ path: String,
        key: DatabaseKey,
        cipher: CipherSettings = .current,
        newCipher: CipherSettings = .current,
        options: Options = Options()
    ) -> DatabaseConversion {
        DatabaseConversion(
            path,
            from: .encrypted(key, cipher: cipher),
            to: .encrypted(key, cipher: newCipher),
            isUpgrade: true,
            options: options
        )
    }

    /// Does it, and returns once it is on the disk.
    ///
    /// - Returns: What was done.
    /// - Throws: ``EncryptedDatabaseError``; ``DatabaseConversionError``; a `CancellationError`. The
    ///   database is as it was then, but for a write-ahead log that was moved into it, and nothing
    ///   is left of the new file. After ``DatabaseConversionError/notSynced(path:code:)`` alone the
    ///   new file is in place.
    @discardableResult
    public func run() throws -> ConversionReport {
        let rewrite = try Self.rewrite(path, options: options)
        return try rewrite.underLocks {
            let new = try rewrite.begin()
            defer { new.remove() }
            return try write(new, by: rewrite)
        }
    }
}
