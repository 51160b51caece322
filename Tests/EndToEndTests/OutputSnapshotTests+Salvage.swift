import Foundation
import TestSupport

extension OutputSnapshotTests {
    /// Commands that bring back what is left of a database.
    static let salvageScenes = [
        Scene("salvage") { transcript in
            try transcript.shell(
                """
                .dbconfig no_ckpt_on_close on
                PRAGMA journal_mode = WAL;
                CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
                CREATE INDEX notes_title ON notes (title);
                CREATE VIRTUAL TABLE words USING fts5 (word, content = '');
                WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 100)
                INSERT INTO notes SELECT x, printf('%0300d', x) FROM n;
                INSERT INTO words (rowid, word) VALUES (1, 'one'), (2, 'two');
                PRAGMA wal_checkpoint (TRUNCATE);
                UPDATE notes SET title = 'a ' || title WHERE id = 30;
                """
            )
            try transcript.run("salvage --output whole.db")
            try transcript.run("salvage --output whole.db")
            try transcript.run("salvage --output wholer.db --json")
            try transcript.run("salvage --output /nowhere/new.db --json")
            try transcript.flipBit("notes.db", at: 4096 * 10 + 200)
            try transcript.flipBit("notes.db", at: 4096 * 3 + 200)
            try transcript.flipBit("notes.db", at: 4096 * 2 + 200)
            try transcript.flipBit("notes.db-wal", at: 32 + 500)
            try transcript.run("salvage --output part.db")
            try transcript.run("salvage --output parts.db --json")
            try transcript.flipBit("notes.db", at: 3)
            try transcript.flipBit("notes.db", at: 200)
            transcript.note("and what is in the log is lost")
            try transcript.tool.folder.write("notes.db-wal", [])
            try transcript.run("salvage --output rest.db")
            try transcript.run("salvage --output rests.db --json")
            try transcript.tool.folder.write("other", ToolFolder.randomDigits(count: 64).utf8)
            try transcript.run("salvage --output other.db --password-file other")
            try transcript.run("salvage --output other.db --password-file other --json")
            try transcript.run(
                "salvage --output other.db --new-password-file other --new-raw-key"
            )
            try transcript.run("inspect --password-file other other.db --quick")
        },
        Scene("salvage-plaintext") { transcript in
            try transcript.shell(
                isPlaintext: true,
                "CREATE TABLE notes (id INTEGER); INSERT INTO notes VALUES (1), (2);"
            )
            try transcript.run("salvage --output new.db")
            try transcript.run("salvage --no-encryption --output new.db", hasKey: false)
            try transcript.flipBit("notes.db", at: 4096 + 3)
            try transcript.run("salvage --no-encryption --output part.db", hasKey: false)
            try transcript.tool.folder.write("notes.db", Array(repeating: 7, count: 4096))
            try transcript.run("salvage --no-encryption --output none.db", hasKey: false)
            try transcript.run("salvage --no-encryption --output none.db --json", hasKey: false)
        },
        // A log that isn't the database's own, and what it holds.
        Scene("other-journal") { transcript in
            try transcript.write("0001_more", up: "CREATE TABLE more (id INTEGER);")
            try transcript.shell(
                """
                .dbconfig no_ckpt_on_close on
                PRAGMA journal_mode = WAL;
                CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
                PRAGMA wal_checkpoint (TRUNCATE);
                CREATE TABLE tags (name TEXT);
                INSERT INTO notes VALUES (1, 'one');
                """
            )
            let (first, log) = try (
                transcript.tool.folder.data("notes.db"), transcript.tool.folder.data("notes.db-wal")
            )
            for name in ["notes.db", "notes.db-wal", "notes.db-shm"] {
                unlink(transcript.tool.folder.path(name))
            }
            try transcript.shell("CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);")
            try transcript.tool.folder.write("notes.db-wal", log)
            transcript.note("another database was put in the place of the log's:")
            try transcript.run("status")
            try transcript.run("status --json")
            try transcript.run("inspect")
            try transcript.run("inspect --json")
            try transcript.run("salvage --output sound.db --json")
            transcript.note("the log's database has lost its first page, and with it the salt:")
            try transcript.tool.folder.write(
                "notes.db",
                Data(count: 4096) + first.dropFirst(4096)
            )
            try transcript.run("salvage --output saved.db --json")
            transcript.note("there is only the log:")
            unlink(transcript.tool.folder.path("notes.db"))
            try transcript.run("migrate")
            try transcript.tool.folder.write("notes.db", Data())
            try transcript.run("salvage notes.db --output recovered.db")
        },
        Scene("salvage-lost-schema") { transcript in
            try transcript.shell(
                isPlaintext: true,
                "CREATE TABLE notes (id INTEGER); INSERT INTO notes VALUES (1), (2);"
            )
            transcript.note("its header counts more pages than there are:")
            try transcript.flipBit("notes.db", at: 29)
            try transcript.run("salvage --no-encryption --output counted.db --json", hasKey: false)
            transcript.note("its first page is damaged, and the migrations can't run:")
            try transcript.write("0001_wrong", up: "INSERT INTO missing VALUES (1);")
            try transcript.tool.folder.write(
                "notes.db",
                Array(repeating: 7, count: 4096)
                    + transcript.tool.folder.data("notes.db").dropFirst(4096)
            )
            try transcript.run(
                "salvage --no-encryption --output named.db --migrations migrations --json",
                hasKey: false
            )
        },
    ]
}
