import CLibCrypto
import CSQLCipher
import MigrationKitSQLCipher

/// What `--version` prints: the tool's version, and those of the libraries that it runs with.
private struct Versions: Encodable {
    let schemaVersion = JSON.schemaVersion
    let version: String
    let sqlcipher = EncryptedDatabase.cipherVersion ?? "none"
    let sqlite = String(cString: sqlite3_libversion())
    /// Of the library that is loaded, which may be newer than its header.
    let libcrypto = OpenSSL_version(OPENSSL_VERSION).map { String(cString: $0) } ?? "unknown"
}

extension CommandContext {
    /// Prints the versions. The first line for people is the tool's own alone, for scripts.
    func printVersion(json: Bool) throws {
        let versions = Versions(version: version)
        if json { return try printJSON(versions) }
        output(versions.version)
        output(
            "SQLCipher \(versions.sqlcipher), SQLite \(versions.sqlite), \(versions.libcrypto)"
        )
    }
}
