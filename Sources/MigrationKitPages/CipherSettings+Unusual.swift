import MigrationKitKeys

// What a search tries for a file whose settings nobody remembers.

extension CipherSettings {
    /// Settings that programs have chosen beside the versions' own, in groups with one derivation each, the
    /// quickest first. They have the header and the salt of these.
    ///
    /// The iterations are the versions' own, round numbers, and those of OWASP's advice over the years.
    /// <https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html#pbkdf2>
    package var unusualGroups: [[CipherSettings]] {
        let common = [
            1, 2, 10, 100, 1_000, 2_000, 4_000, 5_000, 8_000, 10_000, 16_000, 20_000, 32_000,
            50_000, 64_000, 65_536, 100_000, 128_000, 150_000, 200_000, 256_000,
        ]
        let more: [KDFAlgorithm: [Int]] = [
            .sha256: [250_000, 300_000, 310_000, 500_000, 600_000, 1_000_000],
            .sha512: [120_000, 210_000, 250_000, 300_000, 500_000, 600_000, 1_000_000],
        ]
        let derivations = KDFAlgorithm.allCases.flatMap { algorithm in
            (common + (more[algorithm] ?? [])).map {
                KeyDerivation(algorithm: algorithm, iterations: $0)
            }
        }
        return derivations.sorted { $0.iterations < $1.iterations }.map(group)
    }

    /// Settings that take no other derivation of a key: other page sizes and HMACs and, for a raw key, other
    /// hash functions, since only the HMAC's key is derived from it.
    package func unusual(for key: DatabaseKey) -> [CipherSettings] {
        guard key.form == .rawKey else { return group(keyDerivation) }
        return KDFAlgorithm.allCases.flatMap {
            group(KeyDerivation(algorithm: $0, iterations: kdfIterations))
        }
    }

    /// All sizes and HMACs of pages with one derivation, those of the versions first.
    package func group(_ derivation: KeyDerivation) -> [CipherSettings] {
        // Behind a plaintext header, what decrypts doesn't show whether there are HMACs.
        let hmacs: [HMACAlgorithm] =
            [.sha512, .sha1, .sha256] + (hasPlaintextHeader ? [] : [.off])
        let little = [4096, 1024, 8192, 65536, 2048, 16384, 32768].flatMap { size in
            hmacs.map { hmac in
                CipherSettings(
                    unchecked: derivation.algorithm == .sha1 ? 3 : 4,
                    pageSize: size,
                    kdfIterations: derivation.iterations,
                    kdfAlgorithm: derivation.algorithm,
                    hmacAlgorithm: hmac,
                    plaintextHeaderSize: plaintextHeaderSize,
                    salt: salt
                )
            }
        }
        let big = little.filter { $0.hmacAlgorithm != .off }.map {
            var settings = $0
            settings.hasBigEndianNumbers = true
            return settings
        }
        return little + big
    }
}
