/// How a file is encrypted, beside its key: page size, key derivation, page authentication.
///
/// SQLCipher doesn't store them in the file, so the program that opens it must know them. The
/// defaults of the major versions differ (<https://www.zetetic.net/sqlcipher/design/>), and a
/// program may have chosen its own:
///
/// | version | page size | key derivation | iterations | page authentication |
/// | --- | --- | --- | --- | --- |
/// | 4 | 4096 | PBKDF2-HMAC-SHA512 | 256,000 | HMAC-SHA512 |
/// | 3 | 1024 | PBKDF2-HMAC-SHA1 | 64,000 | HMAC-SHA1 |
/// | 2 | 1024 | PBKDF2-HMAC-SHA1 | 4,000 | HMAC-SHA1 |
/// | 1 | 1024 | PBKDF2-HMAC-SHA1 | 4,000 | none |
///
/// ```swift
/// let settings = try CipherSettings(compatibility: 3, kdfIterations: 100_000)
/// let database = try EncryptedDatabase.open(path, key: key, options: .init(cipher: settings))
/// ```
///
/// Files with a header in the clear (`cipher_plaintext_header_size`) and ciphers other than AES-256
/// are not supported.
public struct CipherSettings: Hashable, Sendable {
    /// The hash function under PBKDF2, which makes the key of a passphrase, and of the key the one
    /// that authenticates pages.
    public enum KDFAlgorithm: String, CaseIterable, Sendable {
        case sha1, sha256, sha512
    }

    /// The hash function under the HMAC that each page ends with.
    public enum HMACAlgorithm: String, CaseIterable, Sendable {
        /// Pages have no HMAC: that content was changed by somebody, or by the disk, isn't noticed.
        case off
        case sha1, sha256, sha512
    }

    /// The major version of SQLCipher, 1 to 4, whose defaults stand for what was not given.
    public let compatibility: Int

    /// The size of a page in bytes, a power of two from 1024 to 65536.
    public let pageSize: Int

    /// How often PBKDF2 iterates to make a key of a passphrase. Without meaning for a raw key.
    public let kdfIterations: Int

    /// The hash function under PBKDF2.
    public let kdfAlgorithm: KDFAlgorithm

    /// The hash function under the HMAC of each page.
    public let hmacAlgorithm: HMACAlgorithm

    /// The settings of a version of SQLCipher, or others where a parameter is given.
    ///
    /// - Parameters:
    ///   - compatibility: The major version of SQLCipher, 1 to 4.
    ///   - pageSize: Bytes a page: a power of two from 1024 to 65536.
    ///   - kdfIterations: How often PBKDF2 iterates; from 1 to 2,147,483,647.
    ///   - kdfAlgorithm: The hash function under PBKDF2.
    ///   - hmacAlgorithm: The hash function under the HMAC of each page.
    /// - Throws: ``CipherSettingsError`` for a value out of range.
    public init(
        compatibility: Int = 4,
        pageSize: Int? = nil,
        kdfIterations: Int? = nil,
        kdfAlgorithm: KDFAlgorithm? = nil,
        hmacAlgorithm: HMACAlgorithm? = nil
    ) throws(CipherSettingsError) {
        let defaults = try Self.sqlCipher(compatibility)
        self.init(
            compatibility: compatibility,
            pageSize: pageSize ?? defaults.pageSize,
            kdfIterations: kdfIterations ?? defaults.kdfIterations,
            kdfAlgorithm: kdfAlgorithm ?? defaults.kdfAlgorithm,
            hmacAlgorithm: hmacAlgorithm ?? defaults.hmacAlgorithm
        )
        // SQLite also knows 512 bytes, but wants 480 of them for itself, which leaves SQLCipher too
        // little. <https://www.sqlite.org/fileformat.html#reserved_bytes_per_page>
        guard (1024...65536).contains(self.pageSize), self.pageSize.nonzeroBitCount == 1 else {
            throw .pageSize(self.pageSize)
        }
        guard (1...Int(Int32.max)).contains(self.kdfIterations) else {
            throw .kdfIterations(self.kdfIterations)
        }
    }

    /// The defaults of a major version of SQLCipher.
    ///
    /// - Parameter version: 1 to 4.
    /// - Throws: ``CipherSettingsError/compatibility(_:)``.
    public static func sqlCipher(_ version: Int) throws(CipherSettingsError) -> CipherSettings {
        guard let settings = versions.first(where: { $0.compatibility == version }) else {
            throw .compatibility(version)
        }
        return settings
    }

    /// The defaults of the current major version, 4.
    public static let current = CipherSettings(
        compatibility: 4,
        pageSize: 4096,
        kdfIterations: 256_000,
        kdfAlgorithm: .sha512,
        hmacAlgorithm: .sha512
    )

    /// The defaults of every major version, the newest first.
    public static let versions: [CipherSettings] = [
        current,
        .sha1(compatibility: 3, kdfIterations: 64_000, hmacAlgorithm: .sha1),
        .sha1(compatibility: 2, kdfIterations: 4_000, hmacAlgorithm: .sha1),
        .sha1(compatibility: 1, kdfIterations: 4_000, hmacAlgorithm: .off),
    ]

    /// Whether these are the defaults of a version, with nothing of their own.
    public var isVersion: Bool { Self.versions.contains(self) }

    private static func sha1(
        compatibility: Int,
        kdfIterations: Int,
        hmacAlgorithm: HMACAlgorithm
    ) -> CipherSettings {
        CipherSettings(
            compatibility: compatibility,
            pageSize: 1024,
            kdfIterations: kdfIterations,
            kdfAlgorithm: .sha1,
            hmacAlgorithm: hmacAlgorithm
        )
    }

    private init(
        compatibility: Int,
        pageSize: Int,
        kdfIterations: Int,
        kdfAlgorithm: KDFAlgorithm,
        hmacAlgorithm: HMACAlgorithm
    ) {
        self.compatibility = compatibility
        self.pageSize = pageSize
        self.kdfIterations = kdfIterations
        self.kdfAlgorithm = kdfAlgorithm
        self.hmacAlgorithm = hmacAlgorithm
    }
}

extension CipherSettings: CustomStringConvertible {
    /// One line, such as `4096-byte pages, PBKDF2-HMAC-SHA512 256000 times, HMAC-SHA512`.
    public var description: String {
        let pages =
            hmacAlgorithm == .off ? "no HMAC" : "HMAC-\(hmacAlgorithm.rawValue.uppercased())"
        return """
            \(pageSize)-byte pages, PBKDF2-HMAC-\(kdfAlgorithm.rawValue.uppercased()) \
            \(kdfIterations) times, \(pages)
            """
    }
}
