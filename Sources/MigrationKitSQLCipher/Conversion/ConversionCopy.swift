import CSQLCipher
import Foundation
import GRDB
import KeyStore

/// The new file, while it is made and looked through. It has a temporary name.
struct ConversionCopy {
    let path: String
    let form: DatabaseForm
    let options: EncryptedDatabase.Options
    let monitor: ConversionMonitor

    private static let schema = "migrationkit_copy"
    /// In KiB: the most that the pages of the new file take in memory before they are written.
    static let cacheSize = 32 * 1024

    /// Copies everything from a database into the file, which is empty.
    func fill(from source: ConversionSource) throws {
        monitor.begin(.copying, total: source.byteCount)
        let key = try form.key?.derived(salt: randomSalt(), cipher: form.cipher)
        try source.queue.inDatabase { db in
            try attach(key, to: db)
            try db.execute(sql: "PRAGMA cipher_log_level = NONE")
            do {
                try monitor.watching(db, measure: { FileManager.default.size(of: path) }) {
                    try export(db)
                }
                try db.execute(sql: "DETACH DATABASE \(Self.schema)")
            } catch {
                // An error may have ended the transaction already; the file goes in any case.
                if db.isInsideTransaction { try? db.execute(sql: "ROLLBACK") }
                try? db.execute(sql: "DETACH DATABASE \(Self.schema)")
                throw source.explain(error)
            }
        }
        monitor.finish()
    }

    func randomSalt() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<CipherSettings.saltCount).map { _ in
            UInt8.random(in: .min ... .max, using: &generator)
        }
    }

    /// The key is bound, and never part of an SQL text.
    /// <https://www.zetetic.net/sqlcipher/sqlcipher-api/#attach>
    private func attach(_ key: DatabaseKey?, to db: Database) throws {
        try db.execute(sql: "PRAGMA cipher_log_level = NONE")
        let connection = db.sqliteConnection
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        let sql = "ATTACH DATABASE ?1 AS \(Self.schema) KEY ?2"
        var code = sqlite3_prepare_v2(connection, sql, -1, &statement, nil)
        guard code == SQLITE_OK else { throw failure(connection) }
        code = path.withCString { path in
            // An empty text means no encryption; NULL would mean the source's own key.
            let spelled = key?.spelled() ?? Secret(utf8: "")
            return spelled.withUnsafeBytes { bytes in
                // Neither is copied: both outlive the statement's run.
                sqlite3_bind_text(statement, 1, path, -1, nil)
                if key == nil {
                    sqlite3_bind_text(statement, 2, "", 0, nil)
                } else {
                    sqlite3_bind_blob(statement, 2, bytes.baseAddress, Int32(bytes.count), nil)
                }
                defer { sqlite3_clear_bindings(statement) }
                return sqlite3_step(statement)
            }
        }
        guard code == SQLITE_DONE else { throw failure(connection) }
    }

    /// What `sqlcipher_export` leaves out is said before it, where it can't be said later.
    /// <https://www.zetetic.net/sqlcipher/sqlcipher-api/#sqlcipher_export>
    private func export(_ db: Database) throws {
        let target = Self.schema
        func value(_ name: String) throws -> Int {
            try Int.fetchOne(db, sql: "PRAGMA main.\(name)") ?? 0
        }
        switch form.content {
        case .encrypted(_, let cipher):
            for statement in cipher.statements(schema: target) { try db.execute(sql: statement) }
        case .plaintext(let pageSize):
            let size = try pageSize ?? value("page_size")
            try db.execute(sql: "PRAGMA \(target).page_size = \(size)")
        }
        // Nothing is lost with the file but the file, and what is in it at the end is synchronized.
        try db.execute(
            sql: """
                PRAGMA \(target).auto_vacuum = \(value("auto_vacuum"));
                PRAGMA \(target).journal_mode = OFF;
                PRAGMA \(target).synchronous = OFF;
                PRAGMA \(target).cache_size = -\(Self.cacheSize);
                BEGIN
                """
        )
        do {
            try db.execute(literal: "SELECT sqlcipher_export(\(target))")
        } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
            // The function passes on the words of what stopped it, and not the code.
            throw error.withCodeOfMessage
        }
        try db.execute(
            sql: """
                PRAGMA \(target).user_version = \(value("user_version"));
                PRAGMA \(target).application_id = \(value("application_id"));
                COMMIT
                """
        )
    }

    // MARK: - Looking Through

    /// Compares the file with the source, and looks whether it is sound.
    ///
    /// - Returns: What is in both.
    func check(against source: ConversionSource) throws -> ContentDigest {
        let copy = try open()
        let size = FileManager.default.size(of: path)
        let found = try compare(
            copy,
            with: source.queue,
            total: source.byteCount + size,
            of: source.file.path
        )
        monitor.begin(.verifying, total: size)
        try checkSoundness(of: copy, source)
        monitor.finish()
        // Said at last: it is all that the file gets to tell of it. A log of one's own needs no shared
        // memory, which would be another file. <https://www.sqlite.org/wal.html#noshm>
        let mode = source.journalMode == "wal" ? "WAL" : "DELETE"
        try copy.inDatabase { db in
            try db.execute(sql: "PRAGMA main.locking_mode = EXCLUSIVE")
            try db.execute(sql: "PRAGMA main.journal_mode = \(mode)")
        }
        try copy.close()
        return found
    }

    /// With the key as it was given, so that this is what is known to open the file.
    func open() throws -> DatabaseQueue {
        try Opening(path: path, key: form.key, options: options).run {
            try DatabaseQueue(path: $0, configuration: $1)
        }
    }

    /// - Parameters:
    ///   - total: The bytes of both.
    ///   - path: What this is a copy of, for the message.
    func compare(
        _ copy: DatabaseQueue,
        with source: DatabaseQueue,
        total: Int,
        of path: String
    ) throws -> ContentDigest {
        monitor.begin(.comparing, total: total)
        let contents = atOnce({ try content(of: source) }, { try content(of: copy) })
        let (expected, found) = try (contents.first.get(), contents.second.get())
        if let difference = expected.difference(from: found) {
            throw DatabaseConversionError.copyDiffers(path: path, difference: difference)
        }
        monitor.finish()
        return found
    }

    private func content(of queue: DatabaseQueue) throws -> ContentDigest {
        try queue.inDatabase { db in
            try useCache(of: db)
            return try monitor.watching(db) {
                try ContentDigest(of: db) { monitor.advance(by: $0) }
            }
        }
    }

    /// Of the structure, and of the foreign keys.
    static let checks = [
        "PRAGMA main.quick_check(20)",
        """
        SELECT 'foreign key of', "table", 'to', parent, count(*) FROM pragma_foreign_key_check
        GROUP BY 2, 4
        """,
    ]

    /// Reads the structure and the rows with one connection, and with another one the foreign keys
    /// and the HMACs.
    private func checkSoundness(of copy: DatabaseQueue, _ source: ConversionSource) throws {
        var configuration = copy.configuration
        configuration.readonly = true
        let other = try DatabaseQueue(path: path, configuration: configuration)
        try other.inDatabase(useCache)
        let outcomes = atOnce(
            { try findings(Self.checks[0], in: copy) },
            { (try findings(Self.checks[1], in: other), try unauthenticPage(of: other)) }
        )
        try other.close()
        try judge(Self.checks[0], outcomes.first.get(), source)
        let (violations, page) = try outcomes.second.get()
        try judge(Self.checks[1], violations, source)
        if let page {
            throw DatabaseConversionError.copyIsDamaged(path: source.file.path, finding: page)
        }
    }

    /// A source that breaks its own rules has a copy that does, which is not the copy's fault.
    private func judge(_ check: String, _ finding: [String], _ source: ConversionSource) throws {
        guard !finding.isEmpty, try finding != findings(check, in: source.queue) else { return }
        throw DatabaseConversionError.copyIsDamaged(
            path: source.file.path,
            finding: finding.prefix(3).joined(separator: "; ")
        )
    }

    private func useCache(of db: Database) throws {
        try db.execute(sql: "PRAGMA main.cache_size = -\(Self.cacheSize)")
    }

    /// Checks the HMAC of every page.
    func checkAuthenticity(of copy: DatabaseQueue, _ path: String) throws {
        guard let page = try unauthenticPage(of: copy) else { return }
        throw DatabaseConversionError.copyIsDamaged(path: path, finding: page)
    }

    /// What is said of the first page that is not as it was written; `nil` if there is none.
    private func unauthenticPage(of copy: DatabaseQueue) throws -> String? {
        guard form.isEncrypted, form.cipher.hmacAlgorithm != .off else { return nil }
        try monitor.checkCancellation()
        return try copy.inDatabase {
            try String.fetchOne($0, sql: "PRAGMA main.cipher_integrity_check")
        }
    }

    /// What a check finds, or why it can't be made; empty if nothing.
    private func findings(_ check: String, in queue: DatabaseQueue) throws -> [String] {
        let result = try result(of: check, in: queue)
        return result.findings + (result.obstacle.map { [$0] } ?? [])
    }

    /// What a check finds, sorted, and without the values of rows.
    ///
    /// - Returns: Also why the check can't be made, if it can't: because the schema names what isn't
    ///   there, such as a parent without a unique key, or a function.
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
                    try Row.fetchAll(db, sql: check)
                }
                let findings = rows.map { row in
                    row.databaseValues.map { String.fromDatabaseValue($0) ?? "\($0)" }
                        .joined(separator: " ")
                }
                return (findings.filter { $0 != "ok" }.sorted(), nil)
            } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
                return ([], error.message ?? "SQLite \(error.resultCode.rawValue)")
            }
        }
    }

    private func failure(_ connection: OpaquePointer?) -> DatabaseError {
        DatabaseError(
            resultCode: ResultCode(rawValue: sqlite3_extended_errcode(connection)),
            message: String(cString: sqlite3_errmsg(connection))
        )
    }
}

extension DatabaseError {
    /// The error with the code whose own words its message is, if there is one.
    fileprivate var withCodeOfMessage: DatabaseError {
        let codes: [ResultCode] = [
            .SQLITE_CORRUPT, .SQLITE_FULL, .SQLITE_IOERR, .SQLITE_NOTADB, .SQLITE_NOMEM,
        ]
        let code = codes.first { String(cString: sqlite3_errstr($0.rawValue)) == message }
        return code.map { DatabaseError(resultCode: $0, message: message) } ?? self
    }
}

extension Database {
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
    func size(of path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }
}
