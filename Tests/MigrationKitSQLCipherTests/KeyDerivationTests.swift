import CLibCrypto
import Foundation
import Testing

@testable import MigrationKitPages
@testable import MigrationKitSQLCipher

/// The derivation of SQLCipher's keys beside its definition.
@Suite struct KeyDerivationTests {
    typealias Algorithm = CipherSettings.KDFAlgorithm

    /// Bytes of all kinds, the same ones every time.
    private func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 * 167 + count) }
    }

    private func derive(
        _ algorithm: Algorithm,
        _ passphrase: [UInt8],
        _ salt: [UInt8],
        iterations: Int
    ) throws -> [UInt8] {
        var key = [UInt8](repeating: 0, count: CipherSettings.keyCount)
        try passphrase.withUnsafeBytes { passphrase in
            try key.withUnsafeMutableBytes {
                try algorithm.derive(
                    from: passphrase,
                    salt: salt,
                    iterations: iterations,
                    into: $0
                )
            }
        }
        return key
    }

    /// One HMAC.
    private func hmac(_ digest: OpaquePointer?, _ key: [UInt8], _ message: [UInt8]) -> [UInt8] {
        // Without a byte there is no address, and without that no key.
        let key = key.isEmpty ? [0] : key
        let context = clibcrypto_hmac_new(digest, key, key.count)
        defer { EVP_MAC_CTX_free(context) }
        var code = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count = 0
        #expect(EVP_MAC_update(context, message, message.count) == 1)
        #expect(EVP_MAC_final(context, &code, &count, code.count) == 1)
        return Array(code[..<count])
    }

    /// PBKDF2, as <https://www.rfc-editor.org/rfc/rfc8018#section-5.2> defines it.
    private func definition(
        _ digest: OpaquePointer?,
        _ passphrase: [UInt8],
        _ salt: [UInt8],
        iterations: Int
    ) -> [UInt8] {
        var key: [UInt8] = []
        while key.count < CipherSettings.keyCount {
            let number = UInt8(key.count / Int(EVP_MD_get_size(digest)) + 1)
            var block = hmac(digest, passphrase, salt + [0, 0, 0, number])
            var sum = block
            for _ in 1..<iterations {
                block = hmac(digest, passphrase, block)
                for index in sum.indices { sum[index] ^= block[index] }
            }
            key += sum
        }
        return Array(key[..<CipherSettings.keyCount])
    }

    /// Around the sizes of a hash, 64 bytes, and of a block, 128, beyond which a passphrase stands
    /// for its hash.
    @Test(arguments: [0, 1, 20, 63, 64, 65, 127, 128, 129, 300])
    func keyIsDerivedAsPBKDF2DefinesIt(passphraseCount: Int) throws {
        let passphrase = bytes(passphraseCount)
        for saltCount in [0, 1, 16, 64] {
            let salt = bytes(saltCount)
            for iterations in [1, 2, 3, 100] {
                for (algorithm, digest) in [
                    (Algorithm.sha1, EVP_sha1()), (.sha256, EVP_sha256()), (.sha512, EVP_sha512()),
                ] {
                    #expect(
                        try derive(algorithm, passphrase, salt, iterations: iterations)
                            == definition(digest, passphrase, salt, iterations: iterations),
                        "\(algorithm), salt \(saltCount), iterations \(iterations)"
                    )
                }
            }
        }
    }

    /// SHA-1: <https://www.rfc-editor.org/rfc/rfc6070#section-2>, continued to 32 bytes; SHA-256:
    /// <https://www.rfc-editor.org/rfc/rfc7914#section-11>, the first 32 bytes. No RFC has vectors for
    /// SHA-512; these are what Python's `hashlib` gives.
    @Test(arguments: [
        (
            Algorithm.sha1, "passwordPASSWORDpassword", "saltSALTsaltSALTsaltSALTsaltSALTsalt",
            4096,
            "3d2eec4fe41c849b80c8d83662c0e44a8b291a964cf2f07038b6b89a48612c5a"
        ),
        (
            .sha256, "Password", "NaCl", 80000,
            "4ddcd8f60b98be21830cee5ef22701f9641a4418d04c0414aeff08876b34ab56"
        ),
        (
            .sha512, "password", "salt", 1,
            "867f70cf1ade02cff3752599a3a53dc4af34c7a669815ae5d513554e1c8cf252"
        ),
        (
            .sha512, "password", "salt", 2,
            "e1d9c16aa681708a45f5c7c4e215ceb66e011a2e9f0040713f18aefdb866d53c"
        ),
    ])
    func theKeyIsThePublishedOne(
        algorithm: Algorithm,
        passphrase: String,
        salt: String,
        iterations: Int,
        key: String
    ) throws {
        let derived = try derive(
            algorithm,
            Array(passphrase.utf8),
            Array(salt.utf8),
            iterations: iterations
        )
        #expect(derived.map { String(format: "%02x", $0) }.joined() == key)
    }

    @Test func noIterationIsRefused() {
        for algorithm in Algorithm.allCases {
            #expect(throws: LibCryptoError.self) {
                try derive(algorithm, bytes(8), bytes(16), iterations: 0)
            }
        }
    }
}
