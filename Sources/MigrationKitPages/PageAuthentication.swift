import CLibCrypto
import Foundation
import KeyStore
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
    ///   - salt: The file's first 16 bytes.
    ///   - cipher: How the file is encrypted.
    /// - Returns: `nil` if pages have no HMAC.
    package init?(key: DatabaseKey, salt: [UInt8], cipher: CipherSettings) throws {
        guard cipher.hmacAlgorithm != .off else { return nil }
        self.cipher = cipher
        let authenticationKey = try key.secret.withUnsafeBytes { bytes in
            let mask: UInt8 = 0x3a
            let authenticationSalt = (key.salt ?? salt).map { $0 ^ mask }
            return try Secret(capacity: CipherSettings.keyCount) { output in
                try cipher.kdfAlgorithm.derive(
                    from: UnsafeRawBufferPointer(rebasing: bytes.prefix(CipherSettings.keyCount)),
                    salt: authenticationSalt,
                    iterations: 2,
                    into: output
                )
                return CipherSettings.keyCount
            }
        }
        let context = authenticationKey.withUnsafeBytes {
            clibcrypto_hmac_new(cipher.hmacAlgorithm.digest, $0.baseAddress, $0.count)
        }
        guard let context else { throw CocoaError(.featureUnsupported) }
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
        return memcmp(stored + codeStart, code, code.count) == 0
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

    /// The offset of the HMAC. It follows the content and the initialization vector, from which it
    /// is computed.
    private var codeStart: Int {
        cipher.pageSize - cipher.reservedCount + CipherSettings.vectorCount
    }

    /// - Returns: Empty if it can't be computed.
    private func code(of page: UnsafeRawBufferPointer, number: Int) -> [UInt8] {
        let start = number == 1 ? CipherSettings.saltCount : 0
        let bytes = page.baseAddress?.assumingMemoryBound(to: UInt8.self)
        return [UInt8](unsafeUninitializedCapacity: cipher.hmacAlgorithm.count) { code, count in
            let isComputed =
                withUnsafeBytes(of: UInt32(number).littleEndian) { number in
                    // Without a key, it keeps the one that it has.
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
/// authenticated again: computing an HMAC takes much longer than this check.
///
/// Keeps an 8-byte hash of each page in memory, with keys of its own.
package final class AuthenticPages: Sendable {
    private struct State {
        /// By page number. In a file of 32 GiB or more, not all pages are kept.
        var hashes: [UInt64] = []
        var keys: [UInt64] = []
    }

    private let state = Locked(State())
    private static let mostPages = 8 << 20

    package init() {}

    /// Whether a page is authentic.
    ///
    /// - Parameters:
    ///   - page: The page's bytes as they are in the file.
    ///   - number: Its number, from 1.
    ///   - authenticate: Authenticates a page that isn't known.
    func contain(
        _ page: UnsafeRawBufferPointer,
        number: Int,
        _ authenticate: (UnsafeRawBufferPointer) -> Bool
    ) -> Bool {
        guard number <= Self.mostPages else { return authenticate(page) }
        let (keys, known) = state.withLock { state in
            if state.keys.count < page.count / 8 {
                state.keys = (0..<page.count / 8).map { _ in .random(in: .min ... .max) }
                state.hashes = []
            }
            return (state.keys, number < state.hashes.count ? state.hashes[number] : 0)
        }
        // Never equal to the value for an unknown page.
        let hash = Self.hash(page, keys) | 1
        guard hash != known else { return true }
        guard authenticate(page) else { return false }
        state.withLock { state in
            if number >= state.hashes.count {
                let count = max(number + 1, min(state.hashes.count * 2, Self.mostPages + 1))
                state.hashes += repeatElement(0, count: count - state.hashes.count)
            }
            state.hashes[number] = hash
        }
        return true
    }

    /// The universal hash NH of UMAC with words of 64 bits. Two pages that differ have the same hash
    /// with a probability of about 2^-60, whatever they are, since the keys are random.
    /// <https://www.rfc-editor.org/rfc/rfc4418#section-5.2.2>
    private static func hash(_ page: UnsafeRawBufferPointer, _ keys: [UInt64]) -> UInt64 {
        var low: UInt64 = 0
        var high: UInt64 = 0
        keys.withUnsafeBufferPointer { keys in
            for index in stride(from: 0, to: page.count / 16 * 2, by: 2) {
                let one = page.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self)
                let two = page.loadUnaligned(fromByteOffset: index * 8 + 8, as: UInt64.self)
                let product = (one &+ keys[index]).multipliedFullWidth(by: two &+ keys[index + 1])
                let (sum, overflows) = low.addingReportingOverflow(product.low)
                low = sum
                high = high &+ product.high &+ (overflows ? 1 : 0)
            }
        }
        return (low &* (keys[0] | 1)) ^ (high &* (keys[1] | 1))
    }
}
