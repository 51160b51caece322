import GRDB
import MigrationKitKeys
import MigrationKit
import MigrationKitSQLCipher
import MigrationKitSchema
import TestSupport
import Testing

#if DEBUG || ERASABLE
    /// Starting anew during development, on an encrypted file.
    @Suite struct EraseTests {
        private let store: EncryptedStore

        init() throws {
            store = try EncryptedStore()
        }

        /// Every kind of object that has to go.
        private func steps(_ column: String) -> [MigrationStep<Database>] {
            [
                step(
                    "0001",
                    """
                    CREATE TABLE note (
                        id INTEGER PRIMARY KEY AUTOINCREMENT,
                        body TEXT UNIQUE\(column),
                        size GENERATED ALWAYS AS (length(body)) STORED
                    );
                    CREATE TABLE tag (
                        noteId INTEGER PRIMARY KEY REFERENCES note (id) ON DELETE RESTRICT
                    ) WITHOUT ROWID;
                    CREATE INDEX note_size ON note (size);
                    CREATE VIRTUAL TABLE note_text USING fts5 (body, content = 'note');
                    CREATE TRIGGER note_insert AFTER INSERT ON note BEGIN
                        INSERT INTO note_text (rowid, body) VALUES (NEW.id, NEW.body);
                    END;
                    CREATE TRIGGER note_delete BEFORE DELETE ON note BEGIN
                        SELECT raise(ABORT, 'notes are never deleted');
                    END;
                    CREATE VIEW "a ""view" AS SELECT * FROM note;
                    INSERT INTO note (body) VALUES ('a'), ('b');
                    INSERT INTO tag VALUES (1), (2);
                    """
                )
            ]
        }

        @Test(arguments: WriterKind.allCases)
        func erasedStoreIsEmptyAndKeepsItsKey(_ kind: WriterKind) throws {
            let writer = try kind.open(store)
            try GRDBMigrationRunner(steps: steps("")).migrate(in: writer)
            let salt = try salt(of: writer)
            let size = try #require(try writer.number("PRAGMA page_count"))

            let changed = try GRDBMigrationRunner(steps: steps(" COLLATE NOCASE"))
            #expect(try changed.eraseDatabaseOnSchemaChange(in: writer))
            let left = try Everything(of: writer)
            #expect(left.schema.filter { !$0.contains("sqlite_") }.isEmpty)
            #expect(left.rows.values.allSatisfy { $0.isEmpty })
            #expect(try #require(try writer.number("PRAGMA page_count")) < size)
            #expect(try writer.number("PRAGMA foreign_keys") == 1)

            #expect(try changed.migrate(in: writer).steps.count == 1)
            #expect(try writer.number("SELECT count(*) FROM note") == 2)
            #expect(try salt == self.salt(of: writer))
            try writer.close()

            #expect(try store.isEncrypted)
            #expect(try store.open().number("SELECT count(*) FROM note") == 2)
            let other = try EncryptedStore().key
            #expect(throws: EncryptedDatabaseError.self) {
                try EncryptedDatabase.open(store.path, key: other)
            }
        }

        @Test func storeWithoutChangeIsLeftAlone() throws {
            let writer = try store.open()
            let runner = try GRDBMigrationRunner(steps: steps(""))
            #expect(try !runner.eraseDatabaseOnSchemaChange(in: writer))
            try runner.migrate(in: writer)
            let before = try Everything(of: writer)
            #expect(try !runner.eraseDatabaseOnSchemaChange(in: writer))
            #expect(try Everything(of: writer) == before)
        }

        private func salt(of writer: any DatabaseWriter) throws -> [String] {
            try writer.strings("PRAGMA cipher_salt")
        }
    }
#endif
