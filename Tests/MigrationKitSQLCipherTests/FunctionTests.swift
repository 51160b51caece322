import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitSQLCipher
import TestSupport
import Testing

@Suite struct FunctionTests {
    private let folder: TemporaryFolder
    private let key: TestKey

    init() throws {
        folder = try TemporaryFolder()
        key = try .raw()
    }

    @Test func uuidIsALowerCaseVersionFourAndAnotherOneEachTime() throws {
        try Fixtures.encrypted(folder.database, key: key)
        let queue = try EncryptedDatabase.open(folder.database, key: key.key)
        let values = try queue.read { db in
            try String.fetchAll(
                db,
                sql: """
                    WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 1000)
                    SELECT uuid() FROM c
                    """
            )
        }
        #expect(Set(values).count == 1000)
        let form = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/
        for value in values { #expect(value.wholeMatch(of: form) != nil) }
    }

    @Test(arguments: [true, false])
    func uuidIsADefaultOnEveryKindOfConnection(isEncrypted: Bool) throws {
        let options = EncryptedDatabase.Options(createsFile: true)
        let queue =
            isEncrypted
            ? try EncryptedDatabase.open(folder.database, key: key.key, options: options)
            : try EncryptedDatabase.openPlaintext(folder.database, options: options)
        try queue.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE note(
                        id TEXT PRIMARY KEY NOT NULL ON CONFLICT REPLACE DEFAULT (uuid()),
                        title TEXT NOT NULL
                    ) STRICT;
                    INSERT INTO note(title) VALUES ('one');
                    INSERT INTO note(id, title) VALUES (NULL, 'two');
                    """
            )
        }
        let ids = try queue.read { try String.fetchAll($0, sql: "SELECT id FROM note") }
        #expect(Set(ids).count == 2)
        #expect(ids.allSatisfy { $0.count == 36 })
        // An index would hold values that the function never returns again.
        #expect(throws: DatabaseError.self) {
            try queue.write { try $0.execute(sql: "CREATE INDEX i ON note(uuid())") }
        }
    }

    @Test func theHostsFunctionsAndCollationsAreOnEveryConnection() throws {
        let options = EncryptedDatabase.Options(
            createsFile: true,
            functions: [DatabaseFunction("answer", argumentCount: 0, pure: true) { _ in 42 }],
            collations: [
                DatabaseCollation("backwards") { left, right in
                    left == right
                        ? .orderedSame : left < right ? .orderedDescending : .orderedAscending
                }
            ]
        )
        let pool = try EncryptedDatabase.openPool(folder.database, key: key.key, options: options)
        let query = { @Sendable (db: Database) throws -> String? in
            try String.fetchOne(
                db,
                sql: """
                    SELECT group_concat(a, ',') FROM (
                        SELECT column1 || answer() AS a FROM (VALUES ('a'), ('b'))
                        ORDER BY a COLLATE backwards)
                    """
            )
        }
        #expect(try pool.read(query) == "b42,a42")
        #expect(try pool.write(query) == "b42,a42")
        try pool.close()
        let plain = try EncryptedDatabase.openPlaintext(folder.path("plain.db"), options: options)
        #expect(try plain.read(query) == "b42,a42")
        let own = try DatabaseQueue(
            configuration: EncryptedDatabase.configuration(key: key.key, options: options)
        )
        #expect(try own.read(query) == "b42,a42")
    }

    /// The key is proven before the functions are there.
    @Test func aSchemaThatUsesTheHostsFunctionsAndCollationsOpens() throws {
        let options = EncryptedDatabase.Options(
            createsFile: true,
            functions: [DatabaseFunction("twice", argumentCount: 1, pure: true) { $0[0] }],
            collations: [DatabaseCollation("mine") { $0.compare($1) }]
        )
        let queue = try EncryptedDatabase.open(folder.database, key: key.key, options: options)
        try queue.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE t(a TEXT COLLATE mine, b AS (twice(a)));
                    CREATE INDEX i ON t(twice(a));
                    INSERT INTO t VALUES ('zettel');
                    """
            )
        }
        try queue.close()
        let again = try EncryptedDatabase.open(folder.database, key: key.key, options: options)
        #expect(try again.read { try String.fetchOne($0, sql: "SELECT b FROM t") } == "zettel")
    }
}
