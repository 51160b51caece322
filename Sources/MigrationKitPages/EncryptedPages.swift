import CSQLCipher
import Foundation
import Synchronization

/// The file that encrypted pages are written to, for several threads.
///
/// SQLite's own methods may move the file's position, and note an error in the file.
final class EncryptedPages: @unchecked Sendable {
    // `@unchecked`: these are set before there is a page, and used under the lock, or while no thread
    // has pages to write.
    var methods: FileMethods?
    private let lock = NSLock()
    private let firstFailure = Atomic(SQLITE_OK)

    /// The code of the first write that failed; `SQLITE_OK` if none has.
    var failure: Int32 { firstFailure.load(ordering: .relaxed) }

    /// Keeps the code of a write, if it is the first that failed.
    func note(_ code: Int32) {
        _ = firstFailure.compareExchange(
            expected: SQLITE_OK,
            desired: code,
            ordering: .relaxed
        )
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Int32 {
        lock.withLock {
            failure == SQLITE_OK ? methods?.write(bytes, at: offset) ?? SQLITE_MISUSE : failure
        }
    }

    func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int32 {
        lock.withLock { methods?.read(buffer, at: offset) ?? SQLITE_MISUSE }
    }
}
