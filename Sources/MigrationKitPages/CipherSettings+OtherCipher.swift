import CLibCrypto
import MigrationKitKeys

// What SQLCipher 3 and before could be set to, and 4 can't.

extension CipherSettings {
    /// A cipher of OpenSSL: `PRAGMA cipher`. Only what tells it from a wrong key is known.
    package struct OtherCipher: Hashable, Sendable, CustomStringConvertible {
        let keyCount: Int
        /// How many bytes before a page's end its HMAC is. They depend on the sizes of the cipher's vector and
        /// of its blocks.
        let codeDistance: Int
        /// `nil` if only its sizes are known.
        var name: String?

        /// Words with its name, or that of one with these sizes.
        package var description: String {
            if let name { return "the cipher \(name)" }
            let example =
                switch (keyCount, codeDistance) {
                case (32, _): "aes-256-cfb"
                case (24, 40): "des-ede3-cbc"
                case (24, _): "aes-192-cbc"
                case (16, 40): "bf-cbc"
                case (16, 36), (16, 48): "rc4"
                case (16, _): "aes-128-cbc"
                case (8, _): "des-cbc"
                default: "rc2-40-cbc"
                }
            return "another cipher with keys of \(keyCount * 8) bits, such as \(example)"
        }

        /// The sizes of OpenSSL's ciphers, without those of AES-256 in CBC mode. A page has room for 16 bytes of
        /// a vector and the HMAC, in blocks of 16 bytes or, if `cipher_use_hmac` follows `cipher`, in those of
        /// the cipher: 48, 40 or 36. The HMAC is behind the vector, which has 16, 8 or no bytes.
        fileprivate static let sizes = [32, 24, 16, 8, 5].flatMap { keyCount in
            [32, 40, 48, 20, 28, 36].map { OtherCipher(keyCount: keyCount, codeDistance: $0) }
        }.filter { ($0.keyCount, $0.codeDistance) != (32, 32) }

        /// The modes of AES that need no HMAC to be told.
        fileprivate static let modes = [256, 192, 128].flatMap { bits in
            ["cbc", "cfb", "ofb", "ctr", "ecb"].map { (bits, "aes-\(bits)-\($0)") }
        }.filter { $0.1 != "aes-256-cbc" }
    }

    private func with(_ otherCipher: OtherCipher) -> CipherSettings {
        var settings = self
        settings.otherCipher = otherCipher
        return settings
    }

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
