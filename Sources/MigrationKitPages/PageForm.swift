import KeyStore

/// How pages are kept in a file: what their content is made of, and how it is proven.
package struct PageForm {
    package let pageSize: Int
    /// The bytes at the end of each page that SQLite doesn't use. The database's header knows: where
    /// settings were made one after the other, there may be more than the cipher needs.
    package var reservedCount: Int
    private let cipher: PageCipher?
    private let authentication: PageAuthentication?

    /// Of an encrypted file.
    ///
    /// - Parameters:
    ///   - key: A raw key.
    ///   - salt: The file's, as it was when pages were written; `nil` if it isn't known, so that no
    ///     HMAC can be checked.
    package init(key: DatabaseKey, salt: [UInt8]?, cipher: CipherSettings) throws {
        pageSize = cipher.pageSize
        reservedCount = cipher.reservedCount
        self.cipher = try PageCipher(key: key, cipher: cipher)
        authentication = try salt.flatMap {
            try PageAuthentication(key: key, salt: $0, cipher: cipher)
        }
    }

    /// Of a plaintext file.
    package init(pageSize: Int, reservedCount: Int) {
        self.pageSize = pageSize
        self.reservedCount = reservedCount
        cipher = nil
        authentication = nil
    }

    package var isEncrypted: Bool { cipher != nil }

    package var usableSize: Int { pageSize - reservedCount }

    /// Whether an HMAC proves each page. Without one, damage shows only where it makes no sense.
    package var provesPages: Bool { authentication != nil }

    /// Whether a page is as it was written, as far as that can be checked.
    package func isIntact(_ page: [UInt8], number: Int) -> Bool {
        authentication?.isAuthentic(page, number: number) ?? (page.count == pageSize)
    }

    /// The content of a page, which is intact.
    package func content(_ page: [UInt8], number: Int) -> [UInt8]? {
        cipher == nil ? page : cipher?.decrypt(page, number: number)
    }
}
