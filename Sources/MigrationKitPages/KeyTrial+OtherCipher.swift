import CLibCrypto
import MigrationKitKeys

// The trial of ciphers that SQLCipher 4 doesn't have.

extension CipherSettings {
    /// The same settings with a cipher that isn't AES-256 in CBC mode; `nil` if the first page doesn't show that.
    /// It shows that if another mode decrypts it, or if it is authentic and doesn't decrypt to anything: the
    /// first page of a database never looks random.
    ///
    /// - Parameters:
    ///   - page: The first page.
    ///   - key: A raw key.
    ///   - isAuthentic: Whether its HMAC is right, with these settings.
    func withOtherCipher(
        of page: [UInt8],
        key: DatabaseKey,
        isAuthentic: Bool
    ) throws -> CipherSettings? {
        for (bits, name) in OtherCipher.modes where !isAuthentic || bits == 256 {
            guard let algorithm = EVP_get_cipherbyname(name),
                DatabaseHeader(decrypting: page, key: key, cipher: self, by: algorithm) != nil
            else { continue }
            return with(OtherCipher(keyCount: bits / 8, codeDistance: codeDistance, name: name))
        }
        guard isAuthentic else { return nil }
        let content = try PageCipher(key: key, cipher: self).decrypt(page, number: 1)
        let encrypted = encryptedStart..<pageSize - reservedCount
        guard let content, FileBeginning.looksRandom(content[encrypted]) else { return nil }
        return with(OtherCipher(keyCount: Self.keyCount, codeDistance: codeDistance))
    }

    /// The settings with another cipher that the first page shows, with the derivation of these; `nil` if it
    /// shows none. The HMAC is that of the encrypted page, and its key has the size of the cipher's.
    /// <https://github.com/sqlcipher/sqlcipher/blob/v3.4.1/src/crypto_impl.c>
    ///
    /// - Parameters:
    ///   - page: The first page of a size; `nil` if the file has no page of it.
    ///   - key: A raw key.
    func withOtherCipher(
        key: DatabaseKey,
        salt: [UInt8],
        page: (_ pageSize: Int) -> [UInt8]?
    ) throws -> CipherSettings? {
        for settings in group(keyDerivation) where settings.pageCodes == PageCodes() {
            guard let page = page(settings.pageSize) else { continue }
            switch settings.hmacAlgorithm {
            case .sha256, .sha512: break
            case .off:
                let found = try settings.withOtherCipher(of: page, key: key, isAuthentic: false)
                if let found { return found }
            case .sha1:
                for settings in OtherCipher.sizes.map(settings.with) {
                    let authentication = try PageAuthentication(
                        key: key,
                        salt: salt,
                        cipher: settings
                    )
                    if authentication?.isAuthentic(page, number: 1) == true { return settings }
                }
            }
        }
        return nil
    }
}
