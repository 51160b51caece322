import KeyStore

/// How pages are stored in a file: how their content is decrypted and authenticated.
package struct PageForm {
    package let pageSize: Int
    /// The bytes at the end of each page that SQLite doesn't use. The database's header has this
    /// number. If settings were changed in several steps, there may be more bytes than the cipher
    /// needs.
    package var reservedCount: Int
    private let cipher: PageCipher?
    private let authentication: PageAuthentication?

    /// Creates the form of an encrypted file.
    ///
    /// - Parameters:
    ///   - key: A raw key.
    ///   - salt: The file's salt when its pages were written; `nil` if it isn't known, so that no
    ///     HMAC can be checked.
    package init(key: DatabaseKey, salt: [UInt8]?, cipher: CipherSettings) throws {
        pageSize = cipher.pageSize
        reservedCount = cipher.reservedCount
        self.cipher = try PageCipher(key: key, cipher: cipher)
        authentication = try salt.flatMap {
            try PageAuthentication(key: key, salt: $0, cipher: cipher)
        }
    }

    /// Creates the form of a plaintext file.
    package init(pageSize: Int, reservedCount: Int) {
        self.pageSize = pageSize
        self.reservedCount = reservedCount
        cipher = nil
        authentication = nil
    }

    package var isEncrypted: Bool { cipher != nil }

    package var usableSize: Int { pageSize - reservedCount }

    /// Whether each page has an HMAC. Without one, damage shows only if the content makes no sense.
    package var provesPages: Bool { authentication != nil }

    /// Whether a page is intact, as far as that can be checked.
    package func isIntact(_ page: [UInt8], number: Int) -> Bool {
        authentication?.isAuthentic(page, number: number) ?? (page.count == pageSize)
    }

    /// The content of an intact page.
    package func content(_ page: [UInt8], number: Int) -> [UInt8]? {
        cipher == nil ? page : cipher?.decrypt(page, number: number)
    }
}
