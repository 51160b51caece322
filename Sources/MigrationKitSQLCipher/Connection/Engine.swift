import CSQLCipher
import GRDB
import MigrationKitCommon
import MigrationKitGRDB
import MigrationKitPages

extension EncryptedDatabase {
    /// The SQLCipher that this program is linked with, and what is known to be wrong with it. An app
    /// can log that at launch.
    public static let engine = Engine()

    /// SQLCipher, and the SQLite in it.
    public struct Engine: Sendable {
        /// The version of SQLCipher, such as `4.6.1 community`; empty if it is plain SQLite.
        public let cipherVersion: String

        /// The version of the SQLite that SQLCipher is built on, such as `3.46.1`.
        public let sqliteVersion: String

        /// The known faults of these versions.
        public let faults: [EngineFault]

        fileprivate init() {
            let connection = try? CipherConnection(immutable: "/dev/null")
            cipherVersion = connection?.column("PRAGMA cipher_version", limit: 1).values.first ?? ""
            sqliteVersion = String(cString: sqlite3_libversion())
            faults = EngineFault.known(sqlite: sqliteVersion, cipher: cipherVersion)
        }
    }

    /// The names of the faults that SQLite's version alone tells, for which nothing is opened.
    fileprivate static let faults = Set(
        EngineFault.known(sqlite: String(cString: sqlite3_libversion()), cipher: "").map(\.name)
    )

    /// Replaces what is unsafe in this engine, on the connections that are opened from now on, an app's
    /// own included. Once is enough.
    ///
    /// - Parameter limitsMemory: Whether databases in memory run SQL of strangers.
    package static func guardConnections(limitsMemory: Bool = false) {
        if faults.contains("CVE-2025-29087") { _ = csqlcipher_guard_connections() }
        if limitsMemory, faults.contains("CVE-2025-6965") {
            _ = csqlcipher_limit_columns_in_memory()
        }
    }
}

extension Database {
    /// Reads the schema for the first time, which proves the key, and guards against the faults of this
    /// engine.
    ///
    /// - Parameter onlyReads: Whether no statement will make a table.
    /// - Throws: ``EncryptedDatabaseError/newerFormat(path:)`` if views of the file may overwrite memory.
    func readSchemaGuarded(onlyReads: Bool) throws {
        if EncryptedDatabase.faults.contains("wal-reset") {
            csqlcipher_checkpoint_under_lock(sqliteConnection)
        }
        func read() throws { _ = try Int.fetchOne(self, sql: "SELECT count(*) FROM sqlite_schema") }
        guard EncryptedDatabase.faults.contains("CVE-2025-6965") else { return try read() }
        let few = Int32(CSQLCIPHER_MOST_COLUMNS)
        let most = sqlite3_limit(sqliteConnection, SQLITE_LIMIT_COLUMN, few)
        var isWide = false
        do {
            try read()
        } catch let error as DatabaseError
            where error.message?.contains("too many columns") == true
        {
            isWide = true
        }
        if isWide || !onlyReads { sqlite3_limit(sqliteConnection, SQLITE_LIMIT_COLUMN, most) }
        guard isWide else { return }
        try read()
        // A view has to name more columns than that before a join of 64 has too many.
        let views = try String.fetchAll(
            self,
            sql: "SELECT sql FROM sqlite_schema WHERE type = 'view'"
        )
        let names = views.map { SQLTokens($0).tokens.count(where: \.isName) }.reduce(0, +)
        guard names <= few else {
            throw EncryptedDatabaseError.newerFormat(path: filePath ?? "the database")
        }
    }
}
