import CSQLCipher
import MigrationKitCommon
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

    /// Replaces what is unsafe in this engine, on the connections that are opened from now on, an app's
    /// own included. Once is enough.
    package static func guardConnections() {
        let faults = EngineFault.known(sqlite: String(cString: sqlite3_libversion()), cipher: "")
        guard faults.contains(where: { $0.name == "CVE-2025-29087" }) else { return }
        _ = csqlcipher_guard_connections()
    }
}
