import MigrationKitKeys
import MigrationKitCommon

/// Finds the damaged pages of an encrypted file: those whose HMAC is wrong, and a last one that is cut
/// short.
///
/// SQLCipher's own `cipher_integrity_check` looks for the same. It isn't used, because it computes
/// offsets with 32 bits: from 4 GiB on, it takes each page for another one, and reports it as damaged.
package struct DamagedPages: Sendable {
    private let bytes: SharedBytes
    private let key: DatabaseKey
    private let salt: [UInt8]
    private let cipher: CipherSettings

    /// - Parameters:
    ///   - bytes: The file. Nobody may write it meanwhile.
    ///   - key: A raw key, or the passphrase as a host gave it.
    ///   - cipher: How the file is encrypted.
    /// - Throws: A ``CipherCode`` if the file can't be read, or what deriving the key throws.
    package init(
        of bytes: SharedBytes,
        key: DatabaseKey,
        cipher: CipherSettings
    ) throws {
        (self.bytes, self.cipher) = (bytes, cipher)
        let start = try bytes.bytes(count: CipherSettings.saltCount)
        salt = try cipher.salt(ofFile: start, key: key)
        self.key = try key.derived(salt: salt, cipher: cipher)
    }

    /// Reads all pages, on several threads.
    ///
    /// - Parameter reach: Called again and again with the number of bytes that were read. If it throws,
    ///   the search ends.
    /// - Returns: The numbers of the damaged ones, in order; none if pages have no HMAC.
    /// - Throws: The ``CipherCode`` of a page that can't be read; what `reach` throws.
    package func find(reach: (Int) throws -> Void = { _ in }) throws -> [Int] {
        guard cipher.hmacAlgorithm != .off else { return [] }
        let (size, step) = (cipher.pageSize, chunkCount)
        let count = bytes.count / size
        let damaged = Locked<[Int]>([])
        try WorkerThreads.run(
            (count + step - 1) / step,
            watch: { try reach(min($0 * step, count) * size) },
            make: {
                let search = try search()
                return { part in
                    let pages = part * step + 1..<min((part + 1) * step, count) + 1
                    let found = try search(pages)
                    if !found.isEmpty { damaged.withLock { $0 += found } }
                }
            }
        )
        let isCutShort = bytes.count % size > 0
        return damaged.withLock { $0.sorted() } + (isCutShort ? [count + 1] : [])
    }

    /// How many pages are read at once.
    private var chunkCount: Int { max(1, 256 * 1024 / cipher.pageSize) }

    /// Makes the search of one thread: it returns the damaged ones of some consecutive pages, which
    /// aren't more than are read at once.
    func search() throws -> (_ pages: Range<Int>) throws -> [Int] {
        let authentication = try PageAuthentication(key: key, salt: salt, cipher: cipher)
        let buffer = SearchBuffer(byteCount: chunkCount * cipher.pageSize)
        let size = cipher.pageSize
        let lockPage = DatabaseHeader.lockPage(pageSize: size)
        return { [bytes] numbers in
            let pages = UnsafeMutableRawBufferPointer(
                rebasing: buffer.memory[..<(numbers.count * size)]
            )
            let code = bytes.readPart(into: pages, at: (numbers.lowerBound - 1) * size)
            guard code == .ok else { throw code }
            return numbers.filter { number in
                let start = (number - numbers.lowerBound) * size
                let page = UnsafeRawBufferPointer(rebasing: pages[start..<start + size])
                return number != lockPage
                    && authentication?.isAuthentic(page, number: number) == false
            }
        }
    }
}

/// The memory of one thread.
private final class SearchBuffer {
    let memory: UnsafeMutableRawBufferPointer

    init(byteCount: Int) {
        memory = .allocate(byteCount: byteCount, alignment: 16)
    }

    deinit { memory.deallocate() }
}
