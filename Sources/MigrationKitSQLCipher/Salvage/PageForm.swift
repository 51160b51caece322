import KeyStore

/// How pages are kept in a file: what their content is made of, and how it is proven.
struct PageForm {
    let pageSize: Int
    /// The bytes at the end of each page that SQLite doesn't use. The database's header knows: where
    /// settings were made one after the other, there may be more than the cipher needs.
    var reservedCount: Int
    private let cipher: PageCipher?
    private let authentication: PageAuthentication?

    /// Of an encrypted file.
    ///
    /// - Parameters:
    ///   - key: A raw key.
    ///   - salt: The file's, as it was when pages were written; `nil` if it isn't known, so that no
    ///     HMAC can be checked.
    init(key: DatabaseKey, salt: [UInt8]?, cipher: CipherSettings) throws {
        pageSize = cipher.pageSize
        reservedCount = cipher.reservedCount
        self.cipher = try PageCipher(key: key, cipher: cipher)
        authentication = try salt.flatMap {
            try PageAuthentication(key: key, salt: $0, cipher: cipher)
        }
    }

    /// Of a plaintext file.
    init(pageSize: Int, reservedCount: Int) {
        self.pageSize = pageSize
        self.reservedCount = reservedCount
        cipher = nil
        authentication = nil
    }

    var isEncrypted: Bool { cipher != nil }

    var usableSize: Int { pageSize - reservedCount }

    /// Whether an HMAC proves each page. Without one, damage shows only where it makes no sense.
    var provesPages: Bool { authentication != nil }

    /// Whether a page is as it was written, as far as can be told.
    func isIntact(_ page: [UInt8], number: Int) -> Bool {
        authentication?.isAuthentic(page, number: number) ?? (page.count == pageSize)
    }

    /// The content of a page, which is intact.
    func content(_ page: [UInt8], number: Int) -> [UInt8]? {
        cipher == nil ? page : cipher?.decrypt(page, number: number)
    }
}
