import Foundation
import TestSupport
import Testing

// One folder for all: a section finds what those before it have left.

extension CommandPageTests {
    static let migrationSections = [
        Section("init") { page in
            try page.run(
                "migrationkit-cli init --keychain-service com.example.Notes --db-path notes.db",
                "cat migrationkit.toml"
            )
        },
        Section("key generate") { page in
            try page.run("migrationkit-cli key generate")
        },
        Section("create") { page in
            try page.write(
                "0001_create_folders",
                up: """
                    CREATE TABLE folders (
                        id INTEGER PRIMARY KEY,
                        name TEXT NOT NULL UNIQUE
                    ) STRICT;
                    INSERT INTO folders (name) VALUES ('Inbox'), ('Archive');
                    """,
                down: "DROP TABLE folders;"
            )
            try page.run("migrationkit-cli create 'create notes'")
            page.say("Then the SQL is written into it:")
            try page.write(
                "0002_create_notes",
                up: """
                    CREATE TABLE notes (
                        id INTEGER PRIMARY KEY,
                        folder INTEGER NOT NULL REFERENCES folders (id) ON DELETE CASCADE,
                        title TEXT NOT NULL
                    ) STRICT;
                    CREATE INDEX notes_folder ON notes (folder);
                    """,
                down: "DROP TABLE notes;"
            )
            try page.run("cat migrations/0002_create_notes.sql")
        },
        Section("lint") { page in
            try page.write(
                "0003_pin_notes",
                up: "ALTER TABLE notes ADD COLUMN pinned INTEGER NOT NULL;",
                down: "ALTER TABLE notes DROP COLUMN pinned;"
            )
            try page.run("migrationkit-cli lint")
            page.say("After that is corrected:")
            try page.write(
                "0003_pin_notes",
                up: "ALTER TABLE notes ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;",
                down: "ALTER TABLE notes DROP COLUMN pinned;"
            )
            try page.run("migrationkit-cli lint")
        },
        Section("test") { page in
            try page.run("migrationkit-cli test")
            page.say(
                "What is tested, and tests of your own: [Testing a folder](TestingFolders.md)."
            )
        },
        Section("plan") { page in
            try page.run("migrationkit-cli plan --to 0001")
        },
        Section("rehearse") { page in
            try page.runUnseen("migrationkit-cli migrate --to 0001")
            try page.run("migrationkit-cli rehearse")
            try page.runUnseen("rm notes.db*")
        },
        Section("migrate") { page in
            try page.run("migrationkit-cli migrate --to 0002", "migrationkit-cli migrate --dry-run")
            try page.run("migrationkit-cli migrate")
        },
        Section("status") { page in
            try page.run("migrationkit-cli status")
        },
        Section("rollback") { page in
            try page.run("migrationkit-cli rollback", "migrationkit-cli status --exit-code")
        },
        Section("downgrade") { page in
            page.say("An older checkout, without the last migration, opens the database:")
            try page.run(
                "mkdir older && cp migrations/0001* older/",
                "migrationkit-cli downgrade --migrations older --dry-run"
            )
        },
        Section("redo") { page in
            try page.run("migrationkit-cli redo", "migrationkit-cli migrate")
        },
        Section("history") { page in
            try page.run("migrationkit-cli history")
        },
        Section("repair") { page in
            page.say("A migration that was applied gets another text, with the same effect:")
            try page.run(
                "sed -i 's/INSERT INTO/INSERT OR FAIL INTO/' migrations/0001_create_folders.sql",
                "migrationkit-cli migrate"
            )
            try page.run("migrationkit-cli repair 0001 --yes")
        },
        Section("verify") { page in
            try page.run("migrationkit-cli verify --require-index notes.notes_title")
            try page.run("migrationkit-cli verify --full")
        },
    ]

    static let querySections = [
        Section("tables") { page in
            try page.run("migrationkit-cli tables")
        },
        Section("query") { page in
            try page.run(
                "migrationkit-cli query 'SELECT * FROM folders WHERE name = :name' --bind name=Inbox",
                "migrationkit-cli query 'DELETE FROM folders'",
                "migrationkit-cli query --write --dry-run 'DELETE FROM folders WHERE id = 2'"
            )
        },
        Section("shell") { page in
            try page.run("echo 'SELECT count(*) FROM folders;' | migrationkit-cli shell -- -batch")
        },
    ]

    static let schemaSections = [
        Section("schema-dump") { page in
            try page.run("migrationkit-cli schema-dump --output schema.sql", "cat schema.sql")
            try page.run("migrationkit-cli schema-dump --format mermaid")
        },
        Section("schema-load") { page in
            try page.run("migrationkit-cli schema-load schema.sql --db-path loaded.db")
        },
        Section("schema-diff") { page in
            page.say("A table is added to the schema:")
            try page.run(
                "echo 'CREATE TABLE tags (name TEXT PRIMARY KEY) STRICT;' >>schema.sql",
                "migrationkit-cli schema-diff --to schema.sql"
            )
            page.say("`create --to` writes the migration that leads there, and proves it first:")
            try page.run(
                "migrationkit-cli create 'add tags' --to schema.sql",
                "cat migrations/0004_add_tags.sql",
                "migrationkit-cli migrate"
            )
        },
        Section("baseline") { page in
            page.say("A database whose first table was made by other means:")
            try page.run(
                "sqlite3 installed.db 'CREATE TABLE folders (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;'",
                "migrationkit-cli baseline 0001 --db-path installed.db --no-encryption"
            )
        },
    ]

    static let fileSections = [
        Section("inspect") { page in
            try page.run("migrationkit-cli inspect --tables")
        },
        Section("backup") { page in
            try page.run("migrationkit-cli backup --output backup.db")
        },
        Section("restore") { page in
            try page.run("migrationkit-cli restore --from backup.db --keep-original before.db")
        },
        Section("decrypt") { page in
            try page.run("migrationkit-cli decrypt --output plain.db --yes")
        },
        Section("encrypt") { page in
            try page.run("migrationkit-cli encrypt --db-path plain.db --output new.db")
        },
        Section("rekey") { page in
            try page.run(
                "(umask 077; openssl rand -hex 32 >new.key)",
                "migrationkit-cli rekey --db-path new.db --new-password-file new.key --new-raw-key"
            )
        },
        Section("upgrade") { page in
            page.say("A database in the format of SQLCipher 3:")
            try page.run(
                "migrationkit-cli encrypt --db-path plain.db --cipher-compatibility 3 --output old.db",
                "migrationkit-cli upgrade --db-path old.db --dry-run",
                "migrationkit-cli upgrade --db-path old.db"
            )
        },
        Section("salvage") { page in
            page.say("A page of a copy is damaged:")
            try page.run(
                "cp backup.db damaged.db",
                "printf 'this is damage' | dd of=damaged.db bs=4096 seek=3 conv=notrunc status=none",
                "migrationkit-cli salvage --db-path damaged.db --output saved.db"
            )
        },
        Section("explain") { page in
            try page.run("migrationkit-cli explain 'hmac check failed for pgno=1'")
        },
        Section("completions") { page in
            try page.run("migrationkit-cli completions bash | head -n 3")
        },
    ]

    static let keySections = [
        Section("key list") { page in
            try page.run("migrationkit-cli key list")
        },
        Section("key check") { page in
            try page.run("migrationkit-cli key check")
        },
        Section("key rotate") { page in
            try page.run("migrationkit-cli key rotate")
        },
        Section("key find") { page in
            try page.run("migrationkit-cli key find")
        },
        Section("key doctor") { page in
            page.say("What keeps the keys, and whether one opens the database.")
            let doctor = "migrationkit-cli key doctor"
            try page.run(doctor)
            page.say("The keyring is locked:")
            try page.locked { try $0.run(doctor) }
            page.say("The item is missing, and then one of another key:")
            try page.run("\(doctor) --keychain-account old")
            try page.run(
                "migrationkit-cli key generate --new --keychain-account old --quiet",
                "\(doctor) --keychain-account old",
                "migrationkit-cli key delete --yes --keychain-account old --quiet"
            )
            page.say("The keyring was made anew, and has no default collection yet:")
            try page.run(doctor, on: PrivateSecretService(.noCollection))
            page.say("Nothing keeps keys in this session, and KWallet has files:")
            let empty = try PrivateSecretService(.noDaemon)
            try empty.folder.makeFolder("data/kwalletd")
            try empty.folder.write("data/kwalletd/kdewallet.kwl", [])
            try page.run(doctor, on: empty)
            page.say("Over ssh, by sudo, and without a session bus at all:")
            let warning = "\(doctor) 2>&1 | grep -A 1 'warning this'"
            try page.run("SSH_CONNECTION=1 \(warning)", "SUDO_USER=me \(warning)", on: empty)
            try page.run("DBUS_SESSION_BUS_ADDRESS=unix:path=/nonexistent \(doctor)", on: empty)
            page.say("In a sandbox, without a portal:")
            try page.run("SNAP=/snap/notes/1 \(doctor)", on: empty)
        },
        Section("key export") { page in
            page.say("Without `--recovery-password-file`, the passphrase of the copy is asked for.")
            try page.run(
                "(umask 077; echo 'a passphrase for the copy' >copy-passphrase)",
                "migrationkit-cli key export --output key.p12 --recovery-password-file copy-passphrase"
            )
        },
        Section("key import") { page in
            page.say("The item of the key is lost:")
            try page.run(
                "migrationkit-cli key delete --yes",
                "migrationkit-cli key import key.p12 --recovery-password-file copy-passphrase"
            )
        },
        Section("key set") { page in
            try page.run(
                "(umask 077; echo 'correct horse battery staple' >passphrase)",
                "migrationkit-cli key set --keychain-account archive --password-file passphrase"
            )
        },
        Section("key show") { page in
            try page.run("migrationkit-cli key show --keychain-account archive")
        },
        Section("key delete") { page in
            try page.run("migrationkit-cli key delete --keychain-account archive --yes")
        },
        Section("key derive") { page in
            page.say("The key of one of many databases. `--force` is only needed off a terminal.")
            try page.run(
                "(umask 077; openssl rand -hex 32 >master.key)",
                "migrationkit-cli key derive --master-key-file master.key alice --force"
            )
        },
    ]

    private static let tenants = "--stores 'tenants/*.db' --key-file-suffix .key --raw-key"

    static let fleetSections = [
        Section("fleet migrate") { page in
            page.say("Three databases, each with its key in a file beside it:")
            try page.folder.makeFolder("tenants")
            for name in ["alice", "bob", "carol"] {
                let key = ToolFolder.randomDigits(count: 64)
                let file = try page.folder.write("tenants/\(name).db.key", key.utf8)
                let made = try run(
                    builtExecutable("migrationkit-cli"),
                    [
                        "migrate", "--to", "0003", "--password-file", file, "--raw-key",
                        "--db-path", page.folder.path("tenants/\(name).db"),
                        "--migrations", page.folder.path("migrations"),
                    ]
                )
                try #require(made.status == 0, "\(made)")
            }
            try page.run("ls tenants", "migrationkit-cli fleet migrate \(tenants) --report report")
        },
        Section("fleet status") { page in
            try page.run("migrationkit-cli fleet status \(tenants)")
        },
        Section("fleet verify") { page in
            try page.run("migrationkit-cli fleet verify \(tenants)")
        },
        Section("fleet backup") { page in
            try page.run("migrationkit-cli fleet backup \(tenants) --output-dir copies")
        },
        Section("fleet report") { page in
            try page.run("migrationkit-cli fleet report report")
        },
        Section("fleet rollback") { page in
            try page.run("migrationkit-cli fleet rollback --to 0001 \(tenants)")
        },
        Section("fleet restore") { page in
            try page.run("migrationkit-cli fleet restore --from-dir copies \(tenants) --yes")
        },
        Section("fleet rekey") { page in
            page.say("The new keys are derived from the master key of `key derive`:")
            try page.run(
                """
                migrationkit-cli fleet rekey \(tenants) --name-from tenants \
                --new-master-key-file master.key
                """,
                "migrationkit-cli fleet verify --stores 'tenants/*.db' --name-from tenants "
                    + "--master-key-file master.key"
            )
        },
    ]
}
