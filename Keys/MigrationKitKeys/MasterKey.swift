import CLibCrypto
import FoundationEssentials

/// One key from which the keys of all stores are derived, by HKDF with SHA-256 (RFC 5869).
///
/// A store's key is a raw key of 32 bytes:
///
/// | part of HKDF | what it is here |
/// | --- | --- |
/// | input keying material | the 32 bytes of the master key |
/// | salt | the 24 ASCII bytes `migrationkit.store-key/1` |
/// | info | the store's name in UTF-8, byte for byte as it was given |
/// | length | 32 bytes |
///
/// OpenSSL's command computes the same:
///
/// ```sh
/// openssl kdf -keylen 32 -kdfopt digest:SHA256 -kdfopt hexkey:MASTER \
///   -kdfopt salt:migrationkit.store-key/1 -kdfopt info:NAME HKDF
/// ```
///
/// Who has the master key has every store. A store's key gives away neither it nor another's.
/// <https://www.rfc-editor.org/rfc/rfc5869>
public struct MasterKey: StoreKeys {
    /// The salt of the derivation. Another one would be another version.
    static let salt = "migrationkit.store-key/1"

    private let secret: Secret

    /// - Parameter digits: 64 hexadecimal digits, from 32 random bytes (`openssl rand -hex 32`). A
    ///   passphrase can't be one: this derivation is quick.
    /// - Throws: ``KeySourceError/unusableMasterKey(count:)``.
    public init(hexadecimal digits: Secret) throws {
        guard digits.count == 64, let bytes = Hexadecimal.decoded(digits) else {
            throw KeySourceError.unusableMasterKey(count: digits.count)
        }
        secret = bytes
    }

    /// - Parameter path: The file with the 64 hexadecimal digits.
    /// - Throws: ``KeySourceError``.
    public init(file path: String) throws {
        try self.init(hexadecimal: KeySource.file(path: path).secretOfFile(.mounted))
    }

    /// - Throws: ``KeySourceError/unusableName(_:)`` if the name is empty.
    public func key(ofStore name: String) throws -> DatabaseKey {
        guard !name.isEmpty else { throw KeySourceError.unusableName(name) }
        return try .rawKey(
            bytes: HKDF.derive(
                from: secret,
                salt: Array(Self.salt.utf8),
                info: Array(name.utf8),
                count: 32
            )
        )
    }
}

/// HKDF with SHA-256. <https://www.rfc-editor.org/rfc/rfc5869>
package enum HKDF {
    /// - Parameters:
    ///   - secret: The input keying material.
    ///   - salt: The salt, which is no secret.
    ///   - info: What the key is for.
    ///   - count: How many bytes are derived, at most 8160.
    package static func derive(
        from secret: Secret,
        salt: [UInt8],
        info: [UInt8],
        count: Int
    ) throws -> Secret {
        try Secret(capacity: count) { memory in
            let isDone = secret.withUnsafeBytes { key in
                clibcrypto_hkdf_sha256(
                    key.baseAddress,
                    key.count,
                    salt,
                    salt.count,
                    info,
                    info.count,
                    memory.baseAddress,
                    count
                )
            }
            guard isDone == 1 else { throw KeySourceError.noDerivation }
            return count
        }
    }
}
