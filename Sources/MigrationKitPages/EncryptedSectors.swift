import CLibCrypto
import CSQLCipher
import Foundation
import Glibc
import MigrationKitCommon

/// Encrypts a file with a random key that only this object has.
///
/// The cipher is AES-256 in XTS mode, made for disks: each sector is encrypted separately, with its
/// number as the tweak, and can be written again. Changes of the file by others aren't detected, but
/// the file has no name, so only root could write it.
/// <https://docs.openssl.org/3.0/man3/EVP_aes_256_gcm/> <https://doi.org/10.6028/NIST.SP.800-38E>
///
/// The methods return a result code of SQLite.
final class EncryptedSectors {
    private static let sectorSize = 4096
    /// How many sectors are read or written at once.
    private static let mostSectors = 16

    private let descriptor: Int32
    private let encrypting: OpaquePointer
    private let decrypting: OpaquePointer
    private let buffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: mostSectors * sectorSize,
        alignment: 16
    )
    /// Sectors from this one on were never written.
    private var end = 0 {
        didSet { Self.total.withLock { $0 += (end - oldValue) * Self.sectorSize } }
    }

    /// How many bytes all of these files of the process have now.
    static var totalByteCount: Int { total.withLock { $0 } }

    private static let total = Locked(0)

    /// - Parameter descriptor: An empty file. It is closed with this object, or if this fails.
    init?(_ descriptor: Int32) {
        guard let contexts = Self.contexts() else {
            buffer.deallocate()
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
        (encrypting, decrypting) = contexts
    }

    deinit {
        Self.total.withLock { $0 -= end * Self.sectorSize }
        // This wipes the key's schedules, too.
        EVP_CIPHER_CTX_free(encrypting)
        EVP_CIPHER_CTX_free(decrypting)
        buffer.deallocate()
        close(descriptor)
    }

    private static func contexts() -> (encrypting: OpaquePointer, decrypting: OpaquePointer)? {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 64) { key in
            defer { OPENSSL_cleanse(key.baseAddress, key.count) }
            guard RAND_priv_bytes(key.baseAddress, Int32(key.count)) == 1 else { return nil }
            let contexts = [Int32(1), 0].compactMap { direction -> OpaquePointer? in
                guard let context = EVP_CIPHER_CTX_new() else { return nil }
                let cipher = EVP_aes_256_xts()
                let code = EVP_CipherInit_ex2(
                    context,
                    cipher,
                    key.baseAddress,
                    nil,
                    direction,
                    nil
                )
                if code == 1 { return context }
                EVP_CIPHER_CTX_free(context)
                return nil
            }
            guard contexts.count == 2 else {
                contexts.forEach(EVP_CIPHER_CTX_free)
                return nil
            }
            return (contexts[0], contexts[1])
        }
    }

    // MARK: - Any Range

    /// Fills a buffer. What was never written is zero.
    func read(into target: UnsafeMutableRawBufferPointer, at offset: Int) -> Int32 {
        forEachWindow(of: offset, target.count) { window in
            let code = load(window.sectors, into: buffer)
            guard code == SQLITE_OK else { return code }
            UnsafeMutableRawBufferPointer(rebasing: target[window.range])
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[window.bytes]))
            return SQLITE_OK
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Int32 {
        forEachWindow(of: offset, bytes.count) { window in
            // The first and the last sector keep what isn't written.
            for sector in window.partialSectors {
                let start = (sector - window.sectors.lowerBound) * Self.sectorSize
                let part = buffer[start..<(start + Self.sectorSize)]
                let code = load(sector..<(sector + 1), into: .init(rebasing: part))
                guard code == SQLITE_OK else { return code }
            }
            UnsafeMutableRawBufferPointer(rebasing: buffer[window.bytes])
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[window.range]))
            return store(window.sectors)
        }
    }

    /// Makes the file shorter. What is written after its end later follows zeros.
    func cut(at size: Int) -> Int32 {
        let (whole, rest) = size.quotientAndRemainder(dividingBy: Self.sectorSize)
        end = min(end, rest == 0 ? whole : whole + 1)
        while ftruncate(descriptor, off_t(end * Self.sectorSize)) != 0 {
            guard errno == EINTR else { return CipherCode.failedTruncation }
        }
        guard rest > 0, end > whole else { return SQLITE_OK }
        let code = load(whole..<end, into: buffer)
        guard code == SQLITE_OK else { return code }
        UnsafeMutableRawBufferPointer(rebasing: buffer[rest..<Self.sectorSize])
            .initializeMemory(as: UInt8.self, repeating: 0)
        return store(whole..<end)
    }

    /// Sectors that fit into the buffer, and what of them is read or written.
    private struct Window {
        let sectors: Range<Int>
        /// The part of the buffer.
        let bytes: Range<Int>
        /// The part of what SQLite reads or writes.
        let range: Range<Int>

        var partialSectors: Set<Int> {
            var partial: Set<Int> = []
            if bytes.lowerBound > 0 { partial.insert(sectors.lowerBound) }
            if bytes.upperBound % EncryptedSectors.sectorSize > 0 {
                partial.insert(sectors.upperBound - 1)
            }
            return partial
        }
    }

    private func forEachWindow(of offset: Int, _ count: Int, _ body: (Window) -> Int32) -> Int32 {
        var done = 0
        while done < count {
            let (first, start) = (offset + done).quotientAndRemainder(dividingBy: Self.sectorSize)
            let part = min(count - done, buffer.count - start)
            let sectorCount = (start + part + Self.sectorSize - 1) / Self.sectorSize
            let code = body(
                Window(
                    sectors: first..<(first + sectorCount),
                    bytes: start..<(start + part),
                    range: done..<(done + part)
                )
            )
            guard code == SQLITE_OK else { return code }
            done += part
        }
        return SQLITE_OK
    }

    // MARK: - Sectors

    private func load(_ sectors: Range<Int>, into buffer: UnsafeMutableRawBufferPointer) -> Int32 {
        let size = sectors.count * Self.sectorSize
        let wanted = max(0, min(sectors.upperBound, end) - sectors.lowerBound) * Self.sectorSize
        let start = sectors.lowerBound * Self.sectorSize
        let count = try? moveAll(wanted) { done, rest in
            pread(descriptor, buffer.baseAddress.map { $0 + done }, rest, off_t(start + done))
        }
        guard count == wanted else { return CipherCode.failedRead }
        UnsafeMutableRawBufferPointer(rebasing: buffer[wanted..<size])
            .initializeMemory(as: UInt8.self, repeating: 0)
        for (index, number) in sectors.enumerated() where number < end {
            let start = index * Self.sectorSize
            let sector = UnsafeMutableRawBufferPointer(
                rebasing: buffer[start..<(start + Self.sectorSize)]
            )
            // A sector of zeros was never written: what is encrypted never looks like that.
            guard !sector.isZero else { continue }
            guard transform(sector, number: number, with: decrypting) else { return SQLITE_ERROR }
        }
        return SQLITE_OK
    }

    /// Encrypts and writes the buffer.
    private func store(_ sectors: Range<Int>) -> Int32 {
        for (index, number) in sectors.enumerated() {
            let start = index * Self.sectorSize
            let sector = UnsafeMutableRawBufferPointer(
                rebasing: buffer[start..<(start + Self.sectorSize)]
            )
            guard transform(sector, number: number, with: encrypting) else { return SQLITE_ERROR }
        }
        let size = sectors.count * Self.sectorSize
        let start = sectors.lowerBound * Self.sectorSize
        do {
            let count = try moveAll(size) { done, rest in
                pwrite(descriptor, buffer.baseAddress.map { $0 + done }, rest, off_t(start + done))
            }
            guard count == size else { return CipherCode.failedWrite }
        } catch {
            return [.ENOSPC, .EDQUOT].contains(error.code) ? SQLITE_FULL : CipherCode.failedWrite
        }
        end = max(end, sectors.upperBound)
        return SQLITE_OK
    }

    private func transform(
        _ sector: UnsafeMutableRawBufferPointer,
        number: Int,
        with context: OpaquePointer
    ) -> Bool {
        let bytes = sector.baseAddress?.assumingMemoryBound(to: UInt8.self)
        let tweak = (UInt64(number).littleEndian, UInt64(0))
        var count: Int32 = 0
        return withUnsafeBytes(of: tweak) { tweak in
            let tweak = tweak.baseAddress?.assumingMemoryBound(to: UInt8.self)
            return EVP_CipherInit_ex2(context, nil, nil, tweak, -1, nil) == 1
                && EVP_CipherUpdate(context, bytes, &count, bytes, Int32(sector.count)) == 1
                && Int(count) == sector.count
        }
    }
}

extension UnsafeMutableRawBufferPointer {
    /// Whether all bytes are zero.
    var isZero: Bool {
        guard let baseAddress, self[0] == 0 else { return isEmpty }
        return memcmp(baseAddress, baseAddress + 1, count - 1) == 0
    }
}
