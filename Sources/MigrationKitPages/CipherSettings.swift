import CLibCrypto
import Foundation
import KeyStore
import MigrationKitCommon

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
    /// The hash function of PBKDF2, which derives the encryption key from a passphrase, and the
    /// HMAC key from the encryption key.
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

/// A setting that no encrypted file can have.
public enum CipherSettingsError: Error, Equatable, Sendable {
    /// There is no such major version of SQLCipher.
    case compatibility(Int)

    /// No encrypted page has this size in bytes.
    case pageSize(Int)

    /// PBKDF2 can't make this many iterations.
    case kdfIterations(Int)
}

extension CipherSettingsError: LocalizedError {
    /// What went wrong, in one line.
    public var errorDescription: String? {
        switch self {
        case .compatibility(let version): "there is no SQLCipher \(version)"
        case .pageSize(let size): "no encrypted database has pages of \(size) bytes"
        case .kdfIterations(let count): "a key can't be derived with \(count) iterations"
        }
    }

    /// What to do about it.
    public var recoverySuggestion: String? {
        switch self {
        case .compatibility: "Name a major version from 1 to 4."
        case .pageSize: "Give a power of two from 1024 to 65536."
        case .kdfIterations: "Give a number from 1 to \(Int32.max)."
        }
    }
}

extension CipherSettingsError: CodedError {
    /// The error's code for programs, and its exit status.
    public var code: ErrorCode { ErrorCode("unknownCipherSettings", .usage) }
}

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

// MARK: - Keys for SQLCipher

extension DatabaseKey {
    /// The bytes for `sqlite3_key`: a passphrase unchanged, a raw key as `x'...'`.
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

    /// The salt that a raw key contains, for the first 16 bytes of a new file; `nil` if it contains
    /// none. <https://www.zetetic.net/sqlcipher/sqlcipher-api/#PRAGMA_key>
    package var salt: [UInt8]? {
        guard form == .rawKey, secret.count > CipherSettings.keyCount else { return nil }
        return secret.withUnsafeBytes { Array($0.dropFirst(CipherSettings.keyCount)) }
    }

    /// The raw key, with its salt, that SQLCipher derives from a passphrase.
    ///
    /// The derivation deliberately takes a tenth of a second. It is done once here, so that no
    /// connection repeats it. The file doesn't depend on this: it opens with the passphrase, and
    /// with the derived key. A raw key is returned unchanged.
    ///
    /// - Parameters:
    ///   - salt: The file's first 16 bytes, or 16 random ones for a new file.
    ///   - cipher: How the file is encrypted.
    package func derived(salt: [UInt8], cipher: CipherSettings) throws -> DatabaseKey {
        guard form == .passphrase else { return self }
        let raw = try secret.withUnsafeBytes { passphrase in
            try Secret(capacity: CipherSettings.keyCount + salt.count) { output in
                try cipher.kdfAlgorithm.derive(
                    from: passphrase,
                    salt: salt,
                    iterations: cipher.kdfIterations,
                    into: output
                )
                for (index, byte) in salt.enumerated() {
                    output[CipherSettings.keyCount + index] = byte
                }
                return CipherSettings.keyCount + salt.count
            }
        }
        return try .rawKey(bytes: raw)
    }
}
