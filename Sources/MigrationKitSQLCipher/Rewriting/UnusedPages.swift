import CSQLCipher
import CipherPages
import Foundation
import KeyStore

/// Pages of a database that are not as they were written and that nothing is lost with, because
/// they are free.
///
/// A copy of pages copies the free ones as well, and SQLCipher gives none that it can't authenticate.
/// So a connection gets empty pages in their place.
final class UnusedPages {
    private let numbers: Set<Int>
    private let pageSize: Int
    private let cipher: PageCipher
    private let authentication: PageAuthentication
    private var methods: FileMethods?

    /// - Returns: `nil` if every page is as it was written, or that can't be told.
    /// - Throws: ``EncryptedDatabaseError`` if the file can't be read.
    init?(of file: DatabaseFile, _ form: DatabaseForm) throws {
        guard case .encrypted(let key, let settings) = form.content else { return nil }
        let inspection = try FileInspection(file, cipher: settings)
        let derived = try inspection.derive(key)
        guard
            let authentication = try PageAuthentication(
                key: derived,
                salt: inspection.salt,
                cipher: settings
            )
        else { return nil }
        numbers = try Set(inspection.damagedPages(form, limit: .max))
        pageSize = settings.pageSize
        cipher = try PageCipher(key: derived, cipher: settings, isEncrypting: true)
        self.authentication = authentication
        guard !numbers.isEmpty else { return nil }
    }

    /// Gives a connection empty pages in their place, if SQLite uses none of them: it reads all that
    /// belongs to a table or an index first.
    ///
    /// - Parameter connection: One in a transaction, which has read no damaged page so far.
    /// - Returns: Whether it uses none.
    func leaveOut(on connection: OpaquePointer?) throws -> Bool {
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        let check = "PRAGMA main.quick_check(20)"
        guard sqlite3_prepare_v2(connection, check, -1, &statement, nil) == SQLITE_OK else {
            return false
        }
        var code = sqlite3_step(statement)
        while code == SQLITE_ROW {
            let finding = sqlite3_column_text(statement, 0).map { String(cString: $0) } ?? ""
            guard finding == "ok" || !ConversionCopy.isDamage(finding) else { return false }
            code = sqlite3_step(statement)
        }
        // SQLCipher gives a page that it can't authenticate as zeros, and an error with the next one.
        let next = "SELECT count(*) FROM main.sqlite_schema"
        guard code == SQLITE_DONE, sqlite3_exec(connection, next, nil, nil, nil) == SQLITE_OK else {
            return false
        }
        methods = try FileMethods(of: "main", connection, owner: self, keepsSharedMemory: true) {
            $0.xRead = { file, bytes, count, offset in
                guard let bytes, let owner = FileMethods.owner(of: file, UnusedPages.self) else {
                    return SQLITE_MISUSE
                }
                let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: Int(count))
                return owner.read(into: buffer, at: Int(offset))
            }
        }
        return true
    }

    private func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int32 {
        guard let methods else { return SQLITE_MISUSE }
        let code = methods.read(buffer, at: offset)
        let number = offset / pageSize + 1
        guard code == SQLITE_OK, buffer.count == pageSize, offset % pageSize == 0,
            numbers.contains(number),
            !authentication.isAuthentic(UnsafeRawBufferPointer(buffer), number: number)
        else { return code }
        buffer.initializeMemory(as: UInt8.self, repeating: 0)
        let isMade =
            cipher.encrypt(buffer, number: number)
            && authentication.authenticate(buffer, number: number)
        return isMade ? SQLITE_OK : SQLITE_IOERR
    }
}

extension ConversionCopy {
    /// Fills the file; once more without the pages that nothing is lost with, if a page that can't be
    /// authenticated keeps it from being filled.
    ///
    /// - Parameter fill: Fills the file. Gets the pages to leave out of a new connection to the source.
    /// - Returns: What `fill` returns.
    func fillLeavingOutUnused<Value>(
        of file: DatabaseFile,
        _ form: DatabaseForm,
        _ fill: (UnusedPages?) throws -> Value
    ) throws -> Value {
        do {
            return try fill(nil)
        } catch PageFailure.source(let code) where !code.isReadFailure {
            guard let unused = try UnusedPages(of: file, form) else {
                throw PageFailure.source(code)
            }
            guard truncate(path, 0) == 0 else { throw ConversionFolder.cannotWrite(path, errno) }
            return try fill(unused)
        }
    }
}
