import CLibCrypto
import MigrationKitSQLCipher

/// What `--version` prints: the tool's version, and those of the libraries that it runs with.
private struct Versions: Encodable {
    let version: String
    let sqlcipher = EncryptedDatabase.engine.cipherVersion
    let sqlite = EncryptedDatabase.engine.sqliteVersion
    let faults = EncryptedDatabase.engine.faults
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
        guard !versions.faults.isEmpty else { return }
        output("Known faults of this engine:")
        for fault in versions.faults {
            let fix = fault.fixedIn.map { "; mended in \($0)" } ?? ""
            let text = "\(fault.name): \(fault.effect)\(fix). Here: \(fault.remedy)."
            for (index, line) in text[...].wrapped(to: 76).enumerated() {
                output((index == 0 ? "  - " : "    ") + line)
            }
        }
    }
}
