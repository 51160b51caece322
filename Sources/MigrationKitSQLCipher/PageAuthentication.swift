import CSQLCipher
import Foundation
import KeyStore

/// Tells whether pages of a file were written under a key.
///
/// SQLCipher's own check reads the whole file, which takes seconds for a gigabyte. A look at some
/// pages tells a wrong key from a damaged first page as well.
/// <https://www.zetetic.net/sqlcipher/design/#database-encryption-and-key-derivation>
struct PageAuthentication {
    private let cipher: CipherSettings
    private let authenticationKey: Secret

    /// - Parameters:
    ///   - key: A raw key. Its own salt goes before the file's, as in SQLCipher.
    ///   - salt: The file's first 16 bytes.
    ///   - cipher: How the file is encrypted.
    /// - Returns: `nil` if pages have no HMAC.
    init?(key: DatabaseKey, salt: [UInt8], cipher: CipherSettings) throws {
        guard cipher.hmacAlgorithm != .off else { return nil }
        self.cipher = cipher
        authenticationKey = try key.secret.withUnsafeBytes { bytes in
            let keySalt = bytes.dropFirst(CipherSettings.keyCount)
            let mask: UInt8 = 0x3a
            let authenticationSalt = (keySalt.isEmpty ? salt : Array(keySalt)).map { $0 ^ mask }
            return try Secret(capacity: CipherSettings.keyCount) { output in
                let code = PKCS5_PBKDF2_HMAC(
                    bytes.baseAddress,
                    Int32(CipherSettings.keyCount),
                    authenticationSalt,
                    Int32(authenticationSalt.count),
                    2,
                    cipher.kdfAlgorithm.digest,
                    Int32(CipherSettings.keyCount),
                    output.baseAddress
                )
                guard code == 1 else { throw CocoaError(.featureUnsupported) }
                return CipherSettings.keyCount
            }
        }
    }

    /// The numbers of some pages from all over a file, the first one first: what damaged that may
    /// have damaged its neighbours as well.
    static func sample(ofPages count: Int) -> [Int] {
        Set([1, 2, 3] + (1...32).map { $0 * count / 32 }).sorted()
            .filter { $0 >= 1 && $0 <= count }
    }

    /// Whether a page is as it was written under the key.
    ///
    /// - Parameters:
    ///   - page: The page's bytes as they are in the file.
    ///   - number: Its number, from 1.
    func isAuthentic(_ page: [UInt8], number: Int) -> Bool {
        guard page.count == cipher.pageSize else { return false }
        let start = number == 1 ? CipherSettings.saltCount : 0
        let end = page.count - cipher.reservedCount + CipherSettings.vectorCount
        let codeCount = cipher.hmacAlgorithm.count
        let littleEndian = withUnsafeBytes(of: UInt32(number).littleEndian) { Array($0) }
        let message = page[start..<end] + littleEndian
        var code = [UInt8](repeating: 0, count: codeCount)
        let isComputed = authenticationKey.withUnsafeBytes { key in
            message.withUnsafeBufferPointer {
                HMAC(
                    cipher.hmacAlgorithm.digest,
                    key.baseAddress,
                    Int32(key.count),
                    $0.baseAddress,
                    $0.count,
                    &code,
                    nil
                ) != nil
            }
        }
        return isComputed && page[end..<(end + codeCount)].elementsEqual(code)
    }
}
