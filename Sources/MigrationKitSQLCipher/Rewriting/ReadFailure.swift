import CSQLCipher
import MigrationKitPages
import Foundation
import GRDB
import MigrationKitGRDB

/// Runs `body`. If it fails because of damage, checks whether the disk can't be read: SQLCipher
/// reports a read error in the same way as a damaged page.
///
/// - Parameters:
///   - copy: The temporary file of a new database; `nil` if there is none yet.
///   - place: The new database's path.
///   - source: The database that is copied.
///   - suspecting: Which of the body's own errors may come from a failing disk.
/// - Throws: ``EncryptedDatabaseError/inputOutput(path:detail:)``, or what the body throws.
package func explainingReadFailures<Value>(
    of copy: String?,
    for place: DatabaseFile,
    from source: DatabaseFile,
    suspecting: (any Error) -> Bool = { _ in false },
    _ body: () throws -> Value
) throws -> Value {
    do {
        return try body()
    } catch DatabaseConversionError.copyIsDamaged(_, let finding) where finding.saysReadError {
        throw EncryptedDatabaseError.inputOutput(
            path: place.path,
            detail: "the new file for it can't be read back from the disk"
        )
    } catch  where suspecting(error) || mayBeReadFailure(error) {
        if let copy, let code = DatabaseFile(copy).readFailure {
            throw EncryptedDatabaseError.inputOutput(
                path: place.path,
                detail: "the new file for it gives a read error (SQLite \(code.rawValue))"
            )
        }
        if let code = source.readFailure { throw EncryptedDatabaseError(code, path: source.path) }
        throw error
    }
}

private func mayBeReadFailure(_ error: any Error) -> Bool {
    switch error {
    case let error as DatabaseError:
        [.SQLITE_ERROR, .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_NOMEM, .SQLITE_IOERR]
            .contains(error.resultCode)
    case let code as CipherCode: code.isReadFailure
    case PageRewritingError.unreadable, PageRewritingError.file(EIO): true
    case EncryptedDatabaseError.damaged, EncryptedDatabaseError.newerFormat,
        EncryptedDatabaseError.wrongKey, EncryptedDatabaseError.rawKeyAsPassphrase,
        EncryptedDatabaseError.olderFormat, EncryptedDatabaseError.notADatabase,
        EncryptedDatabaseError.encrypted, EncryptedDatabaseError.inputOutput:
        true
    case DatabaseConversionError.copyIsDamaged, DatabaseConversionError.copyDiffers: true
    default: false
    }
}

extension DatabaseFile {
    /// The result code if the disk can't read the whole file; `nil` if it can.
    fileprivate var readFailure: CipherCode? {
        let step = 1 << 20
        do throws(CipherCode) {
            let connection = try CipherConnection(immutable: absolutePath)
            let size = try connection.fileSize()
            for offset in stride(from: 0, to: size, by: step) {
                _ = try connection.bytes(at: offset, count: min(step, size - offset))
            }
            return nil
        } catch {
            return error.primary == CipherCode.readError ? error : nil
        }
    }
}
