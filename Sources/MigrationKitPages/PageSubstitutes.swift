import CSQLCipher
import KeyStore

/// Gives SQLite other pages instead of damaged ones.
package final class PageSubstitutes: FileReader {
    /// The pages that SQLite has read as empty ones since this set was last emptied.
    package var readPages: Set<Int> = []

    /// The content at the start of substitutes that aren't empty, by page number.
    package var contents: [Int: [UInt8]] = [:]

    /// Whether SQLite gets other pages. Otherwise it gets those of the file.
    package var isActive = true

    private let numbers: Set<Int>
    private let pageSize: Int
    private let cipher: PageCipher
    private let authentication: PageAuthentication

    /// - Parameters:
    ///   - numbers: The damaged pages.
    ///   - key: A raw key.
    ///   - salt: The first 16 bytes of the file.
    /// - Returns: `nil` if pages have no HMAC, so that none is known to be damaged.
    package init?(
        for numbers: Set<Int>,
        key: DatabaseKey,
        salt: [UInt8],
        cipher settings: CipherSettings
    ) throws {
        guard let authentication = try PageAuthentication(key: key, salt: salt, cipher: settings)
        else { return nil }
        self.authentication = authentication
        self.numbers = numbers
        pageSize = settings.pageSize
        cipher = try PageCipher(key: key, cipher: settings, isEncrypting: true)
    }

    override func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int32 {
        let code = readFile(into: buffer, at: offset)
        let number = offset / pageSize + 1
        guard isActive, code == SQLITE_OK, buffer.count == pageSize, offset % pageSize == 0 else {
            return code
        }
        let content = contents[number]
        if content == nil {
            guard numbers.contains(number),
                !authentication.isAuthentic(UnsafeRawBufferPointer(buffer), number: number)
            else { return code }
            readPages.insert(number)
        }
        buffer.initializeMemory(as: UInt8.self, repeating: 0)
        buffer.copyBytes(from: content ?? [])
        let isMade =
            cipher.encrypt(buffer, number: number)
            && authentication.authenticate(buffer, number: number)
        return isMade ? SQLITE_OK : SQLITE_IOERR
    }
}
