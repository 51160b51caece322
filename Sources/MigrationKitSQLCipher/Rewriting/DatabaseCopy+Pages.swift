import CSQLCipher
import MigrationKitCommon
import MigrationKitPages
import Foundation
import GRDB
import KeyStore

extension DatabaseCopy {
    /// Copies all pages of a database into the file, which is empty, and compares both.
    ///
    /// Each page is authenticated and decrypted with the source's key, and encrypted with the file's.
    /// Then the file is read back: every page must be authentic, and have the content that was
    /// decrypted before. Both files must have pages of the same form.
    func copyPages(of source: some PageSource) throws {
        let rewriting: PageRewriting
        do {
            rewriting = try fill(from: source, without: nil)
        } catch PageRewritingError.damaged(let pages) {
            guard let unused = try UnusedPages(of: source.file, source.form) else {
                throw PageRewritingError.damaged(pages)
            }
            guard truncate(path, 0) == 0 else { throw NewFileError(path, errno) }
            rewriting = try fill(from: source, without: unused)
        }
        try compare(rewriting, of: source.file.path)
    }

    private func fill(
        from source: some PageSource,
        without unused: UnusedPages?
    ) throws -> PageRewriting {
        try source.withPages(without: unused) { pages, key in
            let rewriting = try PageRewriting(
                to: path,
                encryption(),
                pageSize: pages.pageSize,
                count: pages.count,
                substitutes: unused?.substituted ?? .init()
            )
            let byteCount = rewriting.byteCount
            try checkRoom(for: byteCount, about: byteCount)
            monitor.begin(.copying, total: byteCount)
            try monitor.checkCancellation()
            let encryption = try key.map {
                PageRewriting.Encryption(
                    key: $0,
                    salt: try pages.salt(),
                    cipher: source.form.cipher
                )
            }
            try rewriting.copy(pages, encryption) { try monitor.reach($0) }
            monitor.finish()
            return rewriting
        }
    }

    /// How the file is encrypted.
    private func encryption() throws -> PageRewriting.Encryption? {
        try form.key.map { key in
            // The copy has its own salt, even with the source's key. The key that authenticates pages
            // is derived with it, so a page of one file isn't valid in the other.
            let salt = key.salt ?? randomSalt()
            return PageRewriting.Encryption(
                key: try key.derived(salt: salt, cipher: form.cipher),
                salt: salt,
                cipher: form.cipher
            )
        }
    }

    private func compare(_ rewriting: PageRewriting, of path: String) throws {
        monitor.begin(.comparing, total: rewriting.byteCount)
        try monitor.checkCancellation()
        do {
            try rewriting.compare { try monitor.reach($0) }
        } catch PageRewritingError.wrongSize {
            throw DatabaseConversionError.copyIsDamaged(path: path, finding: "its size has changed")
        } catch PageRewritingError.notAuthentic(let page) {
            throw DatabaseConversionError.copyIsDamaged(
                path: path,
                finding: "page \(page) is not as it was written"
            )
        } catch PageRewritingError.differs(let page) {
            throw DatabaseConversionError.copyDiffers(
                path: path,
                difference: "page \(page) has another content"
            )
        }
        monitor.finish()
    }

    // MARK: - Looking Through

    /// Checks that the file opens with the given key, and that its structure is sound.
    ///
    /// - Parameter path: What the file is a copy of, for messages.
    /// - Returns: Where the content breaks its own rules.
    /// - Throws: ``DatabaseConversionError/copyIsDamaged(path:finding:)``.
    func checkPages(of path: String) throws -> [String] {
        try reading { readers in
            let size = FileManager.default.size(of: self.path)
            monitor.begin(.verifying, total: size)
            for reader in readers {
                try reader.inDatabase {
                    try $0.execute(sql: "PRAGMA ignore_check_constraints = ON")
                }
            }
            let outcomes = atOnce(
                { try findings(Self.checks[0], isStructure: true, in: readers[0], of: path) },
                { try findings(Self.checks[1], isStructure: false, in: readers[1], of: path) }
            )
            let notes = try outcomes.first.get() + outcomes.second.get()
            monitor.finish()
            return notes
        }
    }

    /// Opens the file with the given key, and counts what is in it.
    func countRows() throws -> CopiedContent {
        try reading { readers in
            monitor.begin(.verifying, total: FileManager.default.size(of: path))
            let size = try readers[0].inDatabase { db in
                try monitor.watching(db) { try CopiedContent(of: db) }
            }
            monitor.finish()
            return size
        }
    }

    /// Opens the file with the key as it was given, which proves that this key opens it, and reads it
    /// on two connections.
    private func reading<Value>(_ body: ([DatabaseQueue]) throws -> Value) throws -> Value {
        let copy = try open(isExclusive: true)
        // Every page was authenticated when it was compared.
        let opensReader = try EncryptedDatabase.quietReaders(of: copy, areAuthentic: true)
        guard form.isEncrypted, let opensReader else {
            // With a write-ahead log, it is the only connection.
            let value = try body([copy, copy])
            try copy.close()
            return value
        }
        let readers = [try opensReader(path), try opensReader(path)]
        let value = try body(readers)
        for reader in readers + [copy] { try reader.close() }
        return value
    }

    private func findings(
        _ check: String,
        isStructure: Bool,
        in queue: DatabaseQueue,
        of path: String
    ) throws -> [String] {
        let outcome = try damaged(path) { try result(of: check, in: queue) }
        // The schema may name something that isn't registered. That isn't damage.
        let failure = outcome.obstacle.flatMap { $0 == Self.unexplained ? $0 : nil }
        if let finding = failure
            ?? (isStructure ? outcome.findings.first(where: Self.isDamage) : nil)
        {
            throw DatabaseConversionError.copyIsDamaged(path: path, finding: finding)
        }
        return outcome.findings + (outcome.obstacle.map { [$0] } ?? [])
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

/// How much is in a database.
struct CopiedContent {
    let tableCount: Int
    let rowCount: Int
}

extension CopiedContent {
    init(_ digest: ContentDigest) {
        tableCount = digest.tables.count
        rowCount = digest.rowCount
    }

    /// Counts the rows of every table.
    init(of db: Database) throws {
        let tables = try ContentDigest.tables(of: db)
        tableCount = tables.count
        rowCount = try tables.reduce(0) { count, table in
            // An index that isn't needed may name a collation that isn't registered.
            let sql = "SELECT count(*) FROM main.\(table.quotedName)"
            do {
                return try count + (Int.fetchOne(db, sql: sql) ?? 0)
            } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
                return try count + (Int.fetchOne(db, sql: sql + " NOT INDEXED") ?? 0)
            }
        }
    }
}
