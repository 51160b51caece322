import TestSupport

extension OutputSnapshotTests {
    /// Commands that are about the folder and its schema.
    static let folderScenes = [
        Scene("init") { transcript in
            try transcript.run("init --db-path data/notes.db --keychain-service org.notes -n")
            try transcript.run("init --db-path data/notes.db --keychain-service org.notes --json")
            try transcript.run("init")
            try transcript.run("init --db-path other.db")
            try transcript.run("init --db-path other.db --json")
            try transcript.run("status --show-settings")
        },
        Scene("init-from-user-version") { transcript in
            try transcript.tool.folder.write("word", "a word of the test".utf8)
            try transcript.shell(
                isPlaintext: true,
                "CREATE TABLE note (title TEXT); PRAGMA user_version = 7;"
            )
            try transcript.run("encrypt --password-file word --quiet", hasKey: false)
            let adoption = "init --from-user-version --db-path notes.db --password-file word"
            try transcript.run("\(adoption) --dry-run")
            try transcript.run("\(adoption) --json")
            try transcript.run("\(adoption)")
        },
        Scene("version") { transcript in
            try transcript.run("--version --json")
        },
        Scene("explain") { transcript in
            try transcript.run("explain")
            try transcript.run("explain --json")
            try transcript.run("explain 'Error: file is not a database (26)'")
            try transcript.run("explain SQLITE_BUSY --json")
            try transcript.run("explain wrongKey")
            try transcript.run("explain 77")
            try transcript.run("explain 77 --json")
            try transcript.run("explain wrongkey")
            try transcript.run("explain something else")
        },
        Scene("create") { transcript in
            try transcript.run("create --format goose add-tags")
            try transcript.run("create add-tags-to-notes --json")
            try transcript.run("create later --timestamp")
            try transcript.run("migrate")
        },
        Scene("draft") { transcript in
            try transcript.writeNotes()
            try transcript.run("migrate --to 0002")
            try transcript.run("create add-tags")
            try transcript.run("status")
            try transcript.run("status --json")
            try transcript.run("migrate")
            try transcript.run("migrate --to 0003")
            try transcript.run("rollback")
            try transcript.tool.folder.write(
                "migrations/0004_add-tags.sql",
                "-- migrate:up\n-- Nothing to do here.\n-- migrate:down\n".utf8
            )
            transcript.note("0004_add-tags gets a comment instead of SQL")
            try transcript.run("migrate")
            try transcript.run("rollback")
        },
        Scene("create-pairs") { transcript in
            try transcript.run("create --format golang-migrate add-tags")
            try transcript.run("create --format pairs add-tags")
            for part in ["up", "down"] {
                try transcript.tool.folder.write(
                    "migrations/0001_add-tags.\(part).sql",
                    "CREATE TABLE tags (id INTEGER);\n".utf8
                )
            }
            transcript.note("0001_add-tags gets its SQL")
            try transcript.run("create add-colors --json")
        },
        Scene("schema-diff") { transcript in
            try transcript.writeNotes()
            try transcript.run("migrate")
            try transcript.tool.folder.write(
                "schema.sql",
                """
                CREATE TABLE folders (
                    id INTEGER PRIMARY KEY,
                    name TEXT NOT NULL UNIQUE
                ) STRICT;
                CREATE TABLE notes (
                    id INTEGER PRIMARY KEY,
                    folder INTEGER NOT NULL REFERENCES folders (id) ON DELETE CASCADE,
                    heading TEXT NOT NULL DEFAULT ''
                ) STRICT;
                CREATE INDEX notes_heading ON notes (heading);
                CREATE TABLE tags (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
                """.utf8
            )
            try transcript.run("schema-diff --to schema.sql", hasKey: false)
            try transcript.run("schema-diff --to schema.sql --unified", hasKey: false)
            try transcript.run("schema-diff --to schema.sql --json --exit-code", hasKey: false)
            try transcript.run("schema-diff --to notes.db --exit-code")
            try transcript.run("schema-diff --to schema.sql --format sql", hasKey: false)
            try transcript.run("create tags --to schema.sql --json", hasKey: false)
            try transcript.run(
                "create tags --to schema.sql --json --db-path notes.db --raw-key --prove-on-copy "
                    + "--allow-hazard drop-column --allow-hazard rewrites-table"
            )
            try transcript.run("create again --to schema.sql --json", hasKey: false)
            try transcript.run("create again --to schema.sql", hasKey: false)
            try transcript.run("migrate")
        },
        Scene("lint") { transcript in
            for name in ["folders", "notes"] {
                try transcript.write(
                    name == "folders" ? "0001_folders" : "0002_notes",
                    up: "CREATE TABLE \(name) (id INTEGER PRIMARY KEY) STRICT;",
                    down: "DROP TABLE \(name);"
                )
            }
            try transcript.run("migrate --to 0001")
            try transcript.run("lint", hasKey: false)
            try transcript.run("lint --json", hasKey: false)
            try transcript.run("lint --pending")
            try transcript.run("lint --since 1 --pending", hasKey: false)
            try transcript.run("lint --base main --json", hasKey: false)
        },
        Scene("test") { transcript in
            for name in ["folders", "notes"] {
                try transcript.write(
                    name == "folders" ? "0001_folders" : "0002_notes",
                    up: "CREATE TABLE \(name) (id INTEGER PRIMARY KEY) STRICT;",
                    down: name == "folders" ? "DROP TABLE folders;" : "SELECT 1;"
                )
            }
            for arguments in ["", " --json", " --format junit", " --format github"] {
                try transcript.run("test\(arguments)", hasKey: false)
            }
            try transcript.write("0003_full", up: "ALTER TABLE notes ADD COLUMN n TEXT;")
            try transcript.write(
                "0004_unique",
                up: """
                    UPDATE notes SET n = 'x';
                    CREATE UNIQUE INDEX notes_n ON notes (n);
                    """
            )
            try transcript.run("test --since 2 --json", hasKey: false)
        },
        Scene("lint-refused") { transcript in
            try transcript.writeNotes()
            try transcript.write(
                "0004_tidy",
                up: "VACUUM;\n  ATTACH 'notes.old' AS old KEY 'secret';"
            )
            try transcript.run("lint", hasKey: false)
            try transcript.run("lint --json", hasKey: false)
            try transcript.run("lint --format github", hasKey: false)
            try transcript.run("migrate")
        },
        Scene("schema-dump") { transcript in
            try transcript.writeNotes()
            try transcript.run("schema-dump")
            try transcript.run("schema-dump --json")
            try transcript.run("schema-dump --format json")
            try transcript.run("schema-dump --format mermaid")
            try transcript.run("schema-dump --format mermaid --json")
            try transcript.run("schema-dump --format dot")
            try transcript.run("schema-dump --format dot --json")
        },
        Scene("schema-dump-odd") { transcript in
            try transcript.write(
                "0001_odd",
                up: """
                    CREATE TABLE place (a TEXT, b TEXT, PRIMARY KEY (b, a)) WITHOUT ROWID;
                    CREATE TABLE visit (
                        a TEXT, b TEXT, "at" DEFAULT (datetime()), whose REFERENCES nobody,
                        day TEXT AS (date("at")) STORED,
                        FOREIGN KEY (a, b) REFERENCES place (a, b)
                            ON DELETE SET NULL ON UPDATE CASCADE
                    );
                    CREATE UNIQUE INDEX visit_day ON visit (lower(day), a) WHERE a IS NOT NULL;
                    CREATE VIRTUAL TABLE search USING fts5(words);
                    CREATE VIEW lost AS SELECT * FROM nowhere;
                    CREATE VIEW days AS SELECT day AS "the day" FROM visit;
                    """
            )
            try transcript.run("schema-dump --format json")
        },
        Scene("schema-dump-to-file") { transcript in
            try transcript.writeNotes()
            try transcript.run("schema-dump --check schema.sql")
            try transcript.run("schema-dump --output schema.sql")
            try transcript.run("schema-dump --format json --output schema.json --json")
            try transcript.run("schema-dump --check schema.sql")
            try transcript.run("schema-dump --check schema.sql --json")
            try transcript.write("0004_add_colors", up: "ALTER TABLE notes ADD COLUMN color TEXT;")
            transcript.note("0004_add_colors is written")
            try transcript.run("schema-dump --check schema.sql")
            try transcript.run("schema-dump --check schema.sql --json")
            try transcript.run("schema-dump --output folder/schema.sql")
        },
        Scene("schema-load") { transcript in
            try transcript.writeNotes()
            try transcript.run("schema-dump --output schema.sql")
            try transcript.write("0004_add_colors", up: "ALTER TABLE notes ADD COLUMN color TEXT;")
            transcript.note("0004_add_colors is written")
            try transcript.run("schema-load schema.sql")
            try transcript.run("schema-load schema.sql --db-path second.db --json")
            try transcript.run("schema-load schema.sql")
            try transcript.run("schema-load schema.sql --json")
            try transcript.run("migrate")
        },
    ]
}
