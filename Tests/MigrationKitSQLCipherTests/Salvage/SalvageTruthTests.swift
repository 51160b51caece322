import Foundation
import GRDB
import MigrationKitGRDB
import MigrationKitKeys
import MigrationKitPages
import MigrationKitRescue
import MigrationKitSQLCipher
import TestSupport
import Testing

/// Authentic pages that contradict each other: what SQLite reads is recovered, and what is wrong is told.
@Suite struct SalvageTruthTests {
    private let folder: TemporaryFolder
    private let key: TestKey

    init() throws {
        folder = try TemporaryFolder()
        key = try TestKey.raw()
    }

    private func shell(_ sql: String, _ path: String? = nil) throws -> String {
        try SQLCipherShell.run(path ?? folder.database, key: key.spelling, sql)
    }

    private func salvage() throws -> SalvageReport {
        try? FileManager.default.removeItem(atPath: folder.path("new.db"))
        return try DatabaseSalvage(
            folder.database,
            to: folder.path("new.db"),
            form: .encrypted(key.key)
        ).run()
    }

    private func pages() throws -> StoredPages {
        try StoredPages(folder.databaseData(), key: key.key, cipher: .current)
    }

    private func verification() throws -> [VerificationCheck] {
        try DatabaseVerification(folder.database, form: .encrypted(key.key)).run()
    }

    /// Two tables of several pages, and a few free pages.
    private static let twoTables = """
        CREATE TABLE t (id INTEGER PRIMARY KEY, x TEXT);
        CREATE TABLE u (id INTEGER PRIMARY KEY, x TEXT);
        CREATE TABLE v (x);
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 500)
        INSERT INTO t SELECT i, hex(randomblob(100)) FROM n;
        INSERT INTO u SELECT * FROM t WHERE id <= 120;
        INSERT INTO v SELECT x FROM t;
        DROP TABLE v;
        """

    @Test(arguments: ["root", "leaf"])
    func treeCountsBeforeTheFreeList(_ which: String) throws {
        _ = try shell(Self.twoTables)
        let table = which == "root" ? "u" : "t"
        let rootText = try shell("SELECT rootpage FROM sqlite_schema WHERE name = '\(table)';")
        let root = try #require(Int(rootText))
        let pages = try pages()
        let inner = pages.page(root)
        let leaf = Int(inner.word(inner.half(12)))
        let trunk = Int(pages.page(1).word(32))
        try folder.write(
            "notes.db",
            pages.changing(trunk) { $0.put(word: which == "root" ? root : leaf, at: 8) }
        )
        _ = try salvage()
        let counts = "SELECT count(*) FROM t; SELECT count(*) FROM u; PRAGMA integrity_check;"
        #expect(try shell(counts, folder.path("new.db")) == "500\n120\nok")
        #expect(try verification().contains { !$0.ok && $0.name == "quick_check" })
    }

    /// A leaf in the place of the root, and the root in that of the leaf: the root leads to an inner page,
    /// this leads to the root, and no other page leads to either.
    @Test func pagesThatLeadToEachOtherAreRecovered() throws {
        let store = SmallStore(compatibility: 4, encoding: "UTF-8", autoVacuum: 0)
        let cipher = try #require(try store.cipher)
        try store.make(folder.database, key: key)
        let pages = try StoredPages(folder.databaseData(), key: key.key, cipher: cipher)
        let root = try store.open(folder.database, key: key).read { db in
            try Int.fetchOne(db, sql: "SELECT rootpage FROM sqlite_schema WHERE name = 'deep'")
        }
        let top = try #require(root)
        func firstChild(_ page: Int) -> Int {
            let content = pages.page(page)
            return Int(content.word(content.half(12)))
        }
        let inner = firstChild(top)
        let leaf = firstChild(inner)
        try #require(pages.page(inner)[0] == TreeKind.innerTable.rawValue)
        try #require(pages.page(leaf)[0] == TreeKind.leafTable.rawValue)
        var image = pages.image
        for index in 0..<cipher.pageSize {
            image.swapAt((top - 1) * cipher.pageSize + index, (leaf - 1) * cipher.pageSize + index)
        }
        try folder.write("notes.db", pages.with(image))
        let report = try store.salvage(folder.database, key: key, into: folder.path("new.db"))
        let isComplete = report.isComplete
        #expect(!isComplete)
        let rows = "(SELECT count(*) FROM deep) + (SELECT count(*) FROM lost_and_found)"
        let found = try store.open(folder.path("new.db"), key: key).read { db in
            try Int.fetchOne(db, sql: "SELECT \(rows)")
        }
        #expect(found == 140)
    }

    /// A write that the disk lost: the table's leaf is an older one, and only the index knows the new row.
    @Test func rowThatOnlyAnIndexKnowsIsTold() throws {
        _ = try shell(
            """
            CREATE TABLE t (id INTEGER PRIMARY KEY, k TEXT UNIQUE, b BLOB);
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 399)
            INSERT INTO t SELECT i * 10, printf('k%06d', i), zeroblob(100) FROM n;
            """
        )
        let old = try folder.databaseData()
        _ = try shell("INSERT INTO t VALUES (99999, 'added last', 'x');")
        let leaf = try shell(
            "SELECT max(pageno) FROM dbstat WHERE name = 't' AND pagetype = 'leaf';"
        )
        let start = try (#require(Int(leaf)) - 1) * 4096
        var data = try folder.databaseData()
        try #require(data[start..<start + 4096] != old[start..<start + 4096])
        data.replaceSubrange(start..<start + 4096, with: old[start..<start + 4096])
        try folder.write("notes.db", data)
        let report = try salvage()
        let isComplete = report.isComplete
        #expect(!isComplete)
        #expect(report.tables.first { $0.name == "t" }?.mostLostRows == 1)
        #expect(try shell("SELECT count(*) FROM t;", folder.path("new.db")) == "399")
    }

    /// A leaf of a table without rowids has the rows of another table, which fit it: only the order of its key
    /// shows that others are missing.
    @Test(arguments: [false, true])
    func foreignLeafOfATableWithoutRowidsIsTold(_ isForeign: Bool) throws {
        _ = try shell(
            """
            CREATE TABLE t (a, b TEXT COLLATE NOCASE, c, d, PRIMARY KEY (b DESC, a, d)) WITHOUT ROWID;
            CREATE TABLE settings (k TEXT PRIMARY KEY, v) WITHOUT ROWID;
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 2000)
            INSERT INTO t SELECT i, char(64 + i % 26 + i % 2 * 32) || i, zeroblob(i % 300), -i FROM n;
            INSERT INTO settings VALUES ('version', 4);
            """
        )
        if isForeign {
            let pages = try pages()
            func root(_ name: String) throws -> Int {
                let sql = "SELECT rootpage FROM sqlite_schema WHERE name = '\(name)';"
                return try #require(Int(shell(sql)))
            }
            let inner = pages.page(try root("t"))
            let leaf = Int(inner.word(inner.half(14)))
            let other = pages.page(try root("settings"))
            try folder.write("notes.db", pages.changing(leaf) { $0 = other })
        }
        let report = try salvage()
        #expect(report.isComplete == !isForeign)
        let count = try shell("SELECT count(*) FROM t;", folder.path("new.db"))
        #expect((count == "2000") == !isForeign)
    }

    /// A page of one row's chain is a copy of another row's. SQLite reads both rows, and so does this.
    @Test(arguments: ["middle", "last"])
    func rowsThatShareAPageAreRecoveredAndTold(_ which: String) throws {
        _ = try shell(
            """
            CREATE TABLE t (id INTEGER PRIMARY KEY, b BLOB);
            INSERT INTO t VALUES (1, hex(zeroblob(7000))), (2, replace(hex(zeroblob(7000)), '0', 'B'));
            """
        )
        let pages = try pages()
        let root = try #require(Int(shell("SELECT rootpage FROM sqlite_schema WHERE name = 't';")))
        let leaf = try #require(
            TreePage(pages.page(root), number: root, usableSize: 4096 - pages.cipher.reservedCount)
        )
        let chains = leaf.cells.map { cell in
            Array(
                sequence(first: cell.overflow ?? 0) { page in
                    let next = Int(pages.page(page).word(0))
                    return next == 0 ? nil : next
                }
            )
        }
        try #require(chains.allSatisfy { $0.count >= 3 })
        let place = which == "last" ? chains[0].count - 1 : 1
        try folder.write(
            "notes.db",
            pages.changing(chains[0][place]) { $0 = pages.page(chains[1][1]) }
        )
        let report = try salvage()
        let isComplete = report.isComplete
        #expect(!isComplete)
        let rows = try shell(
            "SELECT id, length(b), b GLOB '*[^B]*' FROM t ORDER BY id;",
            folder.path("new.db")
        )
        #expect(rows == "1|14000|1\n2|14000|0")
    }

    /// The number of pages in the header: too great, so that all but the file's pages would be missing, and
    /// too small, so that pages of trees would be after the end.
    @Test(arguments: [0x8000_0000, 1 << 20, 12])
    func wrongNumberOfPagesIsTold(_ count: Int) throws {
        _ = try shell(Self.twoTables)
        let pages = try pages()
        try folder.write(
            "notes.db",
            pages.changing(1) {
                $0.put(word: count + (count > 12 ? pages.pageCount : 0), at: 28)
            }
        )
        let report = try salvage()
        let isComplete = report.isComplete
        #expect(isComplete, "\(report)")
        #expect(report.wrongPageCount ?? 0 >= count)
        #expect(report.pageCount == pages.pageCount)
        #expect(report.missingPageCount == 0)
        #expect(report.damagedPages == [])
        let counts = "SELECT count(*) FROM t; SELECT count(*) FROM u;"
        #expect(try shell(counts, folder.path("new.db")) == "500\n120")
    }

    @Test func damagedPagesInARowAreOne() throws {
        _ = try shell(Self.twoTables)
        var data = try folder.databaseData()
        let count = data.count / 4096
        // Every page of the table t, and so all that its root leads to.
        for page in 10..<20 { data[page * 4096 + 9] ^= 1 }
        try folder.write("notes.db", data.prefix(4096 * (count - 8)))
        let report = try salvage()
        let isComplete = report.isComplete
        #expect(!isComplete)
        #expect(report.damagedPages.contains { $0.numbers.count > 1 && $0.problem == .damaged })
        let total = report.damagedPages.reduce(0) { $0 + $1.numbers.count }
        #expect(total == 10 + report.missingPageCount && report.missingPageCount == 8)
        #expect(report.damagedPages.last?.numbers == count - 7...count)
    }

    /// The number of cells of a leaf: the row is lost for everybody.
    @Test func rowThatAPageHidesIsTold() throws {
        _ = try shell(Self.twoTables)
        let root = try #require(
            Int(try shell("SELECT rootpage FROM sqlite_schema WHERE name = 't';"))
        )
        let pages = try pages()
        let inner = pages.page(root)
        let leaf = Int(inner.word(inner.half(12)))
        try folder.write("notes.db", pages.changing(leaf) { $0[4] -= 1 })
        let report = try salvage()
        let isComplete = report.isComplete
        #expect(!isComplete)
        #expect(report.tables.first { $0.name == "t" }?.gaps.map(\.page) == [leaf])
    }

    // MARK: - Virtual Tables

    @Test(arguments: ["NULL", "NULL WHERE nodeno = 3", "zeroblob(10) WHERE nodeno = 2"])
    func damagedNodeOfAnRTreeCostsOnlyThat(_ data: String) throws {
        _ = try shell(
            """
            \(Self.twoTables)
            CREATE VIRTUAL TABLE places USING rtree (id, x1, x2);
            INSERT INTO places SELECT id, id, id + 1 FROM u;
            .dbconfig defensive off
            UPDATE places_node SET data = \(data);
            """
        )
        let report = try salvage()
        #expect(report.unmade.map(\.name) == ["places"])
        #expect(!report.unmade.contains { $0.reason.contains("memory") })
        let counts = "SELECT count(*) FROM t; SELECT count(*) FROM u; PRAGMA integrity_check;"
        #expect(try shell(counts, folder.path("new.db")) == "500\n120\nok")

        let checks = try verification().filter { !$0.ok && $0.name != "file_modes" }
        #expect(checks.contains { $0.name == "virtual_tables" }, "\(checks)")
        #expect(
            checks.flatMap(\.findings).allSatisfy {
                $0.text.lowercased().contains("rtree") || $0.text.contains("%_rowid")
            },
            "\(checks)"
        )

        let copy = folder.path("copy.db")
        let backup = try DatabaseBackup(
            folder.database,
            to: copy,
            form: .encrypted(key.key)
        ).run()
        #expect(backup.findings.contains { $0.contains("places") }, "\(backup.findings)")
    }
}
