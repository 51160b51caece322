import CLibCrypto
import MigrationKitKeys

/// The first hundred bytes of a database, decrypted.
/// <https://www.sqlite.org/fileformat.html#the_database_header>
package struct DatabaseHeader {
    package static let count = 100
    package static let magic = Array("SQLite format 3\0".utf8)

    /// The page with SQLite's lock bytes. Nothing is ever stored in it, and it has no HMAC.
    /// <https://www.sqlite.org/fileformat.html#the_lock_byte_page>
    package static func lockPage(pageSize: Int) -> Int { lockByte / pageSize + 1 }

    /// The offset of the first lock byte. Only tests change it, together with SQLite's, in a process
    /// of their own: a file that has this page is a gigabyte otherwise.
    package nonisolated(unsafe) static var lockByte = 0x4000_0000

    private let bytes: [UInt8]

    /// - Returns: `nil` if the bytes can't be those of a database.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count >= Self.count, bytes.starts(with: Self.magic) else { return nil }
        self.bytes = bytes
        // Three constants, the versions, and the encoding: with a wrong key, the header doesn't
        // decrypt to these.
        guard bytes[21] == 64, bytes[22] == 32, bytes[23] == 32, bytes[18] > 0, bytes[19] > 0,
            (512...65536).contains(pageSize), pageSize.nonzeroBitCount == 1, word(56) <= 3
        else { return nil }
    }

    /// Decrypts the header of an encrypted file.
    ///
    /// - Parameters:
    ///   - page: The first page.
    ///   - key: A raw key.
    ///   - cipher: How the file is encrypted.
    ///   - algorithm: OpenSSL's cipher, with an initialization vector of at most 16 bytes.
    /// - Returns: `nil` if it doesn't decrypt to the header of a database with this page size.
    package init?(
        decrypting page: [UInt8],
        key: DatabaseKey,
        cipher: CipherSettings,
        by algorithm: OpaquePointer? = EVP_aes_256_cbc()
    ) {
        guard page.count == cipher.pageSize else { return nil }
        let end = page.count - cipher.reservedCount
        let vector = Array(page[end..<(end + CipherSettings.vectorCount)])
        // Whole cipher blocks only.
        let blockCount = (Self.count - cipher.encryptedStart + 15) / 16
        let encrypted = Array(page.dropFirst(cipher.encryptedStart).prefix(blockCount * 16))
        var plain = [UInt8](repeating: 0, count: encrypted.count)
        var count: Int32 = 0
        guard let context = EVP_CIPHER_CTX_new() else { return nil }
        defer { EVP_CIPHER_CTX_free(context) }
        let isDecrypted = key.secret.withUnsafeBytes { key in
            EVP_DecryptInit_ex2(
                context,
                algorithm,
                key.baseAddress?.assumingMemoryBound(to: UInt8.self),
                vector,
                nil
            ) == 1
                && EVP_CIPHER_CTX_set_padding(context, 0) == 1
                && EVP_DecryptUpdate(context, &plain, &count, encrypted, Int32(encrypted.count))
                    == 1
        }
        guard isDecrypted, Int(count) == plain.count else { return nil }
        let start =
            cipher.hasPlaintextHeader
            ? Array(page[..<cipher.encryptedStart])
            : Self.magic + page[CipherSettings.saltCount..<cipher.encryptedStart]
        self.init(start + plain)
        // Nothing authenticates a plaintext header. With fewer reserved bytes, SQLite would write over
        // the HMACs. There may be more than the cipher needs.
        guard pageSize == cipher.pageSize,
            !cipher.hasPlaintextHeader || bytes[20] >= cipher.reservedCount
        else { return nil }
    }

    package var pageSize: Int {
        // 1 means 65536, which doesn't fit.
        let size = Int(bytes[16]) << 8 | Int(bytes[17])
        return size == 1 ? 65536 : size
    }

    /// Changes with every version of the first page.
    package var changeCounter: UInt32 { word(24) }

    /// Whether this version of the first page may come right after another one. SQLite counts on from the
    /// page as it read it, which is encrypted; other libraries from the decrypted one.
    ///
    /// - Parameters:
    ///   - header: The other version's header.
    ///   - page: The other version as it is in the file.
    package func follows(_ header: DatabaseHeader, _ page: [UInt8]) -> Bool {
        [page.word(24) &+ 1, header.changeCounter, header.changeCounter &+ 1]
            .contains(changeCounter)
    }

    /// Whether the file is in WAL mode.
    package var usesLog: Bool { bytes[19] == 2 }

    /// Whether it was written by a newer SQLite, which this one can't read.
    package var isNewer: Bool { bytes[19] > 2 }

    /// The number of pages; `nil` if a SQLite before 3.7.0 was the last to write, which didn't
    /// store it.
    package var pageCount: Int? { word(24) == word(92) && word(28) > 0 ? Int(word(28)) : nil }

    /// Whether it has auto-vacuum, which makes the file shorter page by page.
    package var hasPointerMaps: Bool { word(52) != 0 }

    /// The big-endian number of four bytes.
    package func word(_ offset: Int) -> UInt32 {
        bytes.word(offset)
    }
}
