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
    ]
}
