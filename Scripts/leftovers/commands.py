"""The commands of the tool, as they are run on each cell."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Command:
    name: str
    words: tuple
    # "write"; "copy" may move the file's own log into it; "read" may undo what a killed program left in
    # a journal; "look" changes no byte.
    does: str = "read"
    input: str = ""
    needs: str = ""  # store, plain, encrypted
    output: bool = False  # writes all rows into out.db
    replaces: bool = False  # what is there is to be lost
    opens: bool = True  # needs a database that opens


# KEY is replaced by the options of the key, NEW by those of another key, STORE by those of the store.
DB = ("--db-path", "notes.db", "KEY")
FLEET = ("--stores-file", "stores", "FLEET-KEY")


def command(name, *words, **fields):
    return Command(name, words, **fields)


COMMANDS = [
    command("status", "status", *DB),
    command("history", "history", *DB),
    command("plan", "plan", *DB),
    command("migrate", "migrate", *DB, does="write"),
    command("migrate-dry-run", "migrate", "--dry-run", *DB),
    command("migrate-all-or-nothing", "migrate", "--all-or-nothing", *DB, does="write"),
    command("migrate-backup", "migrate", "--backup", "out.db", *DB, does="write"),
    command("migrate-accept-lost-commits", "migrate", "--accept-lost-commits", *DB, does="write"),
    command("migrate-batched", "migrate", *DB, "--migrations", "BATCHED", does="write"),
    command("rehearse", "rehearse", *DB),
    command("rollback", "rollback", "--yes", *DB, does="write"),
    command("redo", "redo", "--yes", *DB, does="write"),
    command("downgrade", "downgrade", "--yes", *DB, "--migrations", "OLDER", does="write"),
    command("downgrade-dry-run", "downgrade", "--dry-run", *DB, "--migrations", "OLDER"),
    command("baseline", "baseline", "0003", *DB, does="write"),
    command("repair", "repair", "0001", "--yes", *DB, does="write"),
    command("repair-schema", "repair", "--schema", *DB),
    command("verify", "verify", *DB),
    command("verify-full", "verify", "--full", *DB, does="write"),
    command("tables", "tables", *DB),
    command("query", "query", "SELECT count(*) FROM notes", *DB),
    command(
        "query-write",
        "query",
        "--write",
        "INSERT INTO tags(word) VALUES ('written')",
        *DB,
        does="write"
    ),
    command(
        "query-write-dry-run",
        "query",
        "--write",
        "--dry-run",
        "DELETE FROM notes",
        *DB,
        does="copy"
    ),
    command(
        "shell", "shell", *DB, "--", "-batch", input="SELECT count(*) FROM notes;\n", does="write"
    ),
    command("schema-dump", "schema-dump", *DB),
    command("schema-load", "schema-load", "DUMP", *DB, does="write", opens=False),
    command("schema-diff", "schema-diff", "--to", "notes.db", "KEY"),
    command("create-to", "create", "more", "--to", "notes.db", "KEY"),
    command("lint-pending", "lint", "--pending", *DB),
    command("inspect", "inspect", *DB, does="look"),
    command("inspect-tables", "inspect", "--tables", *DB, does="look"),
    command("inspect-without-key", "inspect", "notes.db", does="look", opens=False),
    command("key-check", "key", "check", *DB, does="look"),
    command(
        "key-find",
        "key",
        "find",
        "notes.db",
        "--key-file",
        "KEYS",
        "OPTIONS",
        does="look",
        needs="encrypted",
    ),
    command(
        "encrypt", "encrypt", "--db-path", "notes.db", "PLAIN-NEW", does="write", needs="plain"
    ),
    command(
        "encrypt-output",
        "encrypt",
        "--db-path",
        "notes.db",
        "--output",
        "out.db",
        "PLAIN-NEW",
        needs="plain",
        output=True,
        does="copy",
    ),
    command("decrypt", "decrypt", "--yes", *DB, does="write", needs="encrypted"),
    command(
        "decrypt-output",
        "decrypt",
        "--yes",
        "--output",
        "out.db",
        *DB,
        needs="encrypted",
        output=True,
        does="copy"
    ),
    command("rekey", "rekey", *DB, "NEW", does="write", needs="encrypted"),
    command(
        "rekey-output",
        "rekey",
        "--output",
        "out.db",
        *DB,
        "NEW",
        needs="encrypted",
        output=True,
        does="copy"
    ),
    command(
        "rekey-keep-original",
        "rekey",
        "--keep-original",
        "kept.db",
        *DB,
        "NEW",
        does="write",
        needs="encrypted"
    ),
    command("upgrade", "upgrade", *DB, does="write", needs="encrypted"),
    command("upgrade-dry-run", "upgrade", "--dry-run", *DB, needs="encrypted"),
    command("backup", "backup", "--output", "out.db", *DB, output=True, does="copy"),
    command(
        "restore",
        "restore",
        "--from",
        "BACKUP",
        "--yes",
        *DB,
        does="write",
        replaces=True,
        opens=False
    ),
    command(
        "restore-keep-original",
        "restore",
        "--from",
        "BACKUP",
        "--keep-original",
        "kept.db",
        *DB,
        does="write",
        opens=False
    ),
    command("salvage", "salvage", "--output", "out.db", *DB, does="look", opens=False),
    command("fleet-status", "fleet", "status", *FLEET),
    command("fleet-verify", "fleet", "verify", *FLEET),
    command("fleet-verify-full", "fleet", "verify", "--full", *FLEET, does="write"),
    command("fleet-migrate", "fleet", "migrate", *FLEET, does="write"),
    command("fleet-migrate-dry-run", "fleet", "migrate", "--dry-run", *FLEET),
    command("fleet-rollback", "fleet", "rollback", "--to", "0001", "--yes", *FLEET, does="write"),
    command("fleet-backup", "fleet", "backup", "--output-dir", "out", *FLEET, does="copy"),
    command(
        "fleet-restore",
        "fleet",
        "restore",
        "--from-dir",
        "COPIES",
        "--yes",
        *FLEET,
        does="write",
        replaces=True,
        opens=False
    ),
    command(
        "fleet-restore-keep-originals",
        "fleet",
        "restore",
        "--from-dir",
        "COPIES",
        "--keep-originals",
        "kept",
        "--yes",
        *FLEET,
        does="write",
        opens=False
    ),
    command("fleet-rekey", "fleet", "rekey", *FLEET, "FLEET-NEW", does="write", needs="encrypted"),
    command(
        "fleet-rekey-dry-run", "fleet", "rekey", "--dry-run", *FLEET, "FLEET-NEW", needs="encrypted"
    ),
    command("key-doctor", "key", "doctor", "notes.db", "STORE", does="look", needs="store"),
    command(
        "key-generate",
        "key",
        "generate",
        "--db-path",
        "notes.db",
        "UNUSED-STORE",
        does="look",
        needs="store",
        opens=False,
    ),
    command(
        "key-export",
        "key",
        "export",
        "--db-path",
        "notes.db",
        "STORE",
        "--output",
        "out.p12",
        "--recovery-password-file",
        "WORDS",
        does="look",
        needs="store",
    ),
    command("key-rotate", "key", "rotate", "notes.db", "STORE", does="write", needs="store"),
    command(
        "migrate-by-store", "migrate", "--db-path", "notes.db", "STORE", does="write", needs="store"
    ),
]
