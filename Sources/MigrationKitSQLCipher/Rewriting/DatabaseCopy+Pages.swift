import CSQLCipher
import MigrationKitPages
import Foundation
import GRDB

extension DatabaseCopy {
    /// How a copy of pages fails.
    enum PageFailure: Error {
        /// The source can't be read.
        case source(CipherCode)
        /// The file can't be written.
        case file(CipherCode)
    }

    /// Copies a database page by page into the file, which is empty.
    ///
    /// Each page is decrypted with the source's key, authenticated, and encrypted with the file's,
    /// for which the settings of both must be the same. The source must be in a transaction, so
    /// that all pages are of one moment: <https://www.sqlite.org/c3ref/backup_finish.html> begins
    /// again where others write between two steps that are not in one.
    func fillPages(from source: OpaquePointer?, byteCount: Int) throws {
        try checkRoom(for: byteCount, about: byteCount)
        monitor.begin(.copying, total: byteCount)
        // A salt of its own, also with the key of the source: the key that authenticates pages is
        // derived over it, so that those of one file are no good in the other.
        let key = try form.key?.derived(salt: randomSalt(), cipher: form.cipher)
        var options = options
        options.isExclusive = true
        let setup = ConnectionSetup(key: key, options: options)
        let queue = try DatabaseQueue(path: path, configuration: setup.configuration)
        try queue.inDatabase { db in
            // Nothing is lost with the file but the file, and it is synchronized at the end.
            try db.execute(
                sql: """
                    PRAGMA main.journal_mode = OFF;
                    PRAGMA main.synchronous = OFF;
                    PRAGMA main.cache_size = -\(Self.cacheSize)
                    """
            )
            try copyPages(from: source, to: db.sqliteConnection)
        }
        try queue.close()
        monitor.finish()
    }

    private func copyPages(from source: OpaquePointer?, to target: OpaquePointer?) throws {
        guard let backup = sqlite3_backup_init(target, "main", source, "main") else {
            throw PageFailure.file(CipherCode(sqlite3_extended_errcode(target)))
        }
        let stepCount: Int32 = 256
        var code = SQLITE_OK
        do {
            while code == SQLITE_OK {
                code = sqlite3_backup_step(backup, stepCount)
                try monitor.reach(FileManager.default.size(of: path))
            }
        } catch {
            sqlite3_backup_finish(backup)
            throw error
        }
        var end = sqlite3_backup_finish(backup)
        if code == SQLITE_DONE, end == SQLITE_OK {
            // SQLCipher gives a page that it can't authenticate as zeros, and an error with the next
            // one that is asked for in the same transaction: of the last page, that is now.
            end = sqlite3_exec(source, "SELECT count(*) FROM main.sqlite_schema", nil, nil, nil)
            if end != SQLITE_OK { throw PageFailure.source(CipherCode(end)) }
        }
        guard code == SQLITE_DONE, end == SQLITE_OK else {
            let failure = CipherCode(code == SQLITE_DONE ? end : code)
            switch failure.primary {
            // A page that can't be authenticated is SQLITE_NOTADB, SQLITE_ERROR or, for want of a
            // page, SQLITE_NOMEM.
            case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_ERROR, SQLITE_NOMEM:
                throw PageFailure.source(failure)
            case SQLITE_IOERR where CipherCode.readErrors.contains(failure.rawValue):
                throw PageFailure.source(failure)
            default:
                throw PageFailure.file(failure)
            }
        }
    }

    /// Looks whether the file is sound, and opens with the key as it was given.
    ///
    /// - Parameters:
    ///   - source: Is compared with the file; `nil` to compare nothing.
    ///   - path: What the file is a copy of, for messages.
    /// - Returns: What the content has against its own rules.
    /// - Throws: ``DatabaseConversionError/copyDiffers(path:difference:)``;
    ///   ``DatabaseConversionError/copyIsDamaged(path:finding:)``.
    func checkPages(against source: DatabaseQueue?, of path: String) throws -> [String] {
        let copy = try open(isExclusive: true)
        let size = FileManager.default.size(of: self.path)
        if let source {
            _ = try compare(copy, with: source, total: 2 * size, of: path)
        }
        monitor.begin(.verifying, total: size)
        try copy.inDatabase { try $0.execute(sql: "PRAGMA ignore_check_constraints = ON") }
        var notes: [String] = []
        for (check, isStructure) in zip(Self.checks, [true, false]) {
            let outcome = try damaged(path) { try result(of: check, in: copy) }
            // The schema may name what isn't here, which says nothing of the pages.
            let failure = outcome.obstacle.flatMap { $0 == Self.unexplained ? $0 : nil }
            if let finding = failure
                ?? (isStructure ? outcome.findings.first(where: Self.isDamage) : nil)
            {
                throw DatabaseConversionError.copyIsDamaged(path: path, finding: finding)
            }
            notes += outcome.findings + (outcome.obstacle.map { [$0] } ?? [])
        }
        try damaged(path) { try checkAuthenticity(of: copy, path) }
        monitor.finish()
        try copy.close()
        return notes
    }

    /// What SQLite says of an error that has no words of its own: among others, SQLCipher's for a
    /// page that can't be read.
    private static let unexplained = String(cString: sqlite3_errstr(SQLITE_ERROR))

    /// Whether a finding of `quick_check` is none about a value that breaks a rule of its table,
    /// which it does in the source as well.
    static func isDamage(_ finding: String) -> Bool {
        !finding.hasPrefix("CHECK constraint failed in ")
            && finding.prefixMatch(of: /(non-)?[A-Z]+ value in\s/) == nil
    }

    /// Reports damage that ends a check like damage that it finds.
    private func damaged<Value>(_ path: String, _ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as DatabaseError
            where [.SQLITE_CORRUPT, .SQLITE_NOTADB].contains(error.resultCode)
        {
            throw DatabaseConversionError.copyIsDamaged(
                path: path,
                finding: error.message ?? "SQLite \(error.extendedResultCode.rawValue)"
            )
        }
    }
}

extension CipherCode {
    fileprivate static let readErrors = [failedRead, shortRead]
}
