/// How a file is encrypted, beside its key: page size, key derivation, and page authentication.
///
/// SQLCipher doesn't store these settings in the file, so the program that opens it must know them.
/// The defaults depend on the major version (<https://www.zetetic.net/sqlcipher/design/>), and a
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
/// Files with an unencrypted header (`cipher_plaintext_header_size`) and ciphers other than AES-256
/// are not supported.
public struct CipherSettings: Hashable, Sendable {
    /// The hash function of PBKDF2, which derives the key from a passphrase, and from the key
    /// another one that authenticates pages.
    public enum KDFAlgorithm: String, CaseIterable, Sendable {
        case sha1, sha256, sha512
    }

    /// The hash function of the HMAC at the end of each page.
    public enum HMACAlgorithm: String, CaseIterable, Sendable {
        /// Pages have no HMAC, so changed content isn't detected.
        case off
        case sha1, sha256, sha512
    }

    /// The major version of SQLCipher, 1 to 4, whose defaults apply to everything that isn't given.
    public let compatibility: Int

    /// The size of a page in bytes, a power of two from 1024 to 65536.
    public let pageSize: Int

    /// How many iterations PBKDF2 makes to derive a key from a passphrase. Ignored for a raw key.
    public let kdfIterations: Int

    /// The hash function of PBKDF2.
    public let kdfAlgorithm: KDFAlgorithm

    /// The hash function of each page's HMAC.
    public let hmacAlgorithm: HMACAlgorithm

    /// Creates settings: the defaults of a version of SQLCipher, except where a parameter is given.
    ///
    /// - Parameters:
    ///   - compatibility: The major version of SQLCipher, 1 to 4.
    ///   - pageSize: The page size in bytes: a power of two from 1024 to 65536.
    ///   - kdfIterations: How many iterations PBKDF2 makes, from 1 to 2,147,483,647.
    ///   - kdfAlgorithm: The hash function of PBKDF2.
    ///   - hmacAlgorithm: The hash function of each page's HMAC.
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
        // SQLite also allows 512 bytes, but needs 480 of them itself, which leaves too few for
        // SQLCipher. <https://www.sqlite.org/fileformat.html#reserved_bytes_per_page>
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

    /// Whether these are exactly the defaults of a version.
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
