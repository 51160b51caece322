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
    /// Each page is decrypted with the source's key, authenticated, and encrypted with the file's
    /// key. Both must have the same settings. The source must be in a transaction, so that all
    /// pages are from one moment: otherwise SQLite's backup starts again when others write between
    /// two of its steps. <https://www.sqlite.org/c3ref/backup_finish.html>
    func fillPages(from source: OpaquePointer?, byteCount: Int) throws {
        try checkRoom(for: byteCount, about: byteCount)
        monitor.begin(.copying, total: byteCount)
        // The copy has its own salt, even with the source's key. The key that authenticates pages
        // is derived with it, so a page of one file isn't valid in the other.
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
            // A page that can't be authenticated gives SQLITE_NOTADB, SQLITE_ERROR or, if there is
            // no page at all, SQLITE_NOMEM.
            case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_ERROR, SQLITE_NOMEM:
                throw PageFailure.source(failure)
            case SQLITE_IOERR where CipherCode.readErrors.contains(failure.rawValue):
                throw PageFailure.source(failure)
            default:
                throw PageFailure.file(failure)
            }
        }
    }

    /// Checks that the file is sound and opens with the given key.
    ///
    /// - Parameters:
    ///   - source: The database to compare with the file; `nil` to compare nothing.
    ///   - path: What the file is a copy of, for messages.
    /// - Returns: Where the content breaks its own rules.
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
            // The schema may name something that isn't registered. That isn't damage.
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

    /// SQLite's text for an error without its own message. SQLCipher gives it for a page that can't
    /// be read, among others.
    private static let unexplained = String(cString: sqlite3_errstr(SQLITE_ERROR))

    /// Whether a finding of `quick_check` is damage, and not a value that breaks a rule of its
    /// table. The source has such values, too.
    static func isDamage(_ finding: String) -> Bool {
        !finding.hasPrefix("CHECK constraint failed in ")
            && finding.prefixMatch(of: /(non-)?[A-Z]+ value in\s/) == nil
    }

    /// Reports damage that stops a check in the same way as damage that the check finds.
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
