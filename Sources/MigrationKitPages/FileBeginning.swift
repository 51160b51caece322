import CLibCrypto
import MigrationKitKeys

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

    /// Where the encrypted part of the first page begins in a file of SQLite3 Multiple Ciphers.
    package static let endOfMultipleCiphers = 24

    /// Which ciphers a file of SQLite3 Multiple Ciphers may have, in words; `nil` if it isn't one. Unless its
    /// `legacy` is set, the bytes of the header that have the page size stay as they are, and the number of
    /// reserved bytes is that of the cipher.
    /// <https://utelle.github.io/SQLite3MultipleCiphers/docs/ciphers/cipher_overview/>
    ///
    /// With RC4, all pages are encrypted alike. The other legacy modes look like any other encryption.
    ///
    /// - Parameter start: The first bytes of the file. Bytes past its end are zero.
    package static func multipleCiphers(_ start: [UInt8]) -> String? {
        guard start.count >= endOfMultipleCiphers, !start.starts(with: DatabaseHeader.magic) else {
            return nil
        }
        guard (1...2).contains(start[18]), (1...2).contains(start[19]),
            pageSize(inPlaintextHeader: start) != nil
        else { return hasPagesAlike(start) ? "RC4" : nil }
        return switch start[20] {
        case 80, 48: "SQLCipher's encryption"
        case 0: "AES in CBC mode"
        case 32: "ChaCha20 or Ascon"
        case 64: "AEGIS"
        default: "one of its ciphers"
        }
    }

    /// Whether several pages are encrypted with the same bytes of a stream: they are equal where both have zeros.
    private static func hasPagesAlike(_ start: [UInt8]) -> Bool {
        [4096, 1024, 8192, 2048, 16384, 32768, 512].contains { size in
            guard start.count >= 2 * size, looksRandom(start[..<size]) else { return false }
            let pages = zip(start[..<size], start[size..<2 * size])
            // In one of 256 bytes otherwise.
            return pages.count { $0 == $1 } > size / 8
        }
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
    package static func isCertainlyPlaintext(_ start: [UInt8]) -> Bool {
        guard let header = DatabaseHeader(start) else { return false }
        let page = start[DatabaseHeader.count..<min(header.pageSize, start.count)]
        // The first page is a leaf or an interior page of a table. Behind a plaintext header of 96
        // bytes, one encrypted page in 128 begins like one.
        return [5, 13].contains(page[DatabaseHeader.count]) && !looksRandom(page)
    }

    /// Whether a file is text, such as a key or a script. No page of a database is: a plaintext one has
    /// zeros, and an encrypted one looks random.
    ///
    /// - Parameter start: The first bytes of the file.
    package static func isText(_ start: some Collection<UInt8>) -> Bool {
        guard !start.isEmpty, start.allSatisfy({ $0 >= 32 || (9...13).contains($0) || $0 == 27 })
        else { return false }
        // A character may be cut off.
        return (0...3).contains { String(validating: start.dropLast($0), as: UTF8.self) != nil }
    }

    /// Pearson's test: how far the bytes are from being equally frequent. For random ones the sum is
    /// 255, with a standard deviation of 23; for a page of a table it is thousands.
    static func looksRandom(_ bytes: ArraySlice<UInt8>) -> Bool {
        var counts = [Int](repeating: 0, count: 256)
        for byte in bytes { counts[Int(byte)] += 1 }
        let squares = counts.reduce(0) { $0 + $1 * $1 }
        return squares * 256 / bytes.count - bytes.count < 500
    }
}
