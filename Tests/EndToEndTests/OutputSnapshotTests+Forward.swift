import Foundation
import TestSupport

extension OutputSnapshotTests {
    /// Commands that bring a database forward, or tell where it stands.
    static let forwardScenes = [
        Scene("migrate") { transcript in
            try transcript.writeNotes()
            try transcript.run("migrate --to 0001")
            try transcript.run("migrate --dry-run")
            try transcript.run("migrate --dry-run --json")
            try transcript.run("migrate --steps 1 --backup before.db --json")
            try transcript.run("migrate --all-or-nothing")
            try transcript.run("migrate")
            try transcript.run("migrate --verify")
            try transcript.run("migrate --json")
            try transcript.run("migrate --dry-run")
        },
        Scene("migrate-without-database") { transcript in
            try transcript.writeNotes()
            try transcript.run("status")
            try transcript.run("plan --steps 1")
            try transcript.run("plan --steps 1 --json")
            try transcript.run("migrate --dry-run --json")
            try transcript.run("migrate")
        },
        Scene("migrate-failed") { transcript in
            try transcript.writeNotes()
            try transcript.write("0004_add_colors", up: "ALTER TABLE note ADD COLUMN color TEXT;")
            try transcript.run("migrate")
            try transcript.run("migrate --json")
            try transcript.run("status")
        },
        Scene("status") { transcript in
            try transcript.writeNotes()
            try transcript.run("migrate --to 0002")
            try transcript.run("status")
            try transcript.run("status --json")
            try transcript.run("status --exit-code")
            try transcript.run("status --exit-code --json")
            try transcript.run("migrate")
            try transcript.run("status --exit-code")
        },
        Scene("status-changed-missing-unknown") { transcript in
            try transcript.writeNotes()
            try transcript.write("0004_drop_archive", up: "DELETE FROM folders WHERE id = 2;")
            try transcript.run("migrate")
            transcript.note("0003 has another text, 0004 is gone, and a newer program was here")
            try transcript.write(
                "0003_add_overview",
                up: "CREATE VIEW overview AS SELECT 1 AS notes;"
            )
            try FileManager.default.removeItem(
                atPath: "\(transcript.tool.migrations)/0004_drop_archive.sql"
            )
            try transcript.shell("INSERT INTO grdb_migrations VALUES ('0005_add_themes');")
            try transcript.run("status")
            try transcript.run("status --json")
            try transcript.run("migrate")
            try transcript.run("migrate --json")
        },
        Scene("status-missing") { transcript in
            try transcript.writeNotes()
            try transcript.run("migrate")
            transcript.note("0002 is gone")
            try FileManager.default.removeItem(
                atPath: "\(transcript.tool.migrations)/0002_create_notes.sql"
            )
            try transcript.run("status")
            try transcript.run("status --json")
            try transcript.run("migrate")
        },
        Scene("status-show-settings") { transcript in
            try transcript.tool.folder.write(
                "migrationkit.toml",
                """
                migrations = "sql"
                keychain-service = "com.example.Notes"
                require-index = ["notes.notes_title", "notes.notes_folder"]
                lock-timeout = 2.5

                """.utf8
            )
            try transcript.run("status --show-settings --keychain-timeout 5")
            try transcript.run("status --show-settings --keychain-timeout 5 --json")
        },
        Scene("plan") { transcript in
            try transcript.writeNotes()
            try transcript.tool.folder.write(
                "migrations/0004_compact.sql",
                "-- migrate:up transaction:false\nVACUUM;\n".utf8
            )
            try transcript.run("migrate --steps 1")
            try transcript.run("plan --steps 1")
            try transcript.run("plan --steps 1 --json")
            try transcript.run("plan --to 0003 --all-or-nothing")
            try transcript.run("plan --to 0003 --all-or-nothing --json")
            try transcript.run("plan --exit-code")
            try transcript.run("plan --exit-code --json")
            try transcript.run("migrate --dry-run")
            try transcript.run("migrate --dry-run --json")
            try transcript.run("migrate")
            try transcript.run("plan --exit-code")
            try transcript.run("plan --exit-code --json")
        },
        Scene("batches") { transcript in
            try transcript.writeNotes()
            try transcript.run("migrate")
            for title in ["a", "b", "c", "wrong", "e", "f"] {
                try transcript.shell("INSERT INTO notes (folder, title) VALUES (1, '\(title)');")
            }
            transcript.note("0004_titles changes one row at a time, and refuses one")
            try transcript.write(
                "0004_titles",
                up: """
                    -- migrate:batch rows=1
                    UPDATE notes SET title = upper(title) || iif(title = 'wrong', NULL, '')
                    WHERE title GLOB '[a-z]*';
                    """
            )
            try transcript.run("plan")
            try transcript.run("plan --json")
            try transcript.run("migrate")
            try transcript.run("migrate --json")
            try transcript.run("status")
            try transcript.run("status --json")
            transcript.note("another version of the app, which doesn't have it")
            let file = "\(transcript.tool.migrations)/0004_titles.sql"
            try FileManager.default.moveItem(atPath: file, toPath: file + ".away")
            try transcript.run("status")
            try FileManager.default.moveItem(atPath: file + ".away", toPath: file)
            try transcript.shell("UPDATE notes SET title = 'd' WHERE title = 'wrong';")
            try transcript.run("migrate")
            try transcript.run("history")
            try transcript.run("history --json")
            transcript.note("0005_again changes what it has changed")
            try transcript.write(
                "0005_again",
                up: """
                    -- migrate:batch
                    UPDATE notes SET title = title || '!' WHERE length(title) < 9;
                    """
            )
            try transcript.run("migrate")
            try transcript.run("migrate --json")
            transcript.note("0005_again has another statement")
            try transcript.write(
                "0005_again",
                up: """
                    -- migrate:batch
                    DELETE FROM notes WHERE title = 'A';
                    CREATE INDEX notes_title ON notes (title);
                    """
            )
            try transcript.run("migrate")
            try transcript.run("migrate --json")
        },
        Scene("rehearse") { transcript in
            try transcript.writeNotes()
            try transcript.run("migrate --to 0001")
            try transcript.run("rehearse --steps 1 --report report.txt")
            transcript.note("the report:")
            try transcript.show("report.txt")
            try transcript.run("rehearse --json --report report.json")
            transcript.note("0004_twice fails on the rows that there are")
            try transcript.write("0004_twice", up: "INSERT INTO folders SELECT * FROM folders;")
            try transcript.run("rehearse --report failed.txt")
            try transcript.show("failed.txt")
            try transcript.run("rehearse --json --all-or-nothing --in migrations")
            try transcript.run("status")
            try transcript.run("rehearse --report failed.txt")
            try transcript.run("rehearse --in nowhere")
            try transcript.run("rehearse --steps 0")
            try transcript.run("rehearse --steps 0 --json")
            transcript.note("somebody has made a table by hand")
            try transcript.shell("CREATE TABLE by_hand (id INTEGER);")
            try transcript.run("rehearse --to 0003 --report found.txt")
            try transcript.show("found.txt")
            try transcript.run("rehearse --to 0003 --json")
            try transcript.shell(
                """
                DROP TABLE by_hand;
                DELETE FROM grdb_migrations;
                DELETE FROM grdb_migrationkit_journal;
                CREATE TABLE schema_migrations (version varchar(128) PRIMARY KEY);
                INSERT INTO schema_migrations VALUES ('0001');
                """
            )
            try transcript.run("rehearse --to 0003")
            try transcript.run("rehearse --to 0003 --adopt dbmate")
            try transcript.run("rehearse --to 0003 --adopt dbmate --json")
        },
        Scene("checks") { transcript in
            try transcript.writeNotes()
            try transcript.run("migrate")
            try transcript.shell("INSERT INTO notes (folder, title) VALUES (1, 'a'), (1, 'b');")
            try transcript.shell("UPDATE notes SET title = '';")
            transcript.note("0004_titles requires that each note has a title")
            try transcript.write(
                "0004_titles",
                up: """
                    -- migrate:require
                    -- no note without a title
                    SELECT rowid FROM notes WHERE title = '';
                    -- migrate:end
                    UPDATE notes SET title = upper(title);
                    -- migrate:check
                    -- each title is in upper case
                    SELECT rowid FROM notes WHERE title GLOB '*[a-z]*';
                    """
            )
            try transcript.run("plan")
            try transcript.run("plan --json")
            try transcript.run("migrate")
            try transcript.run("migrate --json")
            try transcript.shell("UPDATE notes SET title = 'a note';")
            try transcript.shell("INSERT INTO notes (folder, title) VALUES (1, 'x');")
            transcript.note("they get titles, and 0004_titles forgets one")
            try transcript.write(
                "0004_titles",
                up: """
                    UPDATE notes SET title = upper(title) WHERE title <> 'x';
                    -- migrate:check
                    -- each title is in upper case
                    SELECT rowid FROM notes WHERE title GLOB '*[a-z]*';
                    """
            )
            try transcript.run("migrate --dry-run")
            try transcript.run("migrate")
            try transcript.run("migrate --json")
            transcript.note("a folder of checks; 0004_titles is corrected")
            try transcript.write("0004_titles", up: "UPDATE notes SET title = upper(title);")
            try transcript.tool.folder.makeFolder("checks")
            try transcript.tool.folder.write(
                "checks/notes.sql",
                """
                -- no title twice in a folder
                SELECT min(rowid) AS rowid FROM notes GROUP BY folder, title HAVING count() > 1;

                -- each folder has a name
                SELECT rowid FROM folders WHERE name = '';
                """.utf8
            )
            try transcript.run("plan")
            try transcript.run("plan --json")
            try transcript.run("migrate")
            try transcript.shell("UPDATE notes SET title = rowid;")
            transcript.note("each note gets a title of its own")
            try transcript.run("migrate")
            try transcript.shell("UPDATE folders SET name = '' WHERE id = 2;")
            try transcript.run("verify")
            try transcript.run("verify --json")
            try transcript.tool.folder.write("checks/notes.sql", "SELECT titel FROM notes;".utf8)
            try transcript.run("lint --since 0004")
            try transcript.tool.folder.write("checks/notes.sql", "DELETE FROM notes;".utf8)
            try transcript.run("verify")
        },
        Scene("verify") { transcript in
            try transcript.writeNotes()
            try transcript.run("migrate")
            try transcript.run("verify --require-index notes.notes_title")
            try transcript.run("verify --require-index notes.notes_title --json")
            try transcript.shell("INSERT INTO notes (folder) VALUES (7);")
            try transcript.run("verify --require-index notes.notes_folder")
            try transcript.run("verify --require-index notes.notes_folder --json")
        },
        Scene("drift") { transcript in
            try transcript.writeNotes()
            try transcript.run("migrate --to 0002")
            try transcript.shell(
                "ALTER TABLE notes ADD COLUMN color TEXT; DROP INDEX notes_title; "
                    + "INSERT INTO notes (folder, color) VALUES (1, 'red'); "
                    + "CREATE TABLE scratch (id); INSERT INTO scratch VALUES (1), (2);"
            )
            try transcript.run("verify")
            try transcript.run("verify --json")
            try transcript.run("status")
            try transcript.run("status --json")
            try transcript.run("repair --schema")
            try transcript.run("repair --schema --json")
            try transcript.run("repair --schema --output repair.sql --json")
            try transcript.run("verify --ignore-table scratch --ignore-table note*")
            try transcript.run("migrate")
            try transcript.run("status --exit-code")
            try transcript.run("status --exit-code --json")
            transcript.note("the environment's path and a key are no reason to open a database")
            try transcript.run("schema-dump --raw-key")
            try transcript.run("schema-dump --db-path notes.db --raw-key")
        },
        Scene("verify-full") { transcript in
            try transcript.writeNotes()
            try transcript.write(
                "0004_find_notes",
                up: """
                    CREATE VIRTUAL TABLE search
                        USING fts5 (title, content = 'notes', content_rowid = 'id');
                    CREATE TABLE tag (name TEXT PRIMARY KEY CHECK (length(name) > 1)) WITHOUT ROWID;
                    """
            )
            try transcript.run("migrate")
            try transcript.run("verify --full")
            try transcript.run("verify --full --json")
            try transcript.shell(
                """
                PRAGMA ignore_check_constraints = 1;
                INSERT INTO tag VALUES ('x');
                WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 22)
                INSERT INTO notes (folder) SELECT 7 FROM c;
                INSERT INTO grdb_migrations VALUES ('0005_add_themes');
                """
            )
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o644],
                ofItemAtPath: transcript.tool.folder.path("notes.db")
            )
            try transcript.run("verify --full")
            try transcript.run("verify --full --json")
        },
        Scene("verify-full-damaged") { transcript in
            try transcript.writeNotes()
            try transcript.run("migrate")
            try transcript.flipBit("notes.db", at: 4096 * 3 + 100)
            try transcript.run("verify --full")
            try transcript.run("verify --full --json")
            try transcript.flipBit("notes.db", at: 100)
            try transcript.run("verify --full")
            try transcript.tool.folder.write("other", ToolFolder.randomDigits(count: 64).utf8)
            try transcript.run("verify --full --password-file other --json")
        },
    ]
}
