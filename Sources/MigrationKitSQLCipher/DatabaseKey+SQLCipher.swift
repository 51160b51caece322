import CSQLCipher
import Foundation
import KeyStore

extension DatabaseKey {
    /// The bytes that `sqlite3_key` wants: a passphrase as it is, a raw key as `x'...'`.
    /// <https://www.zetetic.net/sqlcipher/sqlcipher-api/#PRAGMA_key>
    func spelled() -> Secret {
        guard form == .rawKey else { return secret }
        let digits = hexadecimal()
        return Secret(capacity: digits.count + 3) { text in
            text[0] = UInt8(ascii: "x")
            text[1] = UInt8(ascii: "'")
            digits.withUnsafeBytes {
                UnsafeMutableRawBufferPointer(rebasing: text[2...]).copyMemory(from: $0)
            }
            text[digits.count + 2] = UInt8(ascii: "'")
            return digits.count + 3
        }
    }

    /// The raw key, with its salt, that SQLCipher 4 derives from a passphrase.
    ///
    /// The derivation costs a fifth of a second, on purpose. Done here once, it is not done again
    /// by each connection. Nothing in the file changes by it: a file made so opens with the
    /// passphrase, and the other way round. A raw key is returned as it is.
    ///
    /// - Parameter salt: The file's first 16 bytes, or as many random ones for a new file.
    func derived(salt: [UInt8]) throws -> DatabaseKey {
        guard form == .passphrase else { return self }
        let raw = try secret.withUnsafeBytes { passphrase in
            try Secret(capacity: SQLCipherFormat.keyCount + salt.count) { output in
                let code = PKCS5_PBKDF2_HMAC(
                    passphrase.baseAddress,
                    Int32(passphrase.count),
                    salt,
                    Int32(salt.count),
                    SQLCipherFormat.derivationRounds,
                    EVP_sha512(),
                    Int32(SQLCipherFormat.keyCount),
                    output.baseAddress
                )
                guard code == 1 else { throw CocoaError(.featureUnsupported) }
                for (index, byte) in salt.enumerated() {
                    output[SQLCipherFormat.keyCount + index] = byte
                }
                return SQLCipherFormat.keyCount + salt.count
            }
        }
        return try .rawKey(bytes: raw)
    }
}

/// What SQLCipher 4 writes by default. <https://www.zetetic.net/sqlcipher/design/>
enum SQLCipherFormat {
    /// AES-256.
    static let keyCount = 32
    /// The file's first bytes, in the clear.
    static let saltCount = 16
    static let pageSize = 4096
    /// PBKDF2 with HMAC-SHA512.
    static let derivationRounds: Int32 = 256_000
}
