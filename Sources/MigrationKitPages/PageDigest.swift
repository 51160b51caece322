import CLibCrypto
import Foundation

/// Computes a GMAC of pages: that of AES-128-GCM without anything to encrypt.
///
/// Nobody who doesn't know the key can make another page with the same digest. Key and digests never
/// leave the process. It takes a quarter of the time of SHA-256.
/// <https://docs.openssl.org/3.0/man3/EVP_EncryptInit/#aead-interface>
final class PageDigest {
    typealias Value = SIMD2<UInt64>

    private let context: OpaquePointer

    /// - Parameter key: 16 bytes.
    init(key: [UInt8]) throws {
        guard let context = EVP_CIPHER_CTX_new() else { throw LibCryptoError.refused }
        self.context = context
        guard EVP_EncryptInit_ex2(context, EVP_aes_128_gcm(), key, nil, nil) == 1 else {
            throw LibCryptoError.refused
        }
    }

    deinit { EVP_CIPHER_CTX_free(context) }

    /// 16 random bytes.
    static func randomKey() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }

    /// - Parameters:
    ///   - page: One thread at a time calls this.
    ///   - count: How many of its bytes count.
    ///   - number: The page's number, which is the initialization vector.
    func of(_ page: UnsafeRawBufferPointer, _ count: Int, number: Int) throws -> Value {
        var (digest, rest, length) = (Value(), Value(), Int32(0))
        let isComputed = withUnsafeBytes(of: (UInt64(number).littleEndian, UInt32(0))) { vector in
            withUnsafeMutableBytes(of: &digest) { digest in
                withUnsafeMutableBytes(of: &rest) { rest in
                    EVP_EncryptInit_ex2(context, nil, nil, vector.bytes, nil) == 1
                        && EVP_EncryptUpdate(
                            context,
                            nil,
                            &length,
                            page.bytes,
                            Int32(count)
                        ) == 1
                        && EVP_EncryptFinal_ex(context, rest.bytes, &length) == 1
                        && EVP_CIPHER_CTX_ctrl(
                            context,
                            EVP_CTRL_AEAD_GET_TAG,
                            Int32(digest.count),
                            digest.baseAddress
                        ) == 1
                }
            }
        }
        guard isComputed else { throw LibCryptoError.refused }
        return digest
    }
}

/// The digests of a file's pages, 16 bytes each.
final class PageDigests: @unchecked Sendable {
    // `@unchecked`: each page is one thread's, and threads that read begin after those that write.
    private let memory: UnsafeMutablePointer<PageDigest.Value>
    private let contentCount: Int
    private let key = PageDigest.randomKey()

    /// - Parameters:
    ///   - count: How many pages there are.
    ///   - contentCount: How many bytes of a page count. What follows is made anew for each file.
    init(count: Int, contentCount: Int) {
        memory = .allocate(capacity: count + 1)
        memory.initialize(repeating: PageDigest.Value(), count: count + 1)
        self.contentCount = contentCount
    }

    deinit { memory.deallocate() }

    /// What one thread sets and compares digests with.
    func check() throws -> Check { Check(digests: self, digest: try PageDigest(key: key)) }

    struct Check {
        fileprivate let digests: PageDigests
        fileprivate let digest: PageDigest

        func set(_ page: UnsafeRawBufferPointer, number: Int) throws {
            digests.memory[number] = try digest.of(page, digests.contentCount, number: number)
        }

        func isEqual(_ page: UnsafeRawBufferPointer, number: Int) -> Bool {
            let value = try? digest.of(page, digests.contentCount, number: number)
            return digests.memory[number] == value
        }
    }
}

extension UnsafeRawBufferPointer {
    fileprivate var bytes: UnsafePointer<UInt8>? {
        baseAddress?.assumingMemoryBound(to: UInt8.self)
    }
}

extension UnsafeMutableRawBufferPointer {
    fileprivate var bytes: UnsafeMutablePointer<UInt8>? {
        baseAddress?.assumingMemoryBound(to: UInt8.self)
    }
}
