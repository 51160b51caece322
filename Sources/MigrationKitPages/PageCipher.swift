import CLibCrypto
import Foundation
import KeyStore

/// Encrypts and decrypts the pages of a file, in memory.
///
/// Each page is encrypted for itself: AES-256 in CBC mode, without padding, with the initialization
/// vector that stands behind its content. Of the first page the salt's place is in the clear, where
/// the database has the string that every database begins with.
/// <https://www.zetetic.net/sqlcipher/design/#database-encryption-and-key-derivation>
///
/// Not to be used by two threads at once.
package final class PageCipher {
    private let cipher: CipherSettings
    private let context: OpaquePointer

    /// - Parameters:
    ///   - key: A raw key.
    ///   - cipher: How the file is encrypted.
    ///   - isEncrypting: What it is for: ``encrypt(_:number:)``, or ``decrypt(_:number:)``.
    package init(key: DatabaseKey, cipher: CipherSettings, isEncrypting: Bool = false) throws {
        self.cipher = cipher
        guard let context = EVP_CIPHER_CTX_new() else { throw CocoaError(.featureUnsupported) }
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
        guard code == 1 else { throw CocoaError(.featureUnsupported) }
    }

    deinit {
        // Wipes the key's schedule as well.
        EVP_CIPHER_CTX_free(context)
    }

    /// The page's content, with zeros for what SQLite doesn't use.
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

    /// Decrypts a page where it is. Initialization vector and HMAC stay behind its content.
    ///
    /// - Parameters:
    ///   - page: The page's bytes as they are in the file.
    ///   - number: Its number, from 1.
    /// - Returns: Whether it was to be done.
    package func decrypt(_ page: UnsafeMutableRawBufferPointer, number: Int) -> Bool {
        if number == 1 { page.copyBytes(from: DatabaseHeader.magic) }
        return transform(page, content(ofPage: number))
    }

    /// Encrypts a page where it is, and puts the initialization vector behind it. Random bytes take
    /// the place of the HMAC.
    ///
    /// - Parameters:
    ///   - page: The page's content.
    ///   - number: Its number, from 1. What comes before the content of the first one stays.
    /// - Returns: Whether it was to be done.
    package func encrypt(_ page: UnsafeMutableRawBufferPointer, number: Int) -> Bool {
        let content = content(ofPage: number)
        let end = UnsafeMutableRawBufferPointer(rebasing: page[content.upperBound...])
        return RAND_bytes(end.bytes, Int32(end.count)) == 1 && transform(page, content)
    }

    private func content(ofPage number: Int) -> Range<Int> {
        let start = number == 1 ? CipherSettings.saltCount : 0
        return start..<(cipher.pageSize - cipher.reservedCount)
    }

    /// With the initialization vector that stands behind the content.
    private func transform(_ page: UnsafeMutableRawBufferPointer, _ content: Range<Int>) -> Bool {
        guard let bytes = page.bytes else { return false }
        var count: Int32 = 0
        let start = bytes + content.lowerBound
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
