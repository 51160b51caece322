import CLibCrypto
import Foundation
import MigrationKitKeys
import MigrationKitCommon

/// Checks whether pages of a file were written with a key.
///
/// SQLCipher's own check reads the whole file, which takes seconds for a gigabyte. A few pages are
/// enough to distinguish a wrong key from a damaged first page.
/// <https://www.zetetic.net/sqlcipher/design/#database-encryption-and-key-derivation>
///
/// Two threads must not use it at once.
package final class PageAuthentication {
    private let cipher: CipherSettings
    /// An HMAC with its key. It begins anew with each page.
    private let context: OpaquePointer

    /// - Parameters:
    ///   - key: A raw key. Its own salt takes precedence over the file's, as in SQLCipher.
    ///   - salt: The file's salt.
    ///   - cipher: How the file is encrypted.
    /// - Returns: `nil` if pages have no HMAC.
    package init?(key: DatabaseKey, salt: [UInt8], cipher: CipherSettings) throws {
        guard cipher.hmacAlgorithm != .off else { return nil }
        self.cipher = cipher
        let authenticationKey = try key.secret.withUnsafeBytes { bytes in
            let authenticationSalt = (key.salt ?? salt).map { $0 ^ cipher.pageCodes.mask }
            // Fewer bytes of PBKDF2 are the first ones of more.
            let count = cipher.otherCipher?.keyCount ?? CipherSettings.keyCount
            return try Secret(capacity: CipherSettings.keyCount) { output in
                try cipher.kdfAlgorithm.derive(
                    from: UnsafeRawBufferPointer(rebasing: bytes.prefix(count)),
                    salt: authenticationSalt,
                    iterations: cipher.pageCodes.iterations,
                    into: output
                )
                return count
            }
        }
        let context = authenticationKey.withUnsafeBytes {
            clibcrypto_hmac_new(cipher.hmacAlgorithm.digest, $0.baseAddress, $0.count)
        }
        guard let context else { throw LibCryptoError.refused }
        self.context = context
    }

    deinit {
        // This wipes the key, too.
        EVP_MAC_CTX_free(context)
    }

    /// The numbers of some pages spread over a file, the first page first: damage to that page may
    /// extend to its neighbours.
    package static func sample(ofPages count: Int) -> [Int] {
        Set([1, 2, 3] + (1...32).map { $0 * count / 32 }).sorted()
            .filter { $0 >= 1 && $0 <= count }
    }

    /// Whether a page is intact: as it was written with the key.
    ///
    /// - Parameters:
    ///   - page: The page's bytes as they are in the file.
    ///   - number: Its number, from 1.
    package func isAuthentic(_ page: [UInt8], number: Int) -> Bool {
        guard page.count == cipher.pageSize else { return false }
        return page.withUnsafeBytes { isAuthentic($0, number: number) }
    }

    /// Whether a page of the right size is intact: as it was written with the key.
    ///
    /// - Parameters:
    ///   - page: The page's bytes as they are in the file.
    ///   - number: Its number, from 1.
    package func isAuthentic(_ page: UnsafeRawBufferPointer, number: Int) -> Bool {
        let code = code(of: page, number: number)
        guard !code.isEmpty, let stored = page.baseAddress else { return false }
        return CRYPTO_memcmp(stored + codeStart, code, code.count) == 0
    }

    /// Writes the HMAC of a page at its place.
    ///
    /// - Parameters:
    ///   - page: The encrypted page.
    ///   - number: Its number, from 1.
    /// - Returns: Whether this succeeded.
    package func authenticate(_ page: UnsafeMutableRawBufferPointer, number: Int) -> Bool {
        let code = code(of: UnsafeRawBufferPointer(page), number: number)
        UnsafeMutableRawBufferPointer(rebasing: page[codeStart...]).copyBytes(from: code)
        return !code.isEmpty
    }

    /// The offset of the HMAC.
    private var codeStart: Int { cipher.pageSize - cipher.codeDistance }

    /// - Returns: Empty if it can't be computed.
    private func code(of page: UnsafeRawBufferPointer, number: Int) -> [UInt8] {
        let start = number == 1 ? cipher.encryptedStart : 0
        let bytes = page.baseAddress?.assumingMemoryBound(to: UInt8.self)
        return [UInt8](unsafeUninitializedCapacity: cipher.hmacAlgorithm.count) { code, count in
            let isComputed =
                withUnsafeBytes(
                    of: cipher.pageCodes.hasBigEndianNumbers
                        ? UInt32(number).bigEndian : UInt32(number).littleEndian
                ) { number in
                    // Without a key, it keeps the one that it has. A copy of the context would make
                    // several threads wait for each other: its algorithm is counted.
                    // <https://docs.openssl.org/3.0/man7/life_cycle-mac/>
                    EVP_MAC_init(context, nil, 0, nil) == 1
                        && EVP_MAC_update(context, bytes.map { $0 + start }, codeStart - start) == 1
                        && EVP_MAC_update(
                            context,
                            number.baseAddress?.assumingMemoryBound(to: UInt8.self),
                            number.count
                        ) == 1
                }
                && EVP_MAC_final(context, code.baseAddress, &count, code.count) == 1
            if !isComputed { count = 0 }
        }
    }
}

/// The pages that were authenticated with one key. A page that is read again unchanged isn't
/// authenticated again: computing an HMAC takes ten times as long as this check.
///
/// Keeps 8 bytes of the digest of each page in memory, with a key of its own.
package final class AuthenticPages: Sendable {
    /// `nil` as long as there is no page, or if there is no memory.
    private let digests = Locked<DigestTable?>(nil)
    let key = PageDigest.randomKey()

    package init() {}

    /// Whether a page is authentic.
    ///
    /// - Parameters:
    ///   - page: The page's bytes as they are in the file.
    ///   - number: Its number, from 1.
    ///   - digest: Made with ``key``, and used by one thread at a time.
    ///   - authenticate: Authenticates a page that isn't known.
    func contain(
        _ page: UnsafeRawBufferPointer,
        number: Int,
        _ digest: PageDigest,
        _ authenticate: (UnsafeRawBufferPointer) -> Bool
    ) -> Bool {
        guard let value = try? digest.of(page, page.count, number: number) else {
            return authenticate(page)
        }
        // Never equal to the value for an unknown page.
        let kept = value.x | 1
        guard digests.withLock({ $0?[number] }) != kept else { return true }
        guard authenticate(page) else { return false }
        digests.withLock { digests in
            if digests == nil { digests = DigestTable() }
            digests?[number] = kept
        }
        return true
    }
}

/// A number for each page; 0 at first. It takes at most 16 MB: in a file with more pages, several share
/// a place, of which it has the last one's number.
private final class DigestTable {
    private static let count = 2 << 20
    /// The system provides memory only for the parts that are used.
    private let numbers: UnsafeMutablePointer<UInt64>

    init?() {
        let access = PROT_READ | PROT_WRITE
        let memory = mmap(nil, Self.byteCount, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let memory, memory != MAP_FAILED else { return nil }
        numbers = memory.bindMemory(to: UInt64.self, capacity: Self.count)
    }

    deinit { munmap(numbers, Self.byteCount) }

    private static var byteCount: Int { count * MemoryLayout<UInt64>.stride }

    subscript(page: Int) -> UInt64 {
        get { numbers[page % Self.count] }
        set { numbers[page % Self.count] = newValue }
    }
}
