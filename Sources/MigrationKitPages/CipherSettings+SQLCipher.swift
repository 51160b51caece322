import CLibCrypto
import Foundation

extension CipherSettings {
    /// The key's size: AES-256.
    static let keyCount = 32

    /// The size of the salt: the file's first bytes, which aren't encrypted.
    package static let saltCount = 16

    /// The statements to run on a connection after its key is set and before its first page is
    /// read. The version comes first, because it sets everything else.
    ///
    /// <https://www.zetetic.net/sqlcipher/sqlcipher-api/#cipher_compatibility>
    package var statements: [String] {
        // Set even if it is the default: the default is process-wide, and anybody may have changed
        // it.
        let version = "PRAGMA cipher_compatibility = \(compatibility)"
        guard !isVersion else { return [version] }
        let hmac = (hmacAlgorithm == .off ? .sha512 : hmacAlgorithm).rawValue.uppercased()
        return [
            version,
            "PRAGMA kdf_iter = \(kdfIterations)",
            "PRAGMA cipher_kdf_algorithm = PBKDF2_HMAC_\(kdfAlgorithm.rawValue.uppercased())",
            "PRAGMA cipher_hmac_algorithm = HMAC_\(hmac)",
            "PRAGMA cipher_use_hmac = \(hmacAlgorithm == .off ? "OFF" : "ON")",
            "PRAGMA cipher_page_size = \(pageSize)",
        ]
    }

    /// The bytes at the end of each page that SQLite doesn't use: initialization vector and HMAC, in
    /// blocks of the cipher.
    package var reservedCount: Int { (Self.vectorCount + hmacAlgorithm.count + 15) / 16 * 16 }

    /// One block of AES.
    static let vectorCount = 16
}

extension CipherSettings.HMACAlgorithm {
    /// The bytes of an HMAC.
    package var count: Int {
        switch self {
        case .off: 0
        case .sha1: 20
        case .sha256: 32
        case .sha512: 64
        }
    }

    /// The hash function of OpenSSL; `nil` if there is no HMAC.
    package var digest: OpaquePointer? {
        switch self {
        case .off: nil
        case .sha1: EVP_sha1()
        case .sha256: EVP_sha256()
        case .sha512: EVP_sha512()
        }
    }
}

extension CipherSettings.KDFAlgorithm {
    /// The hash function of OpenSSL.
    private var digest: OpaquePointer? {
        switch self {
        case .sha1: EVP_sha1()
        case .sha256: EVP_sha256()
        case .sha512: EVP_sha512()
        }
    }

    /// Derives a key with PBKDF2 from a passphrase or another key.
    ///
    /// - Parameter output: Receives ``CipherSettings/keyCount`` bytes at its beginning.
    /// - Throws: A `CocoaError` if libcrypto fails.
    package func derive(
        from bytes: UnsafeRawBufferPointer,
        salt: [UInt8],
        iterations: Int,
        into output: UnsafeMutableRawBufferPointer
    ) throws {
        // <https://docs.openssl.org/3.0/man3/PKCS5_PBKDF2_HMAC/>
        let code = PKCS5_PBKDF2_HMAC(
            bytes.baseAddress,
            Int32(bytes.count),
            salt,
            Int32(salt.count),
            Int32(iterations),
            digest,
            Int32(CipherSettings.keyCount),
            output.baseAddress
        )
        guard code == 1 else { throw CocoaError(.featureUnsupported) }
    }
}
