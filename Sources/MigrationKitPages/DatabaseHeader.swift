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
    /// - Returns: `nil` if it doesn't decrypt to the header of a database with this page size.
    package init?(decrypting page: [UInt8], key: DatabaseKey, cipher: CipherSettings) {
        guard page.count == cipher.pageSize else { return nil }
        let end = page.count - cipher.reservedCount
        let vector = Array(page[end..<(end + CipherSettings.vectorCount)])
        // Whole cipher blocks only.
        let encrypted = Array(page[cipher.encryptedStart..<112])
        var plain = [UInt8](repeating: 0, count: encrypted.count)
        var count: Int32 = 0
        guard let context = EVP_CIPHER_CTX_new() else { return nil }
        defer { EVP_CIPHER_CTX_free(context) }
        let isDecrypted = key.secret.withUnsafeBytes { key in
            EVP_DecryptInit_ex2(
                context,
                EVP_aes_256_cbc(),
                key.baseAddress?.assumingMemoryBound(to: UInt8.self),
                vector,
                nil
            ) == 1
                && EVP_CIPHER_CTX_set_padding(context, 0) == 1
                && EVP_DecryptUpdate(context, &plain, &count, encrypted, Int32(encrypted.count))
                    == 1
        }
        guard isDecrypted, Int(count) == plain.count else { return nil }
        let start = cipher.hasPlaintextHeader ? Array(page[..<cipher.encryptedStart]) : Self.magic
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

    /// Whether the file is in WAL mode.
    package var usesLog: Bool { bytes[19] == 2 }

    /// Whether it was written by a newer SQLite, which this one can't read.
    package var isNewer: Bool { bytes[19] > 2 }

    /// The number of pages; `nil` if a SQLite before 3.7.0 was the last to write, which didn't
    /// store it.
    package var pageCount: Int? { word(24) == word(92) && word(28) > 0 ? Int(word(28)) : nil }

    /// The big-endian number of four bytes.
    package func word(_ offset: Int) -> UInt32 {
        bytes.word(offset)
    }
}

// MARK: - Plaintext Header

/// What the beginning of a file says, before there is a key.
package enum FileBeginning {
    /// How many bytes are looked at. Fewer are enough if the file or its pages are smaller.
    package static let count = 4096

    /// Whether a file begins like a plaintext database, but goes on encrypted: it has a plaintext
    /// header (``CipherSettings/plaintextHeaderSize``).
    ///
    /// The first page of a plaintext database is one of the schema, and never looks random.
    ///
    /// - Parameters:
    ///   - start: The first bytes of the file. Bytes past its end are zero.
    ///   - fileSize: The size of the whole file.
    package static func hasPlaintextHeader(_ start: [UInt8], fileSize: Int) -> Bool {
        guard start.count >= count, start.starts(with: DatabaseHeader.magic) else { return false }
        let size = pageSize(inPlaintextHeader: start)
        // At least the initialization vector is after each page's content. A header that has only the
        // mark names no size: the file's must be one of whole pages.
        guard size == nil ? fileSize % 1024 == 0 : start[20] >= CipherSettings.vectorCount else {
            return false
        }
        return looksRandom(start[96..<min(size ?? 1024, start.count)])
    }

    /// The page size of an encrypted database, as its plaintext header has it.
    ///
    /// - Parameter start: The first bytes of the file.
    /// - Returns: `nil` if the header has only the mark, or makes no sense.
    package static func pageSize(inPlaintextHeader start: [UInt8]) -> Int? {
        guard start[21] == 64, start[22] == 32, start[23] == 32 else { return nil }
        // 1 means 65536, which doesn't fit.
        let size = start.half(16) == 1 ? 65536 : start.half(16)
        return (1024...65536).contains(size) && size.nonzeroBitCount == 1 ? size : nil
    }

    /// Whether a file is a plaintext database for certain, not only by its first bytes.
    ///
    /// - Parameter start: The first bytes of the file.
    package static func isPlaintext(_ start: [UInt8]) -> Bool {
        guard let header = DatabaseHeader(start) else { return false }
        let page = start[DatabaseHeader.count..<min(header.pageSize, start.count)]
        // The first page is a leaf or an interior page of a table. Behind a plaintext header of 96
        // bytes, one encrypted page in 128 begins like one.
        return [5, 13].contains(page[DatabaseHeader.count]) && !looksRandom(page)
    }

    /// Pearson's test: how far the bytes are from being equally frequent. For random ones the sum is
    /// 255, with a standard deviation of 23; for a page of a table it is thousands.
    private static func looksRandom(_ bytes: ArraySlice<UInt8>) -> Bool {
        var counts = [Int](repeating: 0, count: 256)
        for byte in bytes { counts[Int(byte)] += 1 }
        let squares = counts.reduce(0) { $0 + $1 * $1 }
        return squares * 256 / bytes.count - bytes.count < 500
    }
}
