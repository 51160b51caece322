import CSQLCipher
import Foundation
import Synchronization

/// The file that encrypted pages are written to, for several threads.
///
/// SQLite's own methods may move the file's position, and note an error in the file.
final class EncryptedPages: @unchecked Sendable {
    // `@unchecked`: the file is used under the lock, or while no thread has pages to write.
    let file: UnsafeMutablePointer<sqlite3_file>
    let methods: UnsafePointer<sqlite3_io_methods>
    private let lock = NSLock()
    private let firstFailure = Atomic(SQLITE_OK)

    init(file: UnsafeMutablePointer<sqlite3_file>, methods: UnsafePointer<sqlite3_io_methods>) {
        self.file = file
        self.methods = methods
    }

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
            guard failure == SQLITE_OK else { return failure }
            return methods.pointee.xWrite?(
                file,
                bytes.baseAddress,
                Int32(bytes.count),
                sqlite3_int64(offset)
            ) ?? SQLITE_MISUSE
        }
    }

    func read(into bytes: inout [UInt8], at offset: Int) -> Int32 {
        lock.withLock {
            methods.pointee.xRead?(file, &bytes, Int32(bytes.count), sqlite3_int64(offset))
                ?? SQLITE_MISUSE
        }
    }
}
