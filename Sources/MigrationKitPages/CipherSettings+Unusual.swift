import MigrationKitKeys

// What a search tries for a file whose settings nobody remembers.

extension CipherSettings {
    /// What the HMACs of pages depend on beside their hash function, by pragmas that SQLCipher deprecates.
    /// There are no options for them.
    package struct PageCodes: Hashable, Sendable {
        /// Whether they contain a page's number with its highest byte first: `cipher_hmac_pgno`.
        var hasBigEndianNumbers = false
        /// How many iterations derive their key from the encryption key: `fast_kdf_iter`.
        var iterations = 2
        /// What is combined with each byte of the salt for that: `cipher_hmac_salt_mask`.
        var mask: UInt8 = 0x3a

        /// What sets them on a connection, in the words of SQLCipher; none for what it does by itself.
        var pragmas: [String] {
            (hasBigEndianNumbers ? ["cipher_hmac_pgno = be"] : [])
                + (iterations == 2 ? [] : ["fast_kdf_iter = \(iterations)"])
                + (mask == 0x3a
                    ? [] : ["cipher_hmac_salt_mask = \"x'\([mask].hexadecimalDigits)'\""])
        }
    }

    /// Whether only a search finds them, since no options name them.
    package var isOnlySearched: Bool {
        pageCodes != PageCodes() || pageSize == Self.smallestPageSize || otherCipher != nil
    }

    /// Why a connection can't have some settings, which are a file's nevertheless.
    package enum Obstacle {
        /// SQLCipher keeps the mask for all of a process.
        case mask
        /// HMACs leave fewer bytes of a page than SQLite needs. SQLCipher writes such a file, and reads it
        /// only as long as it is open. <https://www.sqlite.org/fileformat.html#reserved_bytes_per_page>
        case smallPages
        case otherCipher
    }

    /// `nil` if a connection can have these settings.
    package var obstacle: Obstacle? {
        if otherCipher != nil { return .otherCipher }
        if pageSize - reservedCount < 480 { return .smallPages }
        return pageCodes.mask == PageCodes().mask ? nil : .mask
    }

    /// Whether a connection can have these settings.
    package var canBeSet: Bool { obstacle == nil }

    /// SQLite's smallest page.
    static let smallestPageSize = 512

    /// The same settings with other iterations for the HMACs' key, or another mask, the likeliest first. An
    /// authentic page must prove them.
    var withOtherPageCodes: [CipherSettings] {
        let more = [
            20, 32, 50, 64, 100, 128, 200, 250, 256, 500, 512, 1_000, 1_024, 2_000, 4_000, 5_000,
            10_000,
        ]
        // SQLCipher 2.0 began with 4,000 iterations and no mask.
        let others = (Array(1...16) + more).flatMap {
            [PageCodes(iterations: $0), PageCodes(iterations: $0, mask: 0)]
        }
        let codes =
            (0...UInt8.max).map { PageCodes(mask: $0) } + others
            + others.map {
                PageCodes(hasBigEndianNumbers: true, iterations: $0.iterations, mask: $0.mask)
            }
        return codes.map {
            var settings = self
            settings.pageCodes = $0
            return settings
        }
    }
}

extension CipherSettings {
    /// Settings that programs have chosen beside the versions' own, in groups with one derivation each, the
    /// quickest first. They have the header and the salt of these.
    ///
    /// The iterations are the versions' own, round numbers, and those of OWASP's advice over the years.
    /// <https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html#pbkdf2>
    package var unusualGroups: [[CipherSettings]] {
        let common = [
            1, 2, 10, 100, 1_000, 2_000, 4_000, 5_000, 8_000, 10_000, 16_000, 20_000, 25_000,
            32_000, 50_000, 64_000, 65_536, 100_000, 128_000, 150_000, 200_000, 256_000,
        ]
        let more: [KDFAlgorithm: [Int]] = [
            .sha1: [300_000, 500_000, 600_000],
            .sha256: [250_000, 300_000, 310_000, 500_000, 600_000, 1_000_000],
            .sha512: [120_000, 210_000, 250_000, 300_000, 310_000, 500_000, 600_000, 1_000_000],
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
        let little = [4096, 1024, 8192, 65536, 2048, 16384, 32768, Self.smallestPageSize].flatMap {
            size in
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
            settings.pageCodes.hasBigEndianNumbers = true
            return settings
        }
        return little + big
    }
}
