import CSQLCipher
import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitPages
import MigrationKitRescue
import TestSupport
import Testing

@testable import MigrationKitSQLCipher

/// The page with SQLite's lock bytes, which a file of more than a gigabyte has. Nothing is ever stored
/// in it. Here it comes much earlier, in SQLite and in our own code: both in a process of their own.
/// <https://www.sqlite.org/fileformat.html#the_lock_byte_page>
@Suite struct LockBytePageTests {
    private let folder: TemporaryFolder

    /// A pointer map would be on this page if the lock bytes weren't: 1024 bytes a page, of which 944
    /// are used, so there is a map every 189 pages.
    private static let lockPage = 191
    private static let pageSize = 1024

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test(arguments: [0, 1], ["DELETE", "WAL"])
    func nothingIsExpectedOrStoredThere(autoVacuum: Int, journalMode: String) throws {
        let name = "childHasLockPage"
        let result = try TestInOwnProcess.run(
            name,
            arguments: [folder.path, "\(autoVacuum)", journalMode]
        )
        #expect(result.hasPassed(name), "\(result)")
    }

    @Test(.enabled(if: TestInOwnProcess.arguments != nil))
    func childHasLockPage() throws {
        let arguments = try #require(TestInOwnProcess.arguments)
        let offset = (Self.lockPage - 1) * Self.pageSize
        csqlcipher_set_lock_byte(UInt32(offset))
        DatabaseHeader.lockByte = offset
        let place = Place(folder: arguments[0])
        let (old, key) = (try TestKey.raw().key, try TestKey.raw().key)
        let cipher = try CipherSettings(compatibility: 4, pageSize: Self.pageSize)
        let form = DatabaseForm.encrypted(key, cipher: cipher)

        // Plaintext, and encrypted row by row.
        try place.make("plain.db", autoVacuum: arguments[1], journalMode: arguments[2])
        let rows = try place.rows("plain.db", .plaintext())
        #expect(rows.count == 500)
        let older = try CipherSettings(compatibility: 3, pageSize: Self.pageSize)
        try DatabaseConversion.encrypt(
            place["plain.db"],
            key: old,
            cipher: older
        ).run(to: place["older.db"])
        try DatabaseConversion.upgrade(
            place["older.db"],
            key: old,
            cipher: older,
            newCipher: cipher
        ).run(to: place["first.db"])
        let oldForm = DatabaseForm.encrypted(old, cipher: cipher)
        #expect(try place.rows("first.db", oldForm) == rows)

        // Page by page.
        try DatabaseBackup(
            place["first.db"],
            to: place["backup.db"],
            form: oldForm,
            newKey: key
        ).run()
        try DatabaseRestore(place["store.db"], from: place["backup.db"], form: form).run()
        try DatabaseConversion.rekey(place["first.db"], from: old, to: key, cipher: cipher).run()
        for name in ["first.db", "store.db"] {
            #expect(try place.rows(name, form) == rows, "\(name)")
        }
        try DatabaseConversion.decrypt(
            place["store.db"],
            key: key,
            cipher: cipher
        ).run(to: place["decrypted.db"])
        #expect(try place.rows("decrypted.db", .plaintext()) == rows)

        // The page isn't damage.
        let report = try EncryptedDatabase.inspect(
            place["store.db"],
            key: key,
            cipher: cipher,
            checksPages: true
        )
        #expect(report.damage == nil)
        let checks = try DatabaseVerification(place["store.db"], form: form).run()
        #expect(checks.filter { !$0.ok } == [])
        for (name, form) in [("store.db", form), ("plain.db", .plaintext())] {
            try place.damage(name)
            let before = try place.rows(name, form)
            let salvaged = try place.salvage(name, form)
            #expect(salvaged.isComplete && salvaged.damagedPages == [], "\(salvaged)")
            #expect(try place.rows("salvaged.db", form) == before)
        }

        // Damage after it is found where it is.
        let broken = Self.lockPage + 20
        try place.flip("store.db", at: (broken - 1) * Self.pageSize + 100)
        let damaged = try EncryptedDatabase.inspect(
            place["store.db"],
            key: key,
            cipher: cipher,
            checksPages: true
        )
        #expect(damaged.damage?.pages == [broken])
        #expect(try place.salvage("store.db", form).damagedPages.map(\.number) == [broken])
    }

    /// The folder of a child process.
    private struct Place {
        let folder: String

        subscript(name: String) -> String { "\(folder)/\(name)" }

        /// Tables, indexes, overflow pages and free pages on both sides of the page.
        func make(_ name: String, autoVacuum: String, journalMode: String) throws {
            let queue = try DatabaseQueue(path: self[name])
            try queue.writeWithoutTransaction { db in
                try db.execute(
                    sql: """
                        PRAGMA page_size = \(LockBytePageTests.pageSize);
                        PRAGMA auto_vacuum = \(autoVacuum);
                        PRAGMA journal_mode = \(journalMode);
                        CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b BLOB);
                        CREATE TABLE other (a);
                        CREATE INDEX t_a ON t (a);
                        WITH n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 600)
                        INSERT INTO t SELECT x, hex(randomblob(60)),
                            CASE WHEN x % 5 = 0 THEN randomblob(3000) END FROM n;
                        INSERT INTO other SELECT b FROM t;
                        DELETE FROM t WHERE id > 500;
                        DROP TABLE other;
                        """
                )
            }
            try queue.close()
        }

        func open(_ name: String, _ form: DatabaseForm) throws -> DatabaseQueue {
            guard let key = form.key else { return try EncryptedDatabase.openPlaintext(self[name]) }
            return try EncryptedDatabase.open(
                self[name],
                key: key,
                options: .init(cipher: form.cipher)
            )
        }

        /// The rows of a database that SQLite itself finds nothing wrong with, and that has the page.
        func rows(_ name: String, _ form: DatabaseForm) throws -> [String] {
            let queue = try open(name, form)
            let rows = try queue.inDatabase { db in
                let count = try #require(try Int.fetchOne(db, sql: "PRAGMA page_count"))
                #expect(count > LockBytePageTests.lockPage + 100)
                #expect(try String.fetchAll(db, sql: "PRAGMA integrity_check") == ["ok"])
                return try String.fetchAll(
                    db,
                    sql: "SELECT id || a || coalesce(hex(b), '') FROM t ORDER BY id"
                )
            }
            try queue.close()
            return rows
        }

        /// Writes something to the page, which SQLite doesn't read.
        func damage(_ name: String) throws {
            try flip(name, at: (LockBytePageTests.lockPage - 1) * LockBytePageTests.pageSize + 7)
        }

        func flip(_ name: String, at offset: Int) throws {
            let url = URL(fileURLWithPath: self[name])
            var data = try Data(contentsOf: url)
            data[offset] ^= 1
            try data.write(to: url)
        }

        func salvage(_ name: String, _ form: DatabaseForm) throws -> SalvageReport {
            try? FileManager.default.removeItem(atPath: self["salvaged.db"])
            return try DatabaseSalvage(self[name], to: self["salvaged.db"], form: form).run()
        }
    }
}
