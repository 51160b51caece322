import CSQLCipher
import Foundation
import KeyStore

/// Decrypts the pages of a file, in memory.
///
/// Each page is encrypted for itself: AES-256 in CBC mode, without padding, with the initialization
/// vector that stands behind its content. Of the first page the salt's place is in the clear, where
/// the database has the string that every database begins with.
/// <https://www.zetetic.net/sqlcipher/design/#database-encryption-and-key-derivation>
final class PageCipher {
    private let cipher: CipherSettings
    private let context: OpaquePointer

    /// - Parameters:
    ///   - key: A raw key.
    ///   - cipher: How the file is encrypted.
    init(key: DatabaseKey, cipher: CipherSettings) throws {
        self.cipher = cipher
        guard let context = EVP_CIPHER_CTX_new() else { throw CocoaError(.featureUnsupported) }
        self.context = context
        let code = key.secret.withUnsafeBytes { key in
            EVP_DecryptInit_ex(
                context,
                EVP_aes_256_cbc(),
                nil,
                key.baseAddress?.assumingMemoryBound(to: UInt8.self),
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
    func decrypt(_ page: [UInt8], number: Int) -> [UInt8]? {
        guard page.count == cipher.pageSize else { return nil }
        let start = number == 1 ? CipherSettings.saltCount : 0
        let end = page.count - cipher.reservedCount
        var plain = [UInt8](repeating: 0, count: page.count)
        let isDecrypted = page.withUnsafeBufferPointer { input in
            plain.withUnsafeMutableBufferPointer { output in
                guard let from = input.baseAddress, let to = output.baseAddress else {
                    return false
                }
                var count: Int32 = 0
                return EVP_DecryptInit_ex(context, nil, nil, nil, from + end) == 1
                    && EVP_CIPHER_CTX_set_padding(context, 0) == 1
                    && EVP_DecryptUpdate(
                        context,
                        to + start,
                        &count,
                        from + start,
                        Int32(end - start)
                    )
                        == 1
                    && Int(count) == end - start
            }
        }
        guard isDecrypted else { return nil }
        if number == 1 { plain.replaceSubrange(..<start, with: DatabaseHeader.magic) }
        return plain
    }
}
