import CKeyDerivation
import CSQLCipher
import Testing

/// The derivation of SQLCipher 4 beside libcrypto's own.
@Suite struct KeyDerivationTests {
    /// Bytes of all kinds, the same ones every time.
    private func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 * 167 + count) }
    }

    private func derive(
        _ passphrase: [UInt8],
        _ salt: [UInt8],
        iterations: Int,
        count: Int
    ) -> [UInt8]? {
        var key = [UInt8](repeating: 0, count: count)
        let code = ckeyderivation_pbkdf2_sha512(
            passphrase,
            passphrase.count,
            salt,
            salt.count,
            UInt32(iterations),
            &key,
            count
        )
        return code == 1 ? key : nil
    }

    /// Around the sizes of a hash, 64 bytes, and of a block, 128, beyond which a passphrase stands
    /// for its hash.
    @Test(arguments: [0, 1, 20, 63, 64, 65, 127, 128, 129, 300])
    func theKeyIsLibcryptos(passphraseCount: Int) {
        for saltCount in [0, 1, 16, 64] {
            for iterations in [1, 2, 3, 1000] {
                for count in [1, 32, 64] {
                    let passphrase = bytes(passphraseCount)
                    let salt = bytes(saltCount)
                    var expected = [UInt8](repeating: 0, count: count)
                    let code = passphrase.withUnsafeBytes {
                        PKCS5_PBKDF2_HMAC(
                            $0.baseAddress,
                            Int32(passphraseCount),
                            salt,
                            Int32(saltCount),
                            Int32(iterations),
                            EVP_sha512(),
                            Int32(count),
                            &expected
                        )
                    }
                    #expect(code == 1)
                    #expect(
                        derive(passphrase, salt, iterations: iterations, count: count) == expected,
                        "salt \(saltCount), iterations \(iterations), key \(count)"
                    )
                }
            }
        }
    }

    @Test func whatItCantDoIsRefused() {
        #expect(derive(bytes(8), bytes(65), iterations: 1, count: 32) == nil)
        #expect(derive(bytes(8), bytes(16), iterations: 0, count: 32) == nil)
        #expect(derive(bytes(8), bytes(16), iterations: 1, count: 65) == nil)
    }
}
