import CSQLCipher
import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitCommon
import MigrationKitGRDB
import MigrationKitPages

/// The new file under its temporary name, while it is written and checked.
struct DatabaseCopy {
    let path: String
    let form: DatabaseForm
    let options: EncryptedDatabase.Options
    let monitor: ConversionMonitor

    static let schema = "migrationkit_copy"
    /// In KiB: the most that the pages of the new file take in memory before they are written.
    static let cacheSize = 32 * 1024

    /// What a plaintext database probably takes once it is encrypted. Fewer bytes of a page have content, so
    /// that fewer rows fit on one: that is nothing for short rows, and a fifth for rows of a quarter page.
    static func encryptedSize(of byteCount: Int) -> Int { byteCount + byteCount / 5 }

    /// Copies everything from a database into the file, which is empty.
    func fill(from source: LockedSource) throws {
        let byteCount = try source.queue.inDatabase { try $0.byteCountInUse() }
        let header = try source.header()
        // Written row by row, the new pages are fuller: a page that SQLite splits may be only two
        // thirds full.
        let isFirstEncryption = !source.form.isEncrypted && form.isEncrypted
        try DatabaseFile(path).checkRoom(
            for: byteCount / 3 * 2,
            about: isFirstEncryption ? Self.encryptedSize(of: byteCount) : byteCount
        )
        monitor.begin(.copying, total: byteCount)
        // The source's folder may be on a medium that can't be written.
        TemporaryStorage.use(beside: path)
        try source.queue.inDatabase { db in
            try db.execute(sql: "PRAGMA cipher_log_level = NONE")
            // An empty text means no encryption. Without KEY, SQLCipher would use the source's key.
            // <https://www.zetetic.net/sqlcipher/sqlcipher-api/#attach>
            try db.execute(
                sql: "ATTACH DATABASE ? AS \(Self.schema) KEY ''",
                arguments: [path]
            )
            do {
                try encrypting(db) {
                    try monitor.watching(db, measure: { FileManager.default.size(of: path) }) {
                        try export(db, header)
                        try db.checkPagesRead()
                    }
                }
                try db.execute(sql: "DETACH DATABASE \(Self.schema)")
            } catch {
                // The file is deleted in any case.
                try? db.execute(sql: "DETACH DATABASE \(Self.schema)")
                throw error
            }
        }
        monitor.finish()
    }

    /// Runs `body`, and encrypts what it writes to the file if the file should be encrypted.
    private func encrypting(_ db: Database, _ body: () throws -> Void) throws {
        guard case .encrypted(let key, let cipher) = form.content else { return try body() }
        let salt = try cipher.newSalt(for: key)
        do {
            try EncryptingFile.encrypting(
                Self.schema,
                of: db.sqliteConnection,
                key: key.derived(salt: salt, cipher: cipher),
                salt: salt,
                cipher: cipher,
                body
            )
        } catch let code as CipherCode {
            throw DatabaseError(
                resultCode: ResultCode(rawValue: code.rawValue),
                message: String(cString: sqlite3_errstr(code.rawValue))
            )
        }
    }

    // MARK: - Looking Through

    /// Compares the file with the source, and checks that it is sound: by their pages, and through
    /// SQLite where these leave a doubt. See ``TreeComparison``.
    ///
    /// - Returns: The content that both have.
    func check(against source: LockedSource) throws -> CopiedContent {
        let copy = try open()
        let size = FileManager.default.size(of: path)
        let trees = try compareTrees(copy, with: source.queue, byteCount: source.byteCount)
        var content: CopiedContent
        if let trees, trees.tables.isEmpty {
            content = trees.content
        } else {
            let reader = try source.reader()
            let found = try compare(
                copy,
                with: reader,
                total: source.byteCount + size,
                of: source.file.path,
                tables: trees?.tables
            )
            if reader !== source.queue { try reader.close() }
            content = trees?.content ?? CopiedContent(found)
        }
        monitor.begin(.verifying, total: size)
        if let trees {
            for table in trees.unproven.sorted() {
                let check = "PRAGMA main.integrity_check(\(table.quotedName))"
                content.findings += try judge(check, findings(check, in: copy), source)
            }
            content.findings += try findingsOfModules(in: copy)
        } else {
            content.findings = try checkSoundness(of: copy, source)
        }
        monitor.finish()
        // Last, because this is written into the file's header. With exclusive access, a log needs
        // no shared memory, which would be another file. <https://www.sqlite.org/wal.html#noshm>
        let mode = source.journalMode == "wal" ? "WAL" : "DELETE"
        try copy.inDatabase { db in
            // The file is synchronized as a whole before it gets its name.
            try db.execute(sql: "PRAGMA main.synchronous = OFF")
            try db.execute(sql: "PRAGMA main.locking_mode = EXCLUSIVE")
            try db.execute(sql: "PRAGMA main.journal_mode = \(mode)")
        }
        try copy.close()
        return content
    }

    /// Opens the file with the key as it was given, which proves that this key opens it.
    ///
    /// - Parameter isExclusive: Whether this is the only connection to the file.
    func open(isExclusive: Bool = false) throws -> DatabaseQueue {
        var options = options
        options.isExclusive = isExclusive
        return try Opening(path: path, key: form.key, options: options).run {
            try DatabaseQueue(path: $0, configuration: $1)
        }
    }

    /// - Parameters:
    ///   - total: The number of bytes of both files.
    ///   - path: The path of the source, for the message.
    ///   - tables: The tables whose rows are compared; `nil` for all.
    private func compare(
        _ copy: DatabaseQueue,
        with source: DatabaseQueue,
        total: Int,
        of path: String,
        tables: Set<String>? = nil
    ) throws -> ContentDigest {
        monitor.begin(.comparing, total: total)
        let contents = atOnce(
            { try content(of: source, tables) },
            { try content(of: copy, tables) }
        )
        let (expected, found) = try (contents.first.get(), contents.second.get())
        if let difference = expected.difference(from: found) {
            throw DatabaseConversionError.copyDiffers(path: path, difference: difference)
        }
        monitor.finish()
        return found
    }

    private func content(of queue: DatabaseQueue, _ tables: Set<String>?) throws -> ContentDigest {
        try queue.inDatabase { db in
            try useCache(of: db)
            return try monitor.watching(db) {
                try ContentDigest(of: db, tables) { monitor.advance(by: $0) }
            }
        }
    }

    /// How many findings about the structure and the rows are enough.
    static let mostFindings = 20

    /// The checks of the structure and of the foreign keys.
    static let checks = [
        "PRAGMA main.quick_check(\(mostFindings))", foreignKeyCheck("NULL, 'main'"),
    ]

    /// - Parameter place: The table as an SQL expression, or `NULL` for all, and the schema.
    static func foreignKeyCheck(_ place: String) -> String {
        """
        SELECT 'foreign key of', "table", 'to', parent, count(*)
        FROM pragma_foreign_key_check(\(place)) GROUP BY 2, 4
        """
    }

    /// Checks the structure and the rows on one connection, and the foreign keys on another.
    /// Free pages, which SQLite doesn't read, are authenticated, too.
    ///
    /// - Returns: What the source has as well.
    private func checkSoundness(
        of copy: DatabaseQueue,
        _ source: LockedSource
    ) throws -> [String] {
        let opensReader = try EncryptedDatabase.quietReaders(of: copy)
        let readers = try Self.checks.map { _ in try opensReader?(path) ?? open() }
        let outcomes = atOnce(
            { try findings(Self.checks[0], in: readers[0]) },
            { (try findings(Self.checks[1], in: readers[1]), try copy.unauthenticPage(monitor)) }
        )
        for reader in readers { try reader.close() }
        let structure = try judge(Self.checks[0], outcomes.first.get(), source)
        let (violations, page) = try outcomes.second.get()
        let rows = try judge(Self.checks[1], violations, source)
        if let page {
            throw DatabaseConversionError.copyIsDamaged(path: source.file.path, finding: page)
        }
        return structure + rows
    }

    /// What the modules of virtual tables, such as full-text search, have against their content. It is
    /// the source's.
    func findingsOfModules(in copy: DatabaseQueue) throws -> [String] {
        let tables = try copy.inDatabase {
            try String.fetchAll(
                $0,
                sql: """
                    SELECT name FROM main.sqlite_schema WHERE type = 'table' AND rootpage = 0
                    ORDER BY name
                    """
            )
        }
        return try tables.flatMap {
            try findings("PRAGMA main.quick_check(\($0.quotedName))", in: copy)
        }
    }

    /// If the source breaks its own rules, so does the copy. That isn't the copy's fault.
    ///
    /// - Returns: The finding.
    private func judge(
        _ check: String,
        _ finding: [String],
        _ source: LockedSource
    ) throws -> [String] {
        guard try finding.isEmpty || finding == findings(check, in: source.queue) else {
            throw DatabaseConversionError.copyIsDamaged(
                path: source.file.path,
                finding: finding.prefix(3).joined(separator: "; ")
            )
        }
        return finding
    }

    private func useCache(of db: Database) throws {
        try db.execute(sql: "PRAGMA main.cache_size = -\(Self.cacheSize)")
    }

    /// What a check finds, or why it can't run; empty if it finds nothing.
    private func findings(_ check: String, in queue: DatabaseQueue) throws -> [String] {
        let result = try result(of: check, in: queue)
        return result.findings + (result.obstacle.map { [$0] } ?? [])
    }

    /// What a check finds, sorted, and without the values of rows.
    ///
    /// - Returns: The findings, and why the check can't run, if it can't: the schema may name
    ///   something that doesn't exist, such as a function or a parent's unique key.
    func result(
        of check: String,
        in queue: DatabaseQueue
    ) throws -> (findings: [String], obstacle: String?) {
        try queue.inDatabase { db in
            let pageSize = try Int.fetchOne(db, sql: "PRAGMA main.page_size") ?? 0
            let before = db.pagesRead
            let measure = { (db.pagesRead - before) * pageSize }
            do {
                let rows = try monitor.watching(db, measure: measure) {
                    try db.namingUnusableTables { try Row.fetchAll(db, sql: check) }
                }
                let findings = rows.map { row in
                    row.databaseValues.map { String.fromDatabaseValue($0) ?? "\($0)" }
                        .joined(separator: " ")
                }
                let known = try findings.isEmpty ? [] : VirtualTables.findingsWithoutContent(in: db)
                return (findings.filter { $0 != "ok" && !known.contains($0) }.sorted(), nil)
            } catch let error as DatabaseError
                where error.resultCode == .SQLITE_ERROR || error.isOfModule
            {
                let damaged = error.isOfModule ? try VirtualTables.damaged(in: db) : []
                if let table = damaged.first { return ([], table.damage) }
                guard error.resultCode != .SQLITE_NOMEM else { throw error }
                return ([], error.message ?? "SQLite \(error.resultCode.rawValue)")
            }
        }
    }
}

extension DatabaseQueue {
    /// Authenticates the pages of a file that nobody writes.
    ///
    /// - Returns: A finding about the first damaged page; `nil` if there is none.
    package func unauthenticPage(_ monitor: ConversionMonitor) throws -> String? {
        guard let setup = try ConnectionSetup.of(self), let key = setup.key else { return nil }
        let pages = try inDatabase { db in
            try DamagedPages(
                of: SharedBytes(of: db.sqliteConnection),
                key: key,
                cipher: setup.options.cipher
            ).find { _ in try monitor.checkCancellation() }
        }
        return pages.first.map { "page \($0) is not as it was written" }
    }
}

extension Database {
    /// The size of all pages in use, in bytes.
    fileprivate func byteCountInUse() throws -> Int {
        func value(_ name: String) throws -> Int {
            try Int.fetchOne(self, sql: "PRAGMA main.\(name)") ?? 0
        }
        return try (value("page_count") - value("freelist_count")) * value("page_size")
    }

    /// How many pages the connection has read from its files so far.
    /// <https://www.sqlite.org/c3ref/c_dbstatus_options.html>
    fileprivate var pagesRead: Int {
        var (count, highest): (Int32, Int32) = (0, 0)
        sqlite3_db_status(sqliteConnection, SQLITE_DBSTATUS_CACHE_MISS, &count, &highest, 0)
        return Int(count)
    }
}

extension FileManager {
    /// The size of a file that may still be growing.
    package func size(of path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }
}
