import CLibCrypto
import Foundation
import MigrationKitKeys
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
/// An app for Apple's systems may leave the first bytes of its file unencrypted, so that the system
/// knows it for a database. The salt then isn't in the file: the app keeps it beside the key.
/// <https://www.zetetic.net/sqlcipher/sqlcipher-api/#cipher_plaintext_header_size>
///
/// ```swift
/// let settings = try CipherSettings(plaintextHeaderSize: 32, salt: salt)
/// ```
///
/// Ciphers other than AES-256 are not supported.
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
    public private(set) var pageSize: Int

    /// How many iterations PBKDF2 makes to derive a key from a passphrase. Ignored for a raw key.
    public let kdfIterations: Int

    /// The hash function of PBKDF2.
    public let kdfAlgorithm: KDFAlgorithm

    /// The hash function of each page's HMAC.
    public let hmacAlgorithm: HMACAlgorithm

    /// How many bytes at the beginning of the file are neither encrypted nor authenticated; 0 if the
    /// salt is there.
    public private(set) var plaintextHeaderSize: Int

    /// The 16 bytes of the salt of a file with a plaintext header; `nil` if a raw key contains it.
    public private(set) var salt: [UInt8]?

    /// What HMACs depend on beside their hash function. Only a search finds other values.
    package internal(set) var pageCodes = PageCodes()

    /// The cipher of the pages, if it isn't AES-256 in CBC mode; `nil` if it is. Nothing here decrypts it.
    package internal(set) var otherCipher: OtherCipher?

    /// Whether the first page is as SQLite3 Multiple Ciphers writes it unless its `legacy` is set: eight bytes
    /// after the salt aren't encrypted. SQLCipher can't read that page, and all others are its own.
    /// <https://utelle.github.io/SQLite3MultipleCiphers/docs/ciphers/cipher_sqlcipher/>
    package private(set) var isOfMultipleCiphers = false

    /// The size of a plaintext header that Zetetic recommends, and apps use.
    public static let usualPlaintextHeaderSize = 32

    /// Creates settings: the defaults of a version of SQLCipher, except where a parameter is given.
    ///
    /// - Parameters:
    ///   - compatibility: The major version of SQLCipher, 1 to 4.
    ///   - pageSize: The page size in bytes: a power of two from 1024 to 65536.
    ///   - kdfIterations: How many iterations PBKDF2 makes, from 1 to 2,147,483,647.
    ///   - kdfAlgorithm: The hash function of PBKDF2.
    ///   - hmacAlgorithm: The hash function of each page's HMAC.
    ///   - plaintextHeaderSize: How many bytes at the beginning of the file aren't encrypted: a
    ///     multiple of 16, at most 96; without HMACs, at most 48, since nothing else would prove a
    ///     key. `nil` for 0 or, with a salt, 32.
    ///   - salt: The salt of a file with a plaintext header, 16 bytes. It isn't secret.
    /// - Throws: ``CipherSettingsError`` for a value out of range.
    public init(
        compatibility: Int = 4,
        pageSize: Int? = nil,
        kdfIterations: Int? = nil,
        kdfAlgorithm: KDFAlgorithm? = nil,
        hmacAlgorithm: HMACAlgorithm? = nil,
        plaintextHeaderSize: Int? = nil,
        salt: [UInt8]? = nil
    ) throws(CipherSettingsError) {
        let defaults = try Self.sqlCipher(compatibility)
        self.init(
            unchecked: compatibility,
            pageSize: pageSize ?? defaults.pageSize,
            kdfIterations: kdfIterations ?? defaults.kdfIterations,
            kdfAlgorithm: kdfAlgorithm ?? defaults.kdfAlgorithm,
            hmacAlgorithm: hmacAlgorithm ?? defaults.hmacAlgorithm,
            plaintextHeaderSize: plaintextHeaderSize
                ?? (salt == nil ? 0 : Self.usualPlaintextHeaderSize),
            salt: salt
        )
        // SQLite also allows 512 bytes, but needs 480 of them itself, which leaves too few for an HMAC:
        // only a search finds them. <https://www.sqlite.org/fileformat.html#reserved_bytes_per_page>
        guard (1024...65536).contains(self.pageSize), self.pageSize.nonzeroBitCount == 1 else {
            throw .pageSize(self.pageSize)
        }
        guard (1...Int(Int32.max)).contains(self.kdfIterations) else {
            throw .kdfIterations(self.kdfIterations)
        }
        let sizes = [0] + Self.plaintextHeaderSizes(with: self.hmacAlgorithm)
        guard sizes.contains(self.plaintextHeaderSize) else {
            throw .plaintextHeaderSize(self.plaintextHeaderSize)
        }
        if let salt {
            guard salt.count == Self.saltCount else { throw .saltSize(salt.count) }
            guard self.plaintextHeaderSize > 0 else { throw .saltWithoutPlaintextHeader }
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
        unchecked: 4,
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
            unchecked: compatibility,
            pageSize: 1024,
            kdfIterations: kdfIterations,
            kdfAlgorithm: .sha1,
            hmacAlgorithm: hmacAlgorithm
        )
    }

    /// Nothing is checked.
    init(
        unchecked compatibility: Int,
        pageSize: Int,
        kdfIterations: Int,
        kdfAlgorithm: KDFAlgorithm,
        hmacAlgorithm: HMACAlgorithm,
        plaintextHeaderSize: Int = 0,
        salt: [UInt8]? = nil
    ) {
        self.compatibility = compatibility
        self.pageSize = pageSize
        self.kdfIterations = kdfIterations
        self.kdfAlgorithm = kdfAlgorithm
        self.hmacAlgorithm = hmacAlgorithm
        self.plaintextHeaderSize = plaintextHeaderSize
        self.salt = salt
    }
}

// MARK: - Plaintext Header

extension CipherSettings {
    /// Whole blocks of the cipher, the first of them with the database's mark. A larger header would
    /// show parts of the schema.
    private static func plaintextHeaderSizes(with algorithm: HMACAlgorithm) -> [Int] {
        // Without HMACs, a key is proven by what the rest of the header decrypts to.
        Array(stride(from: 16, through: algorithm == .off ? 48 : 96, by: 16))
    }

    /// Whether the file begins with a plaintext header instead of the salt.
    package var hasPlaintextHeader: Bool { plaintextHeaderSize > 0 }

    /// The same settings with other sizes of the plaintext header, the usual one first.
    package var withOtherHeaderSizes: [CipherSettings] {
        let usual = Self.usualPlaintextHeaderSize
        return ([usual] + Self.plaintextHeaderSizes(with: hmacAlgorithm).filter { $0 != usual })
            .filter { $0 != plaintextHeaderSize }
            .map { with(plaintextHeaderSize: $0, salt: salt) }
    }

    /// The same settings with another header.
    ///
    /// - Parameters:
    ///   - size: A possible size.
    ///   - salt: `nil` if a raw key has it, or if there is no header.
    package func with(plaintextHeaderSize size: Int, salt: [UInt8]?) -> CipherSettings {
        var settings = self
        (settings.plaintextHeaderSize, settings.salt) = (size, salt)
        return settings
    }

    /// The same settings for a file of SQLite3 Multiple Ciphers.
    package var ofMultipleCiphers: CipherSettings {
        var settings = self
        settings.isOfMultipleCiphers = true
        return settings
    }

    /// The same settings as SQLCipher itself writes a file today.
    package var ofNewFile: CipherSettings {
        var settings = self
        (settings.pageCodes, settings.isOfMultipleCiphers) = (PageCodes(), false)
        settings.otherCipher = nil
        if settings.obstacle == .smallPages { settings.pageSize = 1024 }
        return settings
    }

    /// The same settings with another page size.
    ///
    /// - Throws: ``CipherSettingsError/pageSize(_:)``.
    package func with(pageSize: Int) throws(CipherSettingsError) -> CipherSettings {
        try CipherSettings(
            compatibility: compatibility,
            pageSize: pageSize,
            kdfIterations: kdfIterations,
            kdfAlgorithm: kdfAlgorithm,
            hmacAlgorithm: hmacAlgorithm,
            plaintextHeaderSize: plaintextHeaderSize,
            salt: salt
        )
    }

    /// What a passphrase's key depends on, beside the salt.
    package struct KeyDerivation: Hashable {
        let algorithm: KDFAlgorithm
        let iterations: Int

        package init(algorithm: KDFAlgorithm, iterations: Int) {
            (self.algorithm, self.iterations) = (algorithm, iterations)
        }
    }

    package var keyDerivation: KeyDerivation {
        KeyDerivation(algorithm: kdfAlgorithm, iterations: kdfIterations)
    }

    /// The defaults of a major version of SQLCipher, with the header and the salt of these settings.
    ///
    /// - Parameter version: 1 to 4.
    /// - Throws: ``CipherSettingsError/compatibility(_:)``.
    package func ofVersion(_ version: Int) throws(CipherSettingsError) -> CipherSettings {
        try Self.sqlCipher(version).with(plaintextHeaderSize: plaintextHeaderSize, salt: salt)
    }

    /// What is tried to open a file: these settings, then those of every version.
    package var candidates: [CipherSettings] {
        // Plaintext headers are younger than pages without HMACs, and would be no proof of a key.
        let versions = Self.versions.filter { !hasPlaintextHeader || $0.hmacAlgorithm != .off }
            .map { $0.with(plaintextHeaderSize: plaintextHeaderSize, salt: salt) }
        return [self] + versions.filter { $0 != self }
    }

    /// Where the encrypted part of the first page begins: after the salt, or the header.
    package var encryptedStart: Int {
        isOfMultipleCiphers
            ? FileBeginning.endOfMultipleCiphers : max(Self.saltCount, plaintextHeaderSize)
    }

    /// The salt of a file: its first bytes or, with a plaintext header, the one that is kept elsewhere.
    ///
    /// - Parameters:
    ///   - start: The first bytes of the file.
    ///   - key: A raw key's own salt comes first, as in SQLCipher.
    /// - Throws: ``CipherSettingsError/noSalt``.
    package func salt(
        ofFile start: some Sequence<UInt8>,
        key: DatabaseKey
    ) throws(CipherSettingsError) -> [UInt8] {
        hasPlaintextHeader
            ? try keptSalt(with: key) : Array(start.prefix(Self.saltCount))
    }

    /// The salt of a new file: the key's own, the one that is kept elsewhere, or a random one.
    ///
    /// - Throws: ``CipherSettingsError/noSalt``: with a plaintext header, nobody could open the file.
    package func newSalt(for key: DatabaseKey) throws(CipherSettingsError) -> [UInt8] {
        if hasPlaintextHeader { return try keptSalt(with: key) }
        var generator = SystemRandomNumberGenerator()
        return key.salt
            ?? (0..<Self.saltCount).map { _ in .random(in: .min ... .max, using: &generator) }
    }

    private func keptSalt(with key: DatabaseKey) throws(CipherSettingsError) -> [UInt8] {
        guard let salt = key.salt ?? salt else { throw .noSalt }
        return salt
    }
}

extension CipherSettings: CustomStringConvertible {
    /// One line, such as `4096-byte pages, PBKDF2-HMAC-SHA512 256000 times, HMAC-SHA512`.
    public var description: String {
        let pages =
            hmacAlgorithm == .off ? "no HMAC" : "HMAC-\(hmacAlgorithm.rawValue.uppercased())"
        return """
            \(pageSize)-byte pages, PBKDF2-HMAC-\(kdfAlgorithm.rawValue.uppercased()) \
            \(kdfIterations) times, \(pages)\
            \(hasPlaintextHeader ? ", a plaintext header of \(plaintextHeaderSize) bytes" : "")\
            \(pageCodes.pragmas.map { ", \($0)" }.joined())\
            \(otherCipher.map { ", \($0)" } ?? "")\
            \(isOfMultipleCiphers ? ", the first page of SQLite3 Multiple Ciphers" : "")
            """
    }
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
        guard !isVersion else { return [version, "PRAGMA cipher_plaintext_header_size = 0"] }
        let hmac = (hmacAlgorithm == .off ? .sha512 : hmacAlgorithm).rawValue.uppercased()
        var statements = [
            version,
            "PRAGMA kdf_iter = \(kdfIterations)",
            "PRAGMA cipher_kdf_algorithm = PBKDF2_HMAC_\(kdfAlgorithm.rawValue.uppercased())",
            "PRAGMA cipher_hmac_algorithm = HMAC_\(hmac)",
            "PRAGMA cipher_use_hmac = \(hmacAlgorithm == .off ? "OFF" : "ON")",
            "PRAGMA cipher_page_size = \(pageSize)",
            // Last, because it must fit into the page.
            "PRAGMA cipher_plaintext_header_size = \(plaintextHeaderSize)",
        ]
        statements += pageCodes.pragmas.map { "PRAGMA \($0)" }
        // A raw key's own salt still comes first.
        if let salt { statements.append("PRAGMA cipher_salt = \"x'\(salt.hexadecimalDigits)'\"") }
        return statements
    }

    /// The bytes at the end of each page that SQLite doesn't use: initialization vector and HMAC, in
    /// blocks of the cipher.
    package var reservedCount: Int { (Self.vectorCount + hmacAlgorithm.count + 15) / 16 * 16 }

    /// How many bytes before a page's end its HMAC is. It follows the content and the initialization vector,
    /// from which it is computed.
    var codeDistance: Int { otherCipher?.codeDistance ?? reservedCount - Self.vectorCount }

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
    /// - Throws: ``LibCryptoError``.
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
        guard code == 1 else { throw LibCryptoError.refused }
    }
}

extension Sequence<UInt8> {
    /// Two lower-case hexadecimal digits for each byte.
    package var hexadecimalDigits: String {
        map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

// MARK: - Encodable

extension CipherSettings: Encodable {
    /// Encodes the settings. The plaintext header's size is left out if there is none.
    public func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "pageSize": pageSize,
            "kdfIterations": kdfIterations,
            "kdfAlgorithm": kdfAlgorithm.rawValue,
            "hmacAlgorithm": hmacAlgorithm.rawValue,
            "plaintextHeaderSize": hasPlaintextHeader ? plaintextHeaderSize : nil,
        ])
    }
}
