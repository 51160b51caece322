import CLibCrypto
import Foundation
import MigrationKitKeys

/// Encrypts and decrypts the pages of a file, in memory.
///
/// Each page is encrypted separately: AES-256 in CBC mode, without padding, with the initialization
/// vector that follows its content. In the first page, the salt isn't encrypted. It replaces the
/// string with which every database begins, unless the header is in plaintext.
/// <https://www.zetetic.net/sqlcipher/design/#database-encryption-and-key-derivation>
///
/// Two threads must not use it at once.
package final class PageCipher {
    private let cipher: CipherSettings
    private let context: OpaquePointer
    /// Random bytes that were not used yet. libcrypto takes almost as long for those of one page as
    /// for those of many.
    private var random: [UInt8] = []
    /// For the first page of SQLite3 Multiple Ciphers, which isn't a number of whole blocks; `nil` for other
    /// files.
    private let partialKey: DatabaseKey?

    /// - Parameters:
    ///   - key: A raw key.
    ///   - cipher: How the file is encrypted.
    ///   - isEncrypting: Whether it is for ``encrypt(_:number:)`` or for ``decrypt(_:number:)``.
    package init(key: DatabaseKey, cipher: CipherSettings, isEncrypting: Bool = false) throws {
        self.cipher = cipher
        partialKey = cipher.isOfMultipleCiphers ? key : nil
        guard let context = EVP_CIPHER_CTX_new() else { throw LibCryptoError.refused }
        self.context = context
        let code = key.secret.withUnsafeBytes { key in
            EVP_CipherInit_ex2(
                context,
                EVP_aes_256_cbc(),
                key.baseAddress?.assumingMemoryBound(to: UInt8.self),
                nil,
                isEncrypting ? 1 : 0,
                nil
            )
        }
        guard code == 1 else { throw LibCryptoError.refused }
    }

    deinit {
        // This wipes the key's schedule, too.
        EVP_CIPHER_CTX_free(context)
    }

    /// The page's content, with zeros in the bytes that SQLite doesn't use.
    ///
    /// - Parameters:
    ///   - page: The page's bytes as they are in the file.
    ///   - number: Its number, from 1.
    package func decrypt(_ page: [UInt8], number: Int) -> [UInt8]? {
        guard page.count == cipher.pageSize else { return nil }
        var plain = page
        guard plain.withUnsafeMutableBytes({ decrypt($0, number: number) }) else { return nil }
        let end = content(ofPage: number).upperBound
        for index in end..<plain.count { plain[index] = 0 }
        return plain
    }

    /// Decrypts a page in place. Initialization vector and HMAC stay after its content.
    ///
    /// - Parameters:
    ///   - page: The page's bytes as they are in the file.
    ///   - number: Its number, from 1.
    /// - Returns: Whether this succeeded.
    package func decrypt(_ page: UnsafeMutableRawBufferPointer, number: Int) -> Bool {
        if number == 1, !cipher.hasPlaintextHeader { page.copyBytes(from: DatabaseHeader.magic) }
        return transform(page, content(ofPage: number))
    }

    /// Encrypts a page in place, and writes the initialization vector after it. Random bytes are
    /// written at the place of the HMAC.
    ///
    /// - Parameters:
    ///   - page: The page's content.
    ///   - number: Its number, from 1. The bytes before the first page's content stay.
    /// - Returns: Whether this succeeded.
    package func encrypt(_ page: UnsafeMutableRawBufferPointer, number: Int) -> Bool {
        let content = content(ofPage: number)
        let count = page.count - content.upperBound
        if random.count < count {
            random = [UInt8](repeating: 0, count: count * 64)
            guard RAND_bytes(&random, Int32(random.count)) == 1 else { return false }
        }
        UnsafeMutableRawBufferPointer(rebasing: page[content.upperBound...])
            .copyBytes(from: random.suffix(count))
        random.removeLast(count)
        return transform(page, content)
    }

    private func content(ofPage number: Int) -> Range<Int> {
        let start = number == 1 ? cipher.encryptedStart : 0
        return start..<(cipher.pageSize - cipher.reservedCount)
    }

    /// Uses the initialization vector that follows the content.
    private func transform(_ page: UnsafeMutableRawBufferPointer, _ content: Range<Int>) -> Bool {
        guard let bytes = page.bytes else { return false }
        var count: Int32 = 0
        let start = bytes + content.lowerBound
        if let partialKey, content.count % 16 > 0 {
            return partialKey.secret.withUnsafeBytes { key in
                clibcrypto_aes256_cts_open(
                    key.baseAddress?.assumingMemoryBound(to: UInt8.self),
                    bytes + content.upperBound,
                    start,
                    Int32(content.count)
                ) == 1
            }
        }
        return EVP_CipherInit_ex2(context, nil, nil, bytes + content.upperBound, -1, nil) == 1
            && EVP_CIPHER_CTX_set_padding(context, 0) == 1
            && EVP_CipherUpdate(context, start, &count, start, Int32(content.count)) == 1
            && Int(count) == content.count
    }
}

extension UnsafeMutableRawBufferPointer {
    fileprivate var bytes: UnsafeMutablePointer<UInt8>? {
        baseAddress?.assumingMemoryBound(to: UInt8.self)
    }
}

// MARK: - Page Form

/// How pages are stored in a file: how their content is decrypted and authenticated.
package struct PageForm {
    package let pageSize: Int
    /// The bytes at the end of each page that SQLite doesn't use. The database's header has this
    /// number. If settings were changed in several steps, there may be more bytes than the cipher
    /// needs.
    package var reservedCount: Int
    private let cipher: PageCipher?
    private let authentication: PageAuthentication?
    /// Further forms, which some of the pages have: those of another key. Only an HMAC can tell.
    package var others: [PageForm] = []

    /// Creates the form of an encrypted file.
    ///
    /// - Parameters:
    ///   - key: A raw key.
    ///   - salt: The file's salt when its pages were written; `nil` if it isn't known, so that no
    ///     HMAC can be checked.
    package init(key: DatabaseKey, salt: [UInt8]?, cipher: CipherSettings) throws {
        pageSize = cipher.pageSize
        reservedCount = cipher.reservedCount
        self.cipher = try PageCipher(key: key, cipher: cipher)
        authentication = try salt.flatMap {
            try PageAuthentication(key: key, salt: $0, cipher: cipher)
        }
    }

    /// Creates the form of a plaintext file.
    package init(pageSize: Int, reservedCount: Int) {
        self.pageSize = pageSize
        self.reservedCount = reservedCount
        cipher = nil
        authentication = nil
    }

    package var isEncrypted: Bool { cipher != nil }

    package var usableSize: Int { pageSize - reservedCount }

    /// Whether each page has an HMAC. Without one, damage shows only if the content makes no sense.
    package var provesPages: Bool { authentication != nil }

    /// Whether a page is intact, as far as that can be checked.
    package func isIntact(_ page: [UInt8], number: Int) -> Bool {
        (authentication?.isAuthentic(page, number: number) ?? (page.count == pageSize))
            || others.contains { $0.isIntact(page, number: number) }
    }

    /// The content of an intact page.
    package func content(_ page: [UInt8], number: Int) -> [UInt8]? {
        if !others.isEmpty, authentication?.isAuthentic(page, number: number) == false {
            return others.first { $0.isIntact(page, number: number) }?
                .content(page, number: number)
        }
        return cipher == nil ? page : cipher?.decrypt(page, number: number)
    }
}
