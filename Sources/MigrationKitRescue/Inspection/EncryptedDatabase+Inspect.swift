import MigrationKitPages
import KeyStore
import MigrationKitGRDB
import MigrationKitSQLCipher

extension EncryptedDatabase {
    /// Reports what a file is and, with a key, what it contains.
    ///
    /// Neither the file nor anything beside it is changed, and no lock is taken: a folder that can't
    /// be written is enough, and another program may go on writing. A write-ahead log is read as
    /// well. What a rollback journal would undo is not undone: pages of an unfinished change are
    /// seen as they are, and not taken for damage (``FileReport/hasUnfinishedChange``).
    ///
    /// With a key every page's HMAC is checked, which takes some seconds for a gigabyte. Whether the
    /// tables and indexes are in order is left to a verification.
    ///
    /// - Parameters:
    ///   - path: The file. Links are followed.
    ///   - key: The key that may be the file's; a plaintext file needs none.
    ///   - cipher: How the file may be encrypted. The settings of SQLCipher 4, 3, 2 and 1 are tried
    ///     after it. With a raw key, files of 2 are like those of 3, and are reported as 3.
    ///   - countsRows: Whether the tables are listed with their numbers of rows.
    ///   - checksPages: Whether every page is checked, instead of the first and some others.
    /// - Throws: `EncryptedDatabaseError` if there is no file or it can't be read. A wrong key and
    ///   damage are not errors: the report has them.
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
            // What looked damaged may have been in the middle of another program's change.
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
    ///   - key: The key that may be the file's; a plaintext file needs none.
    ///   - cipher: How the file may be encrypted.
    ///   - countsRows: Whether the tables are listed with their numbers of rows.
    ///   - checksPages: Whether every page is checked, instead of the first and some others.
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
