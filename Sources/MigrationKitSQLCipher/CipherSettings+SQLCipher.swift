import CSQLCipher

extension CipherSettings {
    /// AES-256.
    static let keyCount = 32

    /// The file's first bytes, in the clear.
    static let saltCount = 16

    /// What a connection is told after its key and before its first page. The version comes first,
    /// since it sets everything.
    ///
    /// <https://www.zetetic.net/sqlcipher/sqlcipher-api/#cipher_compatibility>
    ///
    /// - Parameter schema: The name of an attached database, as it stands in SQL; `nil` for the main
    ///   one.
    func statements(schema: String? = nil) -> [String] {
        let prefix = "PRAGMA " + (schema.map { "\($0)." } ?? "")
        // Said even where it is the default, which is process-wide and anybody's to change.
        let version = prefix + "cipher_compatibility = \(compatibility)"
        guard !isVersion else { return [version] }
        let hmac = (hmacAlgorithm == .off ? .sha512 : hmacAlgorithm).rawValue.uppercased()
        return [
            version,
            prefix + "kdf_iter = \(kdfIterations)",
            prefix + "cipher_kdf_algorithm = PBKDF2_HMAC_\(kdfAlgorithm.rawValue.uppercased())",
            prefix + "cipher_hmac_algorithm = HMAC_\(hmac)",
            prefix + "cipher_use_hmac = \(hmacAlgorithm == .off ? "OFF" : "ON")",
            prefix + "cipher_page_size = \(pageSize)",
        ]
    }

    /// The bytes at the end of each page that SQLite doesn't use: initialization vector and HMAC, in
    /// blocks of the cipher.
    var reservedCount: Int { (Self.vectorCount + hmacAlgorithm.count + 15) / 16 * 16 }

    /// One block of AES.
    static let vectorCount = 16
}

extension CipherSettings.HMACAlgorithm {
    /// The bytes of an HMAC.
    var count: Int {
        switch self {
        case .off: 0
        case .sha1: 20
        case .sha256: 32
        case .sha512: 64
        }
    }

    /// The hash function of OpenSSL; `nil` if there is no HMAC.
    var digest: OpaquePointer? {
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
    var digest: OpaquePointer? {
        switch self {
        case .sha1: EVP_sha1()
        case .sha256: EVP_sha256()
        case .sha512: EVP_sha512()
        }
    }
}
