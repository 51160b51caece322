import CSQLCipher
import Foundation
import KeyStore

/// Tells whether pages of a file in SQLCipher 4's format were written under a key.
///
/// SQLCipher's own check reads the whole file, which takes seconds for a gigabyte. A look at some
/// pages tells a wrong key from a damaged first page as well.
/// <https://www.zetetic.net/sqlcipher/design/#database-encryption-and-key-derivation>
struct PageAuthentication {
    private static let codeCount = 64
    private let authenticationKey: Secret

    /// - Parameters:
    ///   - key: A raw key. Its own salt goes before the file's, as in SQLCipher.
    ///   - salt: The file's first 16 bytes.
    init(key: DatabaseKey, salt: [UInt8]) throws {
        authenticationKey = try key.secret.withUnsafeBytes { bytes in
            let keySalt = bytes.dropFirst(SQLCipherFormat.keyCount)
            let mask: UInt8 = 0x3a
            let authenticationSalt = (keySalt.isEmpty ? salt : Array(keySalt)).map { $0 ^ mask }
            return try Secret(capacity: SQLCipherFormat.keyCount) { output in
                let code = PKCS5_PBKDF2_HMAC(
                    bytes.baseAddress,
                    Int32(SQLCipherFormat.keyCount),
                    authenticationSalt,
                    Int32(authenticationSalt.count),
                    2,
                    EVP_sha512(),
                    Int32(SQLCipherFormat.keyCount),
                    output.baseAddress
                )
                guard code == 1 else { throw CocoaError(.featureUnsupported) }
                return SQLCipherFormat.keyCount
            }
        }
    }

    /// Whether a page is as it was written under the key.
    ///
    /// - Parameters:
    ///   - page: The page's bytes as they are in the file.
    ///   - number: Its number, from 1.
    func isAuthentic(_ page: [UInt8], number: Int) -> Bool {
        guard page.count == SQLCipherFormat.pageSize else { return false }
        let start = number == 1 ? SQLCipherFormat.saltCount : 0
        let end = page.count - Self.codeCount
        let littleEndian = withUnsafeBytes(of: UInt32(number).littleEndian) { Array($0) }
        let message = page[start..<end] + littleEndian
        var code = [UInt8](repeating: 0, count: Self.codeCount)
        let isComputed = authenticationKey.withUnsafeBytes { key in
            message.withUnsafeBufferPointer {
                HMAC(
                    EVP_sha512(),
                    key.baseAddress,
                    Int32(key.count),
                    $0.baseAddress,
                    $0.count,
                    &code,
                    nil
                ) != nil
            }
        }
        return isComputed && page[end...].elementsEqual(code)
    }
}
