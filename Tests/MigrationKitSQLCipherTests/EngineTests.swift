import GRDB
import MigrationKitSQLCipher
import TestSupport
import Testing

@Suite struct EngineTests {
    /// The first database that is opened guards the connections that come after it.
    private func openOne() throws {
        let folder = try TemporaryFolder()
        try EncryptedDatabase.open(
            folder.database,
            key: TestKey.raw().key,
            options: .init(createsFile: true)
        ).close()
    }

    @Test func theEngineIsNamed() {
        let engine = EncryptedDatabase.engine
        #expect(engine.cipherVersion.wholeMatch(of: /4\.[0-9]+\.[0-9]+ .+/) != nil)
        #expect(engine.sqliteVersion.wholeMatch(of: /3\.[0-9]+\.[0-9]+/) != nil)
    }

    /// CVE-2025-29087: SQLite before 3.49.1 counts in 32 bits, and overwrites memory. On every
    /// connection, not only on those that are opened here.
    @Test func aVeryLongSeparatorIsAnError() throws {
        try openOne()
        let values = (1...126).map(String.init).joined(separator: ", ")
        for sql in [
            "SELECT length(concat_ws(printf('%.*c', 34360000, 'A'), \(values)))",
            "CREATE TABLE t (a CHECK (concat_ws(printf('%.*c', 34360000, a), \(values)) <> '')); "
                + "INSERT INTO t VALUES ('A')",
        ] {
            let error = #expect(throws: DatabaseError.self) {
                try DatabaseQueue().write { try $0.execute(sql: sql) }
            }
            // A fixed engine asks for the memory first.
            let code = try #require(error?.resultCode)
            #expect([.SQLITE_TOOBIG, .SQLITE_NOMEM].contains(code))
        }
    }

    @Test(arguments: [
        ("concat_ws(',', 1, NULL, 'b', 2.5)", "1,b,2.5"), ("concat_ws('', 'a', 'b')", "ab"),
        ("concat_ws(NULL, 'a', 'b')", nil), ("concat_ws('--', 'é')", "é"),
    ])
    func valuesAreConcatenated(_ expression: String, _ expected: String?) throws {
        try openOne()
        let found = try DatabaseQueue().read {
            try String.fetchOne($0, sql: "SELECT \(expression)")
        }
        #expect(found == expected)
    }
}
