import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitRescue
import MigrationKitSQLCipher
import TestSupport
import Testing

/// Virtual tables other than FTS5's with content, whose own tables may be damaged.
@Suite struct DamagedVirtualTableTests {
    let folder: TemporaryFolder
    let key: TestKey

    init() throws {
        folder = try TemporaryFolder()
        key = try TestKey.raw()
    }

    private static let sql = """
        CREATE VIRTUAL TABLE old USING fts4 (text);
        CREATE VIRTUAL TABLE bare USING fts5 (text, content = '');
        CREATE VIRTUAL TABLE set_up USING fts5 (text, tokenize = 'trigram', prefix = 2);
        CREATE VIRTUAL TABLE box USING rtree (id, x1, x2);
        CREATE VIRTUAL TABLE term USING fts5vocab (set_up, row);
        WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 120)
        INSERT INTO box SELECT i, i, i + 1 FROM c;
        INSERT INTO old SELECT 'wort ' || id FROM box;
        INSERT INTO bare (rowid, text) SELECT id, 'wort ' || id FROM box;
        INSERT INTO set_up SELECT 'wort ' || id FROM box;
        INSERT INTO set_up (set_up, rank) VALUES ('rank', 'bm25(10.0)');
        """

    @Test func theyAreMadeAnewOrTold() throws {
        _ = try SQLCipherShell.run(
            folder.database,
            key: key.spelling,
            "PRAGMA cipher_page_size = 1024;\n\(Self.sql)"
        )
        let cipher = try CipherSettings(pageSize: 1024)
        let whole = try folder.databaseData()
        for page in 1...(whole.count / 1024) {
            var data = whole
            // The first time nothing.
            if page > 1 { data[(page - 1) * 1024 + 300] ^= 4 }
            try folder.write("notes.db", data)
            let report = try DatabaseSalvage(
                folder.database,
                to: folder.path("new.db"),
                form: .encrypted(key.key, cipher: cipher)
            ).run()
            let isComplete = report.isComplete
            #expect(isComplete || page > 1)
            let new = try EncryptedDatabase.open(
                folder.path("new.db"),
                key: key.key,
                options: .init(cipher: cipher)
            )
            try new.read { db in
                #expect(try String.fetchAll(db, sql: "PRAGMA integrity_check") == ["ok"])
                let told = Set(report.unmade.map(\.name))
                func count(_ table: String, _ condition: String) throws -> Int? {
                    try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table) WHERE \(condition)")
                }
                let use = "page \(page), \(report.damagedPages.map(\.use))"
                guard report.isSchemaWhole else { return }
                for table in ["old", "set_up"] {
                    let rows = try count("\(table)_content", "1")
                    #expect(try count(table, "\(table) MATCH 'wort'") == rows, "\(table), \(use)")
                }
                // What was set for an index stays, unless that itself is damaged.
                let rank = try String.fetchOne(
                    db,
                    sql: "SELECT v FROM set_up_config WHERE k = 'rank'"
                )
                #expect(
                    rank == "bm25(10.0)"
                        || report.damagedPages.map(\.use) == [.table("set_up_config")],
                    "\(use)"
                )
                if !told.contains("bare") {
                    #expect(try count("bare", "bare MATCH 'wort'") == 120, "\(use)")
                }
                if !told.contains("box") { #expect(try count("box", "x1 > 0") == 120, "\(use)") }
                #expect(told.isSubset(of: ["bare", "box"]), "\(use)")
                #expect(isComplete || !told.isEmpty || report.tables.contains { !$0.gaps.isEmpty })
            }
            try new.close()
            unlink(folder.path("new.db"))
        }
    }

    /// Everything is whole, but only the app has the tokenizer.
    @Test func anUnknownTokenizerCostsOnlyItsTable() throws {
        _ = try SQLCipherShell.run(
            folder.database,
            key: key.spelling,
            """
            .dbconfig defensive off
            CREATE TABLE note (text);
            INSERT INTO note VALUES ('one'), ('two');
            CREATE VIRTUAL TABLE found USING fts5 (text, tokenize = 'porter');
            INSERT INTO found SELECT text FROM note;
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = replace(sql, 'porter', 'of_the_app') WHERE name = 'found';
            """
        )
        let output = folder.path("new.db")
        let report = try DatabaseSalvage(folder.database, to: output, form: .encrypted(key.key))
            .run()
        #expect(report.unmade.map(\.name) == ["found"])
        #expect(report.unmade.first?.reason == "no such tokenizer: of_the_app")
        let new = try EncryptedDatabase.open(output, key: key.key)
        for table in ["note", "found_content"] {
            let count = try new.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM \(table)") }
            #expect(count == 2)
        }
    }

    @Test func aFreelistInAFileOfOnePageIsOnlyDamage() throws {
        let queue = try DatabaseQueue(path: folder.database)
        try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA user_version = 3") }
        try queue.close()
        var data = try folder.databaseData()
        try #require(data.count == 4096)
        data[35] = 2
        data[39] = 1
        try folder.write("notes.db", data)
        let output = folder.path("new.db")
        _ = try DatabaseSalvage(folder.database, to: output, form: .plaintext()).run()
        let new = try DatabaseQueue(path: output)
        #expect(try new.read { try Int.fetchOne($0, sql: "PRAGMA user_version") } == 3)
    }
}
