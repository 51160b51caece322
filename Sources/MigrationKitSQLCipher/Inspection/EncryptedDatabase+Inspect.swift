import KeyStore

extension EncryptedDatabase {
    /// Throws if the write-ahead log of a database holds commits that SQLite doesn't see, because a
    /// frame before them was changed since it was written. Opening such a database loses nothing;
    /// the first change that is made in it overwrites them.
    ///
    /// A transaction that a loss of power has stopped is not taken for one. No key is needed, nothing
    /// but the log is read, and nothing is changed. Without a file or a log there is nothing to lose.
    ///
    /// - Parameter path: The database. Links are followed.
    /// - Throws: ``EncryptedDatabaseError/damagedLog(path:frame:)``; other
    ///   ``EncryptedDatabaseError`` if the log can't be read.
    public static func checkLog(_ path: String) throws {
        let file = DatabaseFile(path)
        // With an empty file SQLite removes a log, which is another database's.
        guard let size = try file.size(), size > 0 else { return }
        try file.checkLog()
    }

    /// Tells what a file is, and with a key what is in it.
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
    ///     after it. With a raw key, files of 2 are like those of 3, and told as 3.
    ///   - countsRows: Whether the tables are listed with their numbers of rows.
    ///   - checksPages: Whether every page is checked, instead of the first and some others.
    /// - Throws: ``EncryptedDatabaseError`` if there is no file or it can't be read. A wrong key and
    ///   damage are no errors but told in the report.
    public static func inspect(
        _ path: String,
        key: DatabaseKey? = nil,
        cipher: CipherSettings = .current,
        countsRows: Bool = false,
        checksPages: Bool = true
    ) throws -> FileReport {
        let candidates = [cipher] + CipherSettings.versions.filter { $0 != cipher }
        let file = DatabaseFile(path)
        var stamp = file.stamp
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
            let current = file.stamp
            if isSound || attempt == 3 || current == stamp { return report }
            stamp = current
        }
        preconditionFailure("the third attempt returns")
    }
}
