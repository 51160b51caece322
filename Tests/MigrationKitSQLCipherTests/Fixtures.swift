import Foundation
import GRDB
import MigrationKitSQLCipher

/// Files as the tests need them.
enum Fixtures {
    /// A database with a table `t` that has one row, 'zettel', made by our own code.
    static func encrypted(_ path: String, key: TestKey) throws {
        let queue = try EncryptedDatabase.open(
            path,
            key: key.key,
            options: .init(createsFile: true)
        )
        try queue.write { db in
            try db.execute(sql: "CREATE TABLE t(a); INSERT INTO t VALUES ('zettel')")
        }
        try queue.close()
    }

    /// The same, not encrypted.
    static func plaintext(_ path: String) throws {
        let queue = try EncryptedDatabase.openPlaintext(path, options: .init(createsFile: true))
        try queue.write { db in
            try db.execute(sql: "CREATE TABLE t(a); INSERT INTO t VALUES ('zettel')")
        }
        try queue.close()
    }

    /// SQL that makes a table of about as many pages.
    static func fill(pages: Int) -> String {
        """
        CREATE TABLE filler(a);
        WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < \(pages))
        INSERT INTO filler SELECT randomblob(3500) FROM c;
        """
    }
}
