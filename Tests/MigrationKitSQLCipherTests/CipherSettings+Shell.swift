import Foundation
import MigrationKitSQLCipher

extension CipherSettings {
    /// The settings in SQL for the `sqlcipher` shell, spelled without our own code for it.
    var pragmas: String {
        let hmac = hmacAlgorithm == .off ? "sha1" : hmacAlgorithm.rawValue
        return """
            PRAGMA kdf_iter = \(kdfIterations);
            PRAGMA cipher_kdf_algorithm = PBKDF2_HMAC_\(kdfAlgorithm.rawValue.uppercased());
            PRAGMA cipher_hmac_algorithm = HMAC_\(hmac.uppercased());
            PRAGMA cipher_use_hmac = \(hmacAlgorithm == .off ? 0 : 1);
            PRAGMA cipher_page_size = \(pageSize);

            """ + header
    }

    private var header: String {
        guard plaintextHeaderSize > 0 else { return "" }
        let salt = salt.map { bytes in bytes.map { String(format: "%02x", $0) }.joined() }
        return "PRAGMA cipher_plaintext_header_size = \(plaintextHeaderSize);\n"
            + (salt.map { "PRAGMA cipher_salt = \"x'\($0)'\";\n" } ?? "")
    }
}
