import Foundation
import TestSupport
import Testing

extension OutputSnapshotTests {
    /// Commands that look at a database's file, or write it anew.
    static let fileScenes = [
        Scene("inspect") { transcript in
            try transcript.writeNotes()
            try transcript.run("inspect")
            try transcript.run("inspect --json")
            try transcript.run("migrate --to 0002")
            try transcript.run("inspect", hasKey: false)
            try transcript.run("inspect --json", hasKey: false)
            try transcript.run("inspect")
            try transcript.run("inspect notes.db --tables")
            try transcript.run("inspect --tables --json")
            // As SQLite3 Multiple Ciphers begins a file.
            var bytes = (0..<8192).map { UInt8(truncatingIfNeeded: $0 &* 167 ^ $0 >> 3) }
            bytes.replaceSubrange(16..<24, with: [16, 0, 1, 1, 32, 64, 32, 32])
            try transcript.tool.folder.write("other.db", bytes)
            try transcript.run("inspect other.db --json", hasKey: false)
            transcript.note("another program has it open:")
            let script = "exec 3<\"$1\" && echo open && read line"
            let other = try ChildProcess(
                "sh",
                ["-c", script, "sh", transcript.tool.folder.path("notes.db")]
            )
            #expect(other.readLine() == "open")
            try transcript.run("inspect")
            try transcript.run("inspect --json")
            _ = try other.finish()
            try transcript.tool.folder.write("other", ToolFolder.randomDigits(count: 64).utf8)
            try transcript.run("inspect --password-file other")
            try transcript.run("inspect --password-file other --json")
            transcript.note("link.db is a link to notes.db")
            try FileManager.default.createSymbolicLink(
                atPath: transcript.tool.folder.path("link.db"),
                withDestinationPath: "notes.db"
            )
            try transcript.run("inspect link.db --quick")
            try transcript.run("inspect link.db --quick --json")
            try transcript.run("inspect --db-path other.db notes.db --json")
        },
        Scene("query") { transcript in
            try transcript.shell(
                """
                CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, photo BLOB);
                INSERT INTO notes VALUES (1, 'one', NULL), (2, 'zwei 二', x'00ff'), (3, 'a|b', '');
                CREATE VIEW recent AS SELECT * FROM notes WHERE id > 1;
                CREATE VIEW broken AS SELECT * FROM gone;
                """
            )
            try transcript.run("tables")
            try transcript.run("tables --quick")
            try transcript.run("tables --json")
            let all = "SELECT * FROM notes"
            for format in ["table", "json", "jsonl", "csv", "markdown", "list"] {
                try transcript.run("query --format \(format)", input: all)
            }
            try transcript.run("query --json", input: all)
            try transcript.run("query --bind id=2", input: all + " WHERE id = :id")
            try transcript.run("query", input: all + " WHERE id = :id")
            try transcript.run("query --bind name=2", input: all)
            try transcript.run("query", input: "SELECT\nnothing\nFROM notes")
            try transcript.run("query --json", input: "SELECT nothing")
            try transcript.run("query", input: "DELETE FROM notes")
            try transcript.run("query", input: "ATTACH 'other.db' AS other")
            try transcript.run("query", input: "SELECT zeroblob(100000000)")
            let delete = "DELETE FROM notes WHERE id > 1"
            try transcript.run("query --write --dry-run", input: delete)
            try transcript.run("query --write --dry-run --json", input: delete)
            try transcript.run("query --write", input: "DROP TABLE notes")
            try transcript.run("query --write", input: delete)
            try transcript.run("query --write --json", input: delete + " RETURNING id")
        },
        Scene("shell") { transcript in
            try transcript.shell("CREATE TABLE notes (id INTEGER PRIMARY KEY);")
            try transcript.run("shell", input: ".tables")
            try transcript.run("shell --program no-such-shell")
        },
        Scene("inspect-plaintext") { transcript in
            try transcript.shell(isPlaintext: true, "CREATE TABLE notes (id INTEGER);")
            try transcript.run("inspect --tables", hasKey: false)
            try transcript.run("inspect")
            try transcript.run("inspect --json")
            try transcript.flipBit("notes.db", at: 100)
            try transcript.run("inspect", hasKey: false)
            try transcript.run("inspect --json", hasKey: false)
        },
        Scene("plaintext-header") { transcript in
            let salt = "--cipher-salt 00112233445566778899aabbccddeeff"
            try transcript.shell(
                """
                PRAGMA cipher_plaintext_header_size = 32;
                PRAGMA cipher_salt = "x'00112233445566778899aabbccddeeff'";
                CREATE TABLE notes (id INTEGER PRIMARY KEY, title);
                INSERT INTO notes (title) VALUES ('one');
                """
            )
            try transcript.run("inspect", hasKey: false)
            try transcript.run("inspect --json", hasKey: false)
            try transcript.run("inspect")
            try transcript.run("inspect \(salt)")
            try transcript.run("inspect \(salt) --json")
            try transcript.run("tables")
            try transcript.run("tables --json")
            try transcript.run("tables \(salt)")
            try transcript.run("tables \(salt) --cipher-plaintext-header-size 64")
            try transcript.run("tables --cipher-plaintext-header-size 32")
            try transcript.run("tables --cipher-salt ffeeddccbbaa99887766554433221100")
            try transcript.run("upgrade \(salt) --page-size 8192 --dry-run --json")
            try transcript.tool.folder.write("other", ToolFolder.randomDigits(count: 64).utf8)
            try transcript.run(
                "rekey \(salt) --new-password-file other --new-raw-key "
                    + "--new-cipher-plaintext-header-size 0 --output o.db"
            )
            try transcript.run("tables \(salt) --db-path o.db --password-file other")
        },
        Scene("inspect-damaged") { transcript in
            try transcript.shell(
                """
                .dbconfig no_ckpt_on_close on
                PRAGMA journal_mode = WAL;
                CREATE TABLE notes (id INTEGER PRIMARY KEY, title);
                PRAGMA wal_checkpoint;
                INSERT INTO notes (title) VALUES ('one');
                """
            )
            try transcript.run("inspect", hasKey: false)
            try transcript.run("inspect --tables")
            try transcript.run("inspect --json")
            try transcript.flipBit("notes.db-wal", at: 32 + 500)
            try transcript.flipBit("notes.db", at: 4096 + 77)
            try transcript.run("inspect")
            try transcript.run("inspect --json")
        },
        Scene("inspect-unfinished") { transcript in
            try transcript.writeNotes()
            try transcript.run("migrate --to 0001")
            let folder = transcript.tool.folder
            transcript.note("another program is killed in the middle of a change")
            try transcript.tool.killedChange(of: "notes.db")
            transcript.note("a decrypting was killed")
            try folder.write(
                ".notes.db-converting-1f",
                Data("SQLite format 3\0".utf8) + Data(count: 4080)
            )
            try folder.write(".notes.db-converting-2e", Data(count: 512))
            try transcript.run("inspect")
            try transcript.run("inspect --json")
            try transcript.run("verify --full")
            try transcript.run("verify --full --json")
            try transcript.run("inspect --quick --json")
        },
        Scene("damaged-log") { transcript in
            try transcript.writeNotes()
            try transcript.shell(
                """
                .dbconfig no_ckpt_on_close on
                PRAGMA journal_mode = WAL;
                CREATE TABLE notes (id INTEGER PRIMARY KEY, title);
                PRAGMA wal_checkpoint;
                INSERT INTO notes (title) VALUES ('one');
                INSERT INTO notes (title) VALUES ('two');
                """
            )
            try transcript.setMode("notes.db-shm", 0o600)
            try transcript.flipBit("notes.db-wal", at: 32 + 500)
            try transcript.run("upgrade --json")
            try transcript.run("decrypt --yes")
            try transcript.run("backup --output backup.db --json")
            try transcript.run("verify --full")
            try transcript.run("verify --full --json")
        },
        Scene("encrypt") { transcript in
            try transcript.shell(
                isPlaintext: true,
                "CREATE TABLE notes (id INTEGER); INSERT INTO notes VALUES (1), (2);"
            )
            try transcript.run("encrypt --output new.db")
            try transcript.run("encrypt --output new.db --json")
            try transcript.run("encrypt --output newer.db --json")
            try transcript.run("encrypt --page-size 1000")
            try transcript.run("encrypt", hasKey: false)
            try transcript.run("encrypt --keep-original old.db")
            try transcript.run("encrypt --db-path old.db --keep-original older.db --json")
            try transcript.run("encrypt")
            try transcript.run("encrypt --json")
            try transcript.run("decrypt --yes --db-path newer.db --output open.db")
            try transcript.setMode("open.db", 0o644)
            try transcript.run("encrypt --db-path open.db")
            try transcript.setMode("older.db", 0o664)
            try transcript.run("encrypt --db-path older.db --json")
        },
        Scene("decrypt") { transcript in
            try transcript.shell("CREATE TABLE notes (id INTEGER); INSERT INTO notes VALUES (1);")
            try transcript.run("decrypt")
            try transcript.run("decrypt --json")
            try transcript.run("decrypt --yes --output plain.db")
            try transcript.run("decrypt --yes --output plainer.db --json")
            try transcript.run("decrypt --yes --keep-original old.db --json")
            try transcript.run("decrypt --yes --db-path old.db")
            try transcript.run("decrypt --yes")
            try transcript.run("decrypt --yes --json")
        },
        Scene("rekey") { transcript in
            try transcript.shell("CREATE TABLE notes (id INTEGER); INSERT INTO notes VALUES (1);")
            try transcript.tool.folder.write("other", ToolFolder.randomDigits(count: 64).utf8)
            try transcript.run("rekey")
            try transcript.run("rekey --json")
            try transcript.run("rekey --password-file other --new-password-file password")
            try transcript.run(
                "rekey --new-password-file other --new-raw-key --output new.db --json"
            )
            try transcript.run("rekey --new-password-file other --new-raw-key")
            try transcript.run(
                "rekey --password-file other --new-password-file - --new-raw-key "
                    + "--keep-original old.db --json",
                input: transcript.tool.password
            )
            try transcript.run("rekey --new-password-file other --new-password-fd 3 --json")
            try transcript.run("inspect --quick")
        },
        Scene("upgrade") { transcript in
            try transcript.shell(
                compatibility: 3,
                "CREATE TABLE notes (id INTEGER); INSERT INTO notes VALUES (1);"
            )
            try transcript.run("inspect")
            try transcript.run("upgrade --dry-run")
            try transcript.run("upgrade --dry-run --json")
            try transcript.run("upgrade --output new.db --json")
            try transcript.run("upgrade --db-path new.db --dry-run")
            try transcript.run("upgrade --db-path new.db")
            try transcript.run("upgrade --keep-original old.db --json")
            try transcript.run("upgrade --db-path old.db")
            try transcript.run("upgrade")
            try transcript.run("upgrade --json")
            try transcript.run("inspect")
        },
        Scene("backup") { transcript in
            try transcript.shell(
                "CREATE TABLE notes (id INTEGER); INSERT INTO notes VALUES (1), (2);"
            )
            try transcript.tool.folder.write("other", ToolFolder.randomDigits(count: 64).utf8)
            try transcript.run("backup")
            try transcript.run("backup --output backup.db")
            try transcript.run("backup --output backup.db --json")
            try transcript.run("backup --output missing/backup.db --json")
            try transcript.shell("PRAGMA journal_mode = WAL;")
            try transcript.run("backup --output wal.db")
            try transcript.run(
                "backup --output other.db --new-password-file other --new-raw-key --json"
            )
            try transcript.run("inspect --password-file other other.db --quick")
            try transcript.run("backup --output more.db --new-raw-key")
            try transcript.run("backup --output more.db --password-file other")
            try transcript.shell(
                """
                CREATE TABLE tags (note INTEGER REFERENCES notes (id));
                PRAGMA foreign_keys = OFF;
                INSERT INTO tags VALUES (3);
                """
            )
            try transcript.run("backup --output broken.db")
            try transcript.run("backup --output brokener.db --json")
            try transcript.flipBit("notes.db", at: 4096 + 77)
            try transcript.run("backup --output more.db")
            try transcript.run("backup --output more.db --json")
        },
        Scene("backup-plaintext") { transcript in
            try transcript.shell(isPlaintext: true, "CREATE TABLE notes (id INTEGER);")
            try transcript.run("backup --output backup.db")
            try transcript.run("backup --no-encryption --output backup.db", hasKey: false)
            try transcript.run(
                "backup --no-encryption --output more.db --new-password-file password",
                hasKey: false
            )
            try transcript.run("restore --no-encryption --from backup.db", hasKey: false)
            try transcript.run("restore --no-encryption --from backup.db --yes", hasKey: false)
        },
        Scene("restore") { transcript in
            try transcript.shell("CREATE TABLE notes (id INTEGER); INSERT INTO notes VALUES (1);")
            try transcript.tool.folder.write("other", ToolFolder.randomDigits(count: 64).utf8)
            try transcript.run("backup --output backup.db")
            try transcript.run("restore --from backup.db")
            try transcript.run("restore --from backup.db --json")
            try transcript.run("restore --from backup.db --yes")
            try transcript.run("restore --from backup.db --yes --json")
            try transcript.run("restore --from backup.db --db-path new.db")
            try transcript.run(
                "restore --from backup.db --db-path newer.db --new-password-file other "
                    + "--new-raw-key --json"
            )
            try transcript.flipBit("notes.db", at: 3)
            try transcript.run("inspect --quick")
            try transcript.run("restore --from backup.db --keep-original old.db")
            try transcript.run("restore --from backup.db --keep-original old.db --json")
            try transcript.run("restore --from backup.db --keep-original older.db --json")
            try transcript.run("inspect --quick")
            try transcript.run("restore --from notes.db --yes")
            try transcript.run("restore --from missing.db --yes --json")
            try transcript.run("restore --from backup.db --yes --password-file other")
            try transcript.flipBit("backup.db", at: 4096 + 77)
            try transcript.run("restore --from backup.db --yes")
            try transcript.run("restore --from backup.db --yes --json")
        },
    ]
}

extension Tool {
    /// Leaves a database as a program leaves it that is killed after it wrote a part of a change.
    fileprivate func killedChange(of name: String) throws {
        let path = folder.path(name)
        let program =
            Python.connect + """
                path, key = json.load(sys.stdin)
                connection = connect(path, key, isolation_level=None)
                for statement in [
                    "PRAGMA cache_size = 2", "BEGIN", "CREATE TABLE filler (a)",
                    "WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 50)"
                    " INSERT INTO filler SELECT zeroblob(3500) FROM c",
                ]:
                    connection.execute(statement).fetchall()
                os.kill(os.getpid(), 9)
                """
        let result = try Python.run(program, input: [path, "x'\(password)'"])
        try #require(result.signal == SIGKILL, "\(result)")
    }
}
