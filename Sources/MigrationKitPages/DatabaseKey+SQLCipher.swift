import MigrationKitKeys

extension DatabaseKey {
    /// The bytes for `sqlite3_key`: a passphrase unchanged, a raw key as `x'...'`.
    /// <https://www.zetetic.net/sqlcipher/sqlcipher-api/#PRAGMA_key>
    func spelled() -> Secret {
        form == .rawKey ? Hexadecimal.literal(hexadecimal()) : secret
    }

    /// The salt that a raw key contains, for the first 16 bytes of a new file; `nil` if it contains
    /// none. <https://www.zetetic.net/sqlcipher/sqlcipher-api/#PRAGMA_key>
    package var salt: [UInt8]? {
        guard form == .rawKey, secret.count > CipherSettings.keyCount else { return nil }
        return secret.withUnsafeBytes { Array($0.dropFirst(CipherSettings.keyCount)) }
    }

    /// The raw key, with its salt, that SQLCipher derives from a passphrase.
    ///
    /// The derivation deliberately takes a tenth of a second. It is done once here, so that no
    /// connection repeats it. The file doesn't depend on this: it opens with the passphrase, and
    /// with the derived key. A raw key is returned unchanged.
    ///
    /// - Parameters:
    ///   - salt: The file's first 16 bytes, or 16 random ones for a new file.
    ///   - cipher: How the file is encrypted.
    package func derived(salt: [UInt8], cipher: CipherSettings) throws -> DatabaseKey {
        guard form == .passphrase else { return self }
        let raw = try secret.withUnsafeBytes { passphrase in
            try Secret(capacity: CipherSettings.keyCount + salt.count) { output in
                try cipher.kdfAlgorithm.derive(
                    from: passphrase,
                    salt: salt,
                    iterations: cipher.kdfIterations,
                    into: output
                )
                for (index, byte) in salt.enumerated() {
                    output[CipherSettings.keyCount + index] = byte
                }
                return CipherSettings.keyCount + salt.count
            }
        }
        return try .rawKey(bytes: raw)
    }
}
