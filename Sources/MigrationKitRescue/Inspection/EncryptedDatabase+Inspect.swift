import MigrationKitPages
import KeyStore
import MigrationKitGRDB
import MigrationKitSQLCipher

extension EncryptedDatabase {
    /// Reports what a file is and, with a key, what it contains.
    ///
    /// This changes nothing and takes no lock: the folder may be read-only, and another program may
    /// write meanwhile. A write-ahead log is read, too. A rollback journal is not applied: pages of
    /// an unfinished change are shown as they are, and not reported as damage
    /// (``FileReport/hasUnfinishedChange``).
    ///
    /// With a key, every page's HMAC is checked, which takes some seconds for a gigabyte. Tables
    /// and indexes are only checked by a verification.
    ///
    /// - Parameters:
    ///   - path: The file. Links are followed.
    ///   - key: The key that may be the file's. A plaintext file needs none.
    ///   - cipher: How the file may be encrypted. The settings of SQLCipher 4, 3, 2 and 1 are also
    ///     tried. With a raw key, files of version 2 look like those of version 3, and are reported
    ///     as 3.
    ///   - countsRows: Whether the tables are listed with their numbers of rows.
    ///   - checksPages: Whether to check every page, instead of the first and some others.
    /// - Throws: `EncryptedDatabaseError` if there is no file or it can't be read. A wrong key and
    ///   damage are not errors: the report contains them.
    public static func inspect(
        _ path: String,
        key: DatabaseKey? = nil,
        cipher: CipherSettings = .current,
        countsRows: Bool = false,
        checksPages: Bool = true
    ) throws -> FileReport {
        let candidates = [cipher] + CipherSettings.versions.filter { $0 != cipher }
        let file = DatabaseFile(path)
        var stamp = try file.stamp
        for attempt in 1... {
            let report = try ReportWriter(
                file: file,
                key: key,
                candidates: candidates,
                countsRows: countsRows,
                checksPages: checksPages
            ).report()
            // What looks damaged may have been another program's unfinished write.
            let isSound = report.damage == nil && report.key != .wrong
            let current = try file.stamp
            if isSound || attempt == 3 || current == stamp { return report }
            stamp = current
        }
        preconditionFailure("the third attempt returns")
    }

    /// The asynchronous form of ``inspect(_:key:cipher:countsRows:checksPages:)``.
    ///
    /// - Parameters:
    ///   - path: The file. Links are followed.
    ///   - key: The key that may be the file's. A plaintext file needs none.
    ///   - cipher: How the file may be encrypted.
    ///   - countsRows: Whether the tables are listed with their numbers of rows.
    ///   - checksPages: Whether to check every page, instead of the first and some others.
    /// - Returns: What the file is.
    /// - Throws: What the blocking form throws; a `CancellationError`.
    public static func asyncInspect(
        _ path: String,
        key: DatabaseKey? = nil,
        cipher: CipherSettings = .current,
        countsRows: Bool = false,
        checksPages: Bool = true
    ) async throws -> FileReport {
        try Task.checkCancellation()
        return try await blocking {
            try inspect(
                path,
                key: key,
                cipher: cipher,
                countsRows: countsRows,
                checksPages: checksPages
            )
        }
    }
}
