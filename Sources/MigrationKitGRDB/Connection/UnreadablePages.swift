import GRDB

extension Database {
    /// Throws if SQLCipher came to a page that it can't authenticate, so that nothing that was read
    /// counts.
    ///
    /// Up to 4.18, it returns zeros for that page, and an error for the next one of the same
    /// transaction. From 4.19 on, it returns zeros for all that it reads on this connection afterwards,
    /// and SQLite takes some of them for content.
    /// <https://www.zetetic.net/sqlcipher/sqlcipher-api/#cipher_status>
    ///
    /// - Throws: A `DatabaseError`, `SQLITE_CORRUPT` from 4.19 on.
    package func checkPagesRead() throws {
        guard try !hasUnreadablePages else { throw DatabaseError.unreadablePage }
        clearSchemaCache()
        try execute(sql: "SELECT count(*) FROM main.sqlite_master")
    }

    /// Whether SQLCipher 4.19 or later came to a page that it can't authenticate.
    package var hasUnreadablePages: Bool {
        get throws {
            // Without a key, the status is 0 as well.
            try String.fetchOne(self, sql: "PRAGMA main.cipher_status") == "0"
                && String.fetchOne(self, sql: "PRAGMA main.cipher_salt") != nil
        }
    }
}

extension DatabaseError {
    /// A page can't be authenticated.
    static let unreadablePage = DatabaseError(
        resultCode: .SQLITE_CORRUPT,
        message: "a page can't be read"
    )

    package var isUnreadablePage: Bool {
        resultCode == .SQLITE_CORRUPT && message == Self.unreadablePage.message
    }
}
