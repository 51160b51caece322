import CSQLCipher
import MigrationKitPages
import Foundation
import GRDB
import MigrationKitGRDB
import MigrationKitKeys
import MigrationKitSQLCipher

/// The new file under its temporary name, while it is made.
struct SalvageCopy {
    let path: String
    let form: DatabaseForm
    let options: RewriteOptions
    let monitor: ConversionMonitor

    /// In KiB: how much memory the new file's pages may use before they are written.
    private static let cacheSize = 32 * 1024
    private static let indexCacheSize = 4 * 1024

    /// Fills the file, which is empty.
    ///
    /// - Parameters:
    ///   - pageSize: The page size of a plaintext file, in bytes.
    ///   - header: The content according to the damaged file's header.
    ///   - body: Writes rows, in one transaction.
    ///   - finish: Runs after that transaction.
    func fill<Value>(
        pageSize: Int,
        encoding: TextEncoding,
        header: DatabaseContent?,
        _ body: (Database) throws -> Value,
        finish: (Database, Value) throws -> Void
    ) throws -> Value {
        let vacuum =
            switch header?.autoVacuum {
            case .full: 1
            case .incremental: 2
            case .none?, nil: 0
            }
        let size = form.isEncrypted ? "" : "PRAGMA page_size = \(pageSize);"
        var opening = openingOptions
        opening.prepareDatabase = { db in
            // Before the first page is written, which makes them permanent.
            try db.execute(
                sql: """
                    \(size)
                    PRAGMA encoding = '\(encoding.name)';
                    PRAGMA auto_vacuum = \(vacuum);
                    """
            )
        }
        let setup = ConnectionSetup(key: form.key, options: opening)
        let queue = try DatabaseQueue(path: path, configuration: setup.configuration)
        let value = try queue.inDatabase { db in
            // A crash loses only the temporary file, and it is synchronized at the end. Changes are
            // undone in memory. Rows that broke rules before may still do so.
            try db.execute(
                sql: """
                    PRAGMA foreign_keys = OFF;
                    PRAGMA ignore_check_constraints = ON;
                    PRAGMA main.journal_mode = MEMORY;
                    PRAGMA main.synchronous = OFF;
                    PRAGMA main.cache_size = -\(Self.cacheSize);
                    BEGIN
                    """
            )
            do {
                let value = try body(db)
                try db.execute(
                    sql: """
                        PRAGMA main.user_version = \(header?.userVersion ?? 0);
                        PRAGMA main.application_id = \(header?.applicationID ?? 0);
                        COMMIT
                        """
                )
                // From now on, undoing may need much space: use a journal file, which is encrypted
                // like everything else. When an index is built, SQLite sorts as many bytes at once as
                // the cache has, besides the cache.
                try db.execute(
                    sql: """
                        PRAGMA main.journal_mode = TRUNCATE;
                        PRAGMA main.cache_size = -\(Self.indexCacheSize)
                        """
                )
                csqlcipher_trim_memory()
                try finish(db, value)
                return value
            } catch {
                // An error may have ended the transaction already. The file is deleted in any case.
                if db.isInsideTransaction { try? db.execute(sql: "ROLLBACK") }
                throw error
            }
        }
        try queue.close()
        return value
    }

    /// Checks the file with the given key, and finally sets its journal mode.
    ///
    /// One pass over the pages authenticates each of them, the free ones, too, and checks the structure.
    /// SQLite looks only at what that leaves open.
    ///
    /// - Parameter virtualTables: The names of virtual tables, which may have been damaged before.
    /// - Returns: Those that are damaged.
    func check(
        isWAL: Bool,
        virtualTables: [String]
    ) throws -> [SalvageReport.Unmade] {
        let queue = try Opening(path: path, key: form.key, options: openingOptions).run {
            try DatabaseQueue(path: $0, configuration: $1)
        }
        monitor.begin(.verifying, total: FileManager.default.size(of: path))
        let report = try StructureCheck(keys: ContentKeys()).run(queue, provesPages: true) {
            try monitor.reach($0)
        }
        let unsound = try queue.inDatabase { db in
            try db.execute(sql: "PRAGMA ignore_check_constraints = ON")
            let checks = try report?.remainingChecks(in: db) ?? [StructureCheck.Report.wholeCheck]
            return try monitor.watching(db) {
                try checks.flatMap { try findings(of: $0, virtualTables, db) }
            }
        }
        // The doubt may be about a free page, which SQLite doesn't read.
        if report?.findings != [], let finding = try queue.unauthenticPage(monitor) {
            throw damage(finding)
        }
        monitor.finish()
        let mode = isWAL ? "WAL" : "DELETE"
        try queue.inDatabase { db in
            // The file is synchronized as a whole before it gets its name.
            try db.execute(sql: "PRAGMA main.synchronous = OFF")
            try db.execute(sql: "PRAGMA main.journal_mode = \(mode)")
        }
        try queue.close()
        return unsound
    }

    /// What a check finds, which may only be about virtual tables.
    private func findings(
        of check: String,
        _ virtualTables: [String],
        _ db: Database
    ) throws -> [SalvageReport.Unmade] {
        let findings: [String]
        do {
            findings = try db.namingUnusableTables { try String.fetchAll(db, sql: check) }
        } catch let error as DatabaseError
            where error.resultCode == .SQLITE_ERROR || error.isOfModule
        {
            // Something that the table needs isn't registered here, or its own tables are damaged.
            guard
                let name = virtualTables.first(where: { check.hasSuffix("(\($0.quotedName))") })
            else { throw error }
            return [SalvageReport.Unmade(type: "table", name: name, reason: error.reason)]
        }
        return try findings.filter { $0 != "ok" }.map { finding in
            guard let name = virtualTables.first(where: { finding.contains("main.\($0)") })
            else { throw damage(finding) }
            let reason = finding.split(separator: "\n").joined(separator: "; ")
            return SalvageReport.Unmade(type: "table", name: name, reason: reason)
        }
    }

    private func damage(_ finding: String) -> DatabaseConversionError {
        .copyIsDamaged(path: path, finding: finding)
    }

    private var openingOptions: EncryptedDatabase.Options {
        EncryptedDatabase.Options(
            cipher: form.cipher,
            functions: options.functions,
            collations: options.collations
        )
    }
}
