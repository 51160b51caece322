import Foundation
import MigrationKitKeys
import MigrationKitSQLCipher
import TestSupport
import Testing

/// Random databases with deleted rows, written anew in every way, and compared by another engine.
@Suite struct OrdinaryDatabaseTests {
    private static let count =
        Samples.count(5)

    @Test(arguments: 0..<count)
    func rowsKeepTheirRowidsHoweverTheFileIsWritten(_ number: Int) throws {
        let seed = SeededGenerator.seed &+ UInt64(number) &* 0x1_0000_0001
        let database = OrdinaryDatabase(seed: seed)
        let differences = try TemporaryFolder().differences(of: database, number)
        #expect(
            differences == "",
            "\(number), TESTS_SEED=\(SeededGenerator.seed)\n\(database.script.joined(separator: "\n"))"
        )
    }

    /// The encoding is in the header, which SQLite writes with the first table.
    @Test(arguments: ["CREATE TABLE t (a); DROP TABLE t;", "CREATE VIEW v AS SELECT 1 AS a;"])
    func encodingOfADatabaseWithoutTablesIsKept(_ schema: String) throws {
        let database = OrdinaryDatabase(script: ["PRAGMA encoding = 'UTF-16le';", schema])
        #expect(try TemporaryFolder().differences(of: database, 0) == "")
    }

    /// Versions of SQLite write some numbers as different texts, so INSERT would compute another value.
    @Test(arguments: [
        "id INTEGER PRIMARY KEY, code REAL UNIQUE", "id TEXT PRIMARY KEY, code REAL",
        "id INTEGER, code REAL, rowid TEXT UNIQUE",
        "id TEXT COLLATE NOCASE PRIMARY KEY DESC, code REAL",
    ])
    func generatedValuesStayWhatTheyWere(_ columns: String) throws {
        let kind = columns.contains("DESC") ? "WITHOUT ROWID" : ""
        let database = OrdinaryDatabase(script: [
            """
            CREATE TABLE t (\(columns), text TEXT AS ('old ' || code) STORED, twice AS (code * 2))
                \(kind);
            CREATE INDEX texts ON t (text COLLATE NOCASE) WHERE code > 1;
            CREATE INDEX doubles ON t (twice DESC);
            INSERT INTO t (id, code) VALUES (3, 1.5), (5, 2), (8, NULL), (9, 1e300);
            DELETE FROM t WHERE id = 5;
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = replace(sql, 'old ', 'new ');
            """
        ])
        #expect(try TemporaryFolder().differences(of: database, 0) == "")
    }
}

extension TemporaryFolder {
    /// Sends a database through every command that writes it anew.
    fileprivate func differences(of database: OrdinaryDatabase, _ number: Int) throws -> String {
        let (start, key, new) = (path("plain.db"), try TestKey.raw(), try TestKey.raw())
        try database.make(start)
        let old = try CipherSettings.sqlCipher(1 + number % 3)
        let large = try CipherSettings(pageSize: 1024 << (number % 7))
        try DatabaseConversion.encrypt(start, key: key.key)
            .run(to: path("encrypted"))
        try DatabaseConversion.rekey(
            path("encrypted"),
            from: key.key,
            to: new.key
        ).run(to: path("rekeyed"))
        try DatabaseConversion(
            path("encrypted"),
            from: .encrypted(key.key),
            to: .encrypted(new.key, cipher: large)
        ).run(to: path("resized"))
        try DatabaseConversion.encrypt(
            start,
            key: key.key,
            cipher: old
        ).run(to: path("old"))
        try DatabaseConversion.upgrade(path("old"), key: key.key)
            .run(to: path("upgraded"))
        try DatabaseBackup(
            path("encrypted"),
            to: path("backup"),
            form: .encrypted(key.key),
            newKey: new.key
        ).run()
        try DatabaseRestore(path("restored"), from: path("backup"), form: .encrypted(new.key)).run()
        try DatabaseConversion.decrypt(
            path("resized"),
            key: new.key,
            cipher: large
        ).run(to: path("decrypted"))
        return try OrdinaryDatabase.differences([
            (start, nil, 0), (path("encrypted"), key.spelling, 4096),
            (path("rekeyed"), new.spelling, 4096), (path("resized"), new.spelling, large.pageSize),
            (path("upgraded"), key.spelling, 4096), (path("backup"), new.spelling, 4096),
            (path("restored"), new.spelling, 4096), (path("decrypted"), nil, 0),
        ])
    }
}
