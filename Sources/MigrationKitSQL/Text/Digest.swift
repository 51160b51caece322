#if canImport(CryptoKit)
    import CryptoKit
#else
    import CLibCrypto
#endif

/// Hash functions, from the system's own library.
enum Digest {
    /// - Returns: `nil` if there is no memory.
    static func sha256(_ bytes: [UInt8]) -> [UInt8]? {
        #if canImport(CryptoKit)
            Array(SHA256.hash(data: bytes))
        #else
            digest(bytes, fetchedSHA256)
        #endif
    }

    /// - Returns: `nil` if there is no memory.
    static func sha384(_ bytes: [UInt8]) -> [UInt8]? {
        #if canImport(CryptoKit)
            Array(SHA384.hash(data: bytes))
        #else
            digest(bytes, EVP_sha384())
        #endif
    }

    #if !canImport(CryptoKit)
        /// Fetched once: `EVP_sha256()` alone is looked up again with every digest, which takes
        /// longer than the digest of a short file.
        /// <https://docs.openssl.org/3.0/man7/ossl-guide-libcrypto-introduction/>
        // `unsafe`: libcrypto never changes what it has fetched.
        nonisolated(unsafe) private static let fetchedSHA256 =
            EVP_MD_fetch(nil, "SHA256", nil) ?? EVP_sha256()

        private static func digest(_ bytes: [UInt8], _ algorithm: OpaquePointer?) -> [UInt8]? {
            var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
            var length: UInt32 = 0
            guard EVP_Digest(bytes, bytes.count, &digest, &length, algorithm, nil) == 1 else {
                return nil
            }
            return Array(digest[..<Int(length)])
        }
    #endif
}
