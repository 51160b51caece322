import Foundation
import MigrationKitKeys
import MigrationKitPages
import MigrationKitSQLCipher
import Testing

/// The pages of an encrypted file, to change what is in them: they are encrypted and authenticated again,
/// as by a program that has the key.
struct StoredPages {
    let cipher: CipherSettings
    private let key: DatabaseKey
    private(set) var stored: [UInt8]
    /// All pages, decrypted.
    let image: [UInt8]

    /// - Parameter key: A raw key.
    init(_ stored: Data, key: DatabaseKey, cipher: CipherSettings) throws {
        (self.stored, self.key, self.cipher) = (Array(stored), key, cipher)
        let decryption = try PageCipher(key: key, cipher: cipher)
        let size = cipher.pageSize
        image = try (0..<stored.count / size).flatMap { index in
            let page = Array(stored[index * size..<(index + 1) * size])
            return try #require(decryption.decrypt(page, number: index + 1))
        }
    }

    var pageCount: Int { stored.count / cipher.pageSize }

    /// A page, decrypted.
    func page(_ number: Int) -> [UInt8] {
        Array(image[(number - 1) * cipher.pageSize..<number * cipher.pageSize])
    }

    /// The file with other pages.
    ///
    /// - Parameter key: The key of the changed pages; `nil` for the file's own.
    func with(_ changed: [UInt8], key: DatabaseKey? = nil) throws -> Data {
        let salt = Array(stored[..<16])
        let key = key ?? self.key
        let encryption = try PageCipher(key: key, cipher: cipher, isEncrypting: true)
        let authentication = try #require(
            try PageAuthentication(key: key, salt: salt, cipher: cipher)
        )
        var result = stored
        for start in stride(from: 0, to: stored.count, by: cipher.pageSize) {
            let range = start..<start + cipher.pageSize
            guard changed[range] != image[range] else { continue }
            result.replaceSubrange(range, with: changed[range])
            if start == 0 { result.replaceSubrange(0..<16, with: salt) }
            let isDone = result.withUnsafeMutableBytes { bytes in
                let page = UnsafeMutableRawBufferPointer(rebasing: bytes[range])
                let number = start / cipher.pageSize + 1
                return encryption.encrypt(page, number: number)
                    && authentication.authenticate(page, number: number)
            }
            try #require(isDone)
        }
        return Data(result)
    }

    /// The file with another page.
    func changing(_ number: Int, _ body: (inout [UInt8]) -> Void) throws -> Data {
        var (page, changed) = (page(number), image)
        body(&page)
        changed.replaceSubrange(
            (number - 1) * cipher.pageSize..<number * cipher.pageSize,
            with: page
        )
        return try with(changed)
    }
}

extension [UInt8] {
    mutating func put(word: Int, at offset: Int) {
        let bytes = Swift.withUnsafeBytes(of: UInt32(word).bigEndian, Array.init)
        replaceSubrange(offset..<offset + 4, with: bytes)
    }
}
