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
        static let sizes = [32, 24, 16, 8, 5].flatMap { keyCount in
            [32, 40, 48, 20, 28, 36].map { OtherCipher(keyCount: keyCount, codeDistance: $0) }
        }.filter { ($0.keyCount, $0.codeDistance) != (32, 32) }

        /// The modes of AES that need no HMAC to be told.
        static let modes = [256, 192, 128].flatMap { bits in
            ["cbc", "cfb", "ofb", "ctr", "ecb"].map { (bits, "aes-\(bits)-\($0)") }
        }.filter { $0.1 != "aes-256-cbc" }
    }

    func with(_ otherCipher: OtherCipher) -> CipherSettings {
        var settings = self
        settings.otherCipher = otherCipher
        return settings
    }
}
