import CSQLCipher
import Dispatch
import MigrationKitCommon
import MigrationKitKeys
import Synchronization

/// The file to which several threads write encrypted pages.
///
/// A lock guards SQLite's methods: they may move the file's position and store an error in it.
final class EncryptedPages: Sendable {
    private let methods = Locked<FileMethods?>(nil)
    private let firstFailure = Atomic(SQLITE_OK)

    /// Takes the file's own methods, before there is a page.
    func use(_ methods: FileMethods) {
        self.methods.withLock { $0 = methods }
    }

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
        methods.withLock {
            failure == SQLITE_OK ? $0?.write(bytes, at: offset) ?? SQLITE_MISUSE : failure
        }
    }

    func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int32 {
        methods.withLock { $0?.read(buffer, at: offset) ?? SQLITE_MISUSE }
    }

    /// Calls another one of the file's methods.
    func call(_ method: (sqlite3_io_methods) -> Int32?) -> Int32 {
        methods.withLock { $0?.call(method) ?? SQLITE_MISUSE }
    }
}
