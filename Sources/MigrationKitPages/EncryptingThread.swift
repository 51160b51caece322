import CSQLCipher
import Dispatch
import MigrationKitCommon
import MigrationKitKeys
import Synchronization

/// One thread that encrypts pages and writes them to a file, in the order in which it gets them.
final class EncryptingThread: @unchecked Sendable {
    // `@unchecked`: only the thread uses `cipher` and `authentication`, and only the caller uses
    // `batch`.

    /// How many pages are passed to the thread at once.
    static func batchCount(_ pageSize: Int) -> Int { max(1, 256 * 1024 / pageSize) }
    /// In bytes. SQLite's write method takes less than 128 KiB.
    private static let largestWrite = 64 * 1024
    /// How many batches may wait. They determine how much memory this uses.
    private static let waitingCount = 8

    private let disk: EncryptedPages
    /// What the file begins with; empty with a plaintext header.
    private let start: [UInt8]
    private let pageSize: Int
    private let cipher: PageCipher
    private let authentication: PageAuthentication?
    private let thread = OwnThread()
    private let places = DispatchSemaphore(value: waitingCount)
    private var batch: Batch?

    /// Consecutive pages in memory.
    private final class Batch: @unchecked Sendable {
        // `@unchecked`: the caller fills it, passes it to the thread, and doesn't use it again.
        let bytes: UnsafeMutableRawBufferPointer
        var numbers: [Int] = []

        init(byteCount: Int) {
            bytes = .allocate(byteCount: byteCount, alignment: 16)
        }

        deinit { bytes.deallocate() }
    }

    init(
        _ disk: EncryptedPages,
        key: DatabaseKey,
        salt: [UInt8],
        cipher: CipherSettings
    ) throws {
        self.disk = disk
        start = cipher.hasPlaintextHeader ? [] : salt
        pageSize = cipher.pageSize
        self.cipher = try PageCipher(key: key, cipher: cipher, isEncrypting: true)
        authentication = try PageAuthentication(key: key, salt: salt, cipher: cipher)
    }

    /// Adds a page to be encrypted and written. Waits if too many are waiting.
    ///
    /// - Parameter number: Its number, from 1.
    func add(_ page: UnsafeRawBufferPointer, number: Int) {
        let most = Self.batchCount(pageSize)
        let batch = batch ?? Batch(byteCount: most * pageSize)
        bytes(batch, batch.numbers.count).copyMemory(from: page)
        batch.numbers.append(number)
        self.batch = batch
        if batch.numbers.count == most { submit() }
    }

    /// Passes on the pages that were added last.
    func submit() {
        guard let batch else { return }
        self.batch = nil
        places.wait()
        thread.run { [self] in
            disk.note(write(batch))
            places.signal()
        }
    }

    /// Returns when everything is written.
    func finish() {
        submit()
        thread.finish()
    }

    private func bytes(_ batch: Batch, _ index: Int) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(
            rebasing: batch.bytes[index * pageSize..<(index + 1) * pageSize]
        )
    }

    /// - Returns: A result code of SQLite.
    private func write(_ batch: Batch) -> Int32 {
        for (index, number) in batch.numbers.enumerated() {
            let page = bytes(batch, index)
            if number == 1 { page.copyBytes(from: start) }
            guard cipher.encrypt(page, number: number),
                authentication?.authenticate(page, number: number) ?? true
            else { return SQLITE_ERROR }
        }
        // Writes adjacent pages with one call.
        let most = Self.largestWrite / pageSize
        var start = 0
        while start < batch.numbers.count {
            let last = min(start + most, batch.numbers.count)
            var end = start + 1
            while end < last, batch.numbers[end] == batch.numbers[end - 1] + 1 { end += 1 }
            let run = batch.bytes[start * pageSize..<end * pageSize]
            let code = disk.write(
                UnsafeRawBufferPointer(rebasing: run),
                at: (batch.numbers[start] - 1) * pageSize
            )
            guard code == SQLITE_OK else { return code }
            start = end
        }
        return SQLITE_OK
    }
}
