import CSQLCipher
import MigrationKitCommon
import MigrationKitPages
import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitGRDB

extension DatabaseCopy {
    /// Copies all pages of a database into the file, which is empty, and compares both.
    ///
    /// Each page is authenticated and decrypted with the source's key, and encrypted with the file's.
    /// Then the file is read back: every page must be authentic, and have the content that was
    /// decrypted before. Both files must have pages of the same form.
    ///
    /// - Parameters:
    ///   - finish: Has the file reach the disk, while it is read back.
    ///   - look: Looks through the copy, which opens with the key as it was given.
    func copyPages<Value>(
        of source: some PageSource,
        finish: () throws -> Void,
        _ look: (CopiedPages) throws -> Value
    ) throws -> Value {
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
        let sourcePath = source.file.path
        let outcomes = atOnce(finish) { try compare(rewriting, of: sourcePath) }
        let report = try outcomes.second.get()
        try outcomes.first.get()
        let connection = try open(isExclusive: true)
        let value = try look(CopiedPages(connection: connection, report: report))
        try connection.close()
        return value
    }

    private func fill(
        from source: some PageSource,
        without unused: UnusedPages?
    ) throws -> PageRewriting {
        try source.withPages(without: unused) { pages, key in
            let byteCount = pages.count * pages.pageSize
            try DatabaseFile(path).checkRoom(for: byteCount)
            let rewriting = try PageRewriting(
                to: path,
                encryption(),
                pageSize: pages.pageSize,
                count: pages.count,
                substitutes: unused?.substituted ?? .init()
            )
            monitor.begin(.copying, total: byteCount)
            try monitor.checkCancellation()
            try rewriting.copy(pages, source.encryption(of: pages, key)) { try monitor.reach($0) }
            monitor.finish()
            return rewriting
        }
    }

    /// How the file is encrypted.
    private func encryption() throws -> PageRewriting.Encryption? {
        try form.key.map { key in
            // The copy has its own salt, even with the source's key, unless it is kept elsewhere. The
            // key that authenticates pages is derived with it, so a page of one file isn't valid in
            // the other.
            let salt = try form.cipher.newSalt(for: key)
            return PageRewriting.Encryption(
                key: try key.derived(salt: salt, cipher: form.cipher),
                salt: salt,
                cipher: form.cipher
            )
        }
    }

    private func compare(
        _ rewriting: PageRewriting,
        of path: String
    ) throws -> StructureCheck.Report {
        monitor.begin(.comparing, total: rewriting.byteCount)
        try monitor.checkCancellation()
        let report: StructureCheck.Report
        do {
            report = try rewriting.compare { try monitor.reach($0) }
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
        return report
    }

    // MARK: - Looking Through

    /// Checks that the structure of the file is sound.
    ///
    /// The pages have said most of it. SQLite checks the rows of tables that may break a rule, and the
    /// foreign keys; and everything if the pages leave a doubt.
    ///
    /// - Parameter path: What the file is a copy of, for messages.
    /// - Returns: Where the content breaks its own rules.
    /// - Throws: ``DatabaseConversionError/copyIsDamaged(path:finding:)``.
    func check(_ pages: CopiedPages, of path: String) throws -> [String] {
        let (ofRows, ofForeignKeys) = try pages.connection.inDatabase {
            (try pages.report.remainingChecks(in: $0), try Self.foreignKeyChecks(in: $0))
        }
        let rest = Locked(ArraySlice((ofRows + ofForeignKeys).enumerated()))
        let found = Locked<[Int: [String]]>([:])
        monitor.begin(.verifying, total: FileManager.default.size(of: self.path))
        try reading(pages.connection) { readers in
            for reader in readers {
                try reader.inDatabase {
                    try $0.execute(sql: "PRAGMA ignore_check_constraints = ON")
                }
            }
            /// Runs the checks that the other connection hasn't begun.
            @Sendable func work(_ reader: DatabaseQueue) throws {
                while let (number, check) = rest.withLock({ $0.popFirst() }) {
                    let isStructure = number < ofRows.count
                    let result = try findings(check, isStructure: isStructure, in: reader, of: path)
                    found.withLock { $0[number] = result }
                }
            }
            let outcomes = atOnce({ try work(readers[0]) }, { try work(readers[1]) })
            try outcomes.first.get()
            try outcomes.second.get()
        }
        monitor.finish()
        func notes(_ numbers: Range<Int>) -> [String] {
            found.withLock { found in numbers.flatMap { found[$0] ?? [] } }
        }
        return notes(0..<ofRows.count).prefix(Self.mostFindings)
            + notes(ofRows.count..<ofRows.count + ofForeignKeys.count)
    }

    /// The checks of the foreign keys, one for each table that has some.
    private static func foreignKeyChecks(in db: Database) throws -> [String] {
        try String.fetchAll(
            db,
            sql: """
                SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'
                    AND EXISTS (SELECT 1 FROM pragma_foreign_key_list(name, 'main'))
                ORDER BY name
                """
        ).map { foreignKeyCheck("\($0.sqlString), 'main'") }
    }

    /// How much is in the file, and what SQLite has against its structure.
    func content(_ pages: CopiedPages) throws -> CopiedContent {
        monitor.begin(.verifying, total: FileManager.default.size(of: path))
        try monitor.checkCancellation()
        var content: CopiedContent
        if let known = pages.content {
            content = known
            content.findings = try findingsOfModules(in: pages.connection)
        } else {
            content = try reading(pages.connection) { readers in
                var content = try readers[0].inDatabase { db in
                    try monitor.watching(db) { try CopiedContent(of: db) }
                }
                content.findings = try structureFindings(in: readers[0])
                return content
            }
        }
        monitor.finish()
        return content
    }

    /// What `quick_check` finds, and damage that stops it.
    private func structureFindings(in copy: DatabaseQueue) throws -> [String] {
        try copy.inDatabase { try $0.execute(sql: "PRAGMA ignore_check_constraints = ON") }
        do {
            let outcome = try damaged(path) {
                try result(of: StructureCheck.Report.wholeCheck, in: copy)
            }
            return outcome.findings + (outcome.obstacle.map { [$0] } ?? [])
        } catch DatabaseConversionError.copyIsDamaged(_, let finding) {
            return [finding]
        }
    }

    /// Reads the file on two connections.
    private func reading<Value>(
        _ copy: DatabaseQueue,
        _ body: ([DatabaseQueue]) throws -> Value
    ) throws -> Value {
        // Every page was authenticated when it was compared.
        let opensReader = try EncryptedDatabase.quietReaders(of: copy, areAuthentic: true)
        guard form.isEncrypted, let opensReader else {
            // With a write-ahead log, it is the only connection.
            return try body([copy, copy])
        }
        let readers = [try opensReader(path), try opensReader(path)]
        let value = try body(readers)
        for reader in readers { try reader.close() }
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
        let failure = outcome.obstacle.flatMap { $0 == DatabaseError.unexplained ? $0 : nil }
        if let finding = failure
            ?? (isStructure ? outcome.findings.first(where: Self.isDamage) : nil)
        {
            throw DatabaseConversionError.copyIsDamaged(path: path, finding: finding)
        }
        return outcome.findings + (outcome.obstacle.map { [$0] } ?? [])
    }

    /// Whether a finding of `quick_check` is damage, and not a value that breaks a rule of its
    /// table, or a full-text index or an R-tree that doesn't fit its content: an app may keep the index up
    /// to date itself, and be late. The source has these, too.
    /// <https://www.sqlite.org/fts5.html#external_content_tables>
    static func isDamage(_ finding: String) -> Bool {
        !finding.hasPrefix("CHECK constraint failed in ") && !finding.hasPrefix("In RTree ")
            && finding.prefixMatch(of: /(non-)?[A-Z]+ value in\s/) == nil
            && finding.prefixMatch(
                of: /(malformed|unable to validate the) inverted index for FTS\d table\s/
            ) == nil
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

/// What is known of a copy that has the pages of its source.
struct CopiedPages {
    let connection: DatabaseQueue
    let report: StructureCheck.Report

    /// How much the tables contain; `nil` if the structure leaves a doubt.
    var content: CopiedContent? {
        guard report.findings.isEmpty else { return nil }
        let tables = report.objects.filter { $0.type == "table" && $0.root > 0 }
        return CopiedContent(
            tableCount: tables.count,
            rowCount: tables.reduce(0) { $0 + (report.contents[$1.root]?.count ?? 0) }
        )
    }
}

extension StructureCheck.Report {
    /// SQLite's check of everything.
    package static let wholeCheck = DatabaseCopy.checks[0]

    /// What SQLite should check: the tables whose rows may break a rule, virtual tables, and everything
    /// if the structure leaves a doubt.
    package func remainingChecks(in db: Database) throws -> [String] {
        guard findings.isEmpty else { return [Self.wholeCheck] }
        return try objects.filter { $0.type == "table" }
            .filter { try !ColumnRules($0.name, db).areKept(by: columns[$0.root]) }
            .map { "PRAGMA main.quick_check(\($0.name.quotedName))" }
    }
}

/// What `quick_check` wants of the values in each column of a table.
struct ColumnRules {
    /// The kinds that each stored column may have; `nil` if SQLite must look at the rows.
    private let columns: [StoredKinds]?

    /// - Parameter table: The name of a table of the main database.
    init(_ table: String, _ db: Database) throws {
        // A column that is the rowid is stored as NULL. It is the primary key, and has no index.
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT column.type, column."notnull", column.hidden, list.strict,
                    column.pk > 0 AND upper(column.type) = 'INTEGER' AND NOT EXISTS (
                        SELECT 1 FROM pragma_index_list(list.name, 'main') WHERE origin = 'pk'
                    )
                FROM pragma_table_list(?1) AS list,
                    pragma_table_xinfo(list.name, 'main') AS column
                WHERE list.schema = 'main' AND list.name = ?1 AND list.type = 'table' AND NOT list.wr
                ORDER BY column.cid
                """,
            arguments: [table]
        )
        var columns: [StoredKinds]? = rows.isEmpty ? nil : []
        for row in rows {
            let isRowID: Bool = row[4]
            let kinds = isRowID ? .all : Self.kinds(row[0], isNotNull: row[1], isStrict: row[3])
            // 2 means that the column is computed when it is read.
            // <https://www.sqlite.org/pragma.html#pragma_table_xinfo>
            if row[2] != 2 { columns?.append(kinds) } else if kinds != .all { columns = nil }
        }
        self.columns = columns
    }

    /// Whether the rows of a table keep the rules for certain.
    ///
    /// - Parameter stored: `nil` if the table has no rowids.
    func areKept(by stored: StoredColumns?) -> Bool {
        guard let columns, let stored else { return false }
        return columns.enumerated().allSatisfy { column, allowed in
            let found = column < stored.kinds.count ? stored.kinds[column] : []
            return allowed == .all || allowed.isSuperset(of: found) && column < stored.fewest
        }
    }

    /// <https://www.sqlite.org/stricttables.html>, and
    /// <https://www.sqlite.org/datatype3.html#determination_of_column_affinity>
    private static func kinds(_ type: String, isNotNull: Bool, isStrict: Bool) -> StoredKinds {
        var kinds: StoredKinds
        if isStrict {
            kinds =
                switch type.uppercased() {
                case "INT", "INTEGER": .integer
                case "REAL": [.integer, .real]
                case "TEXT": .text
                case "BLOB": .blob
                default: .all
                }
            kinds.insert(.null)
        } else {
            kinds =
                switch ColumnAffinity(of: type) {
                case .integer, .real, .numeric: [.null, .integer, .real, .blob]
                case .text: [.null, .text, .blob]
                case .blob: .all
                }
        }
        if isNotNull { kinds.remove(.null) }
        return kinds
    }
}

/// How much is in a database.
struct CopiedContent {
    let tableCount: Int
    let rowCount: Int
    /// What the content has against its own rules, and the source's as well.
    var findings: [String] = []
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
