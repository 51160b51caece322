import CSQLCipher
import Foundation
import Synchronization

/// The file to which several threads write encrypted pages.
///
/// A lock guards SQLite's methods: they may move the file's position and store an error in it.
final class EncryptedPages: @unchecked Sendable {
    // `@unchecked`: the variables are set before there is a page. Later they are used under the
    // lock, or while no thread has pages to write.
    var methods: FileMethods?
    private let lock = NSLock()
    private let firstFailure = Atomic(SQLITE_OK)

    /// The code of the first write that failed; `SQLITE_OK` if none has.
    var failure: Int32 { firstFailure.load(ordering: .relaxed) }

    /// Records the result of a write, if it is the first that failed.
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
