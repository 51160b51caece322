"""The databases and folders of migrations that the workloads begin with."""
import os
import secrets
import shutil
import subprocess
import sys

NEEDLESS = ";\n"  # After the last statement, since folder_of ends it.
QUIET = "PRAGMA cipher_log_level = NONE;\n"


class Key:
    """A passphrase or a raw key, in a file for the tool and in SQL for the shell."""

    def __init__(self, folder, is_raw):
        self.is_raw = is_raw
        self.text = secrets.token_hex(32) if is_raw else secrets.token_urlsafe(18)
        self.path = folder / ("raw.key" if is_raw else "passphrase.key")
        self.spelled = f"x'{self.text}'" if is_raw else self.text
        self.path.touch(mode=0o600)
        self.path.write_text(self.text)
        self.spelled_path = folder / (self.path.name + ".sql")
        self.spelled_path.touch(mode=0o600)
        self.spelled_path.write_text(self.spelled)

    @property
    def options(self):
        return ["--password-file", self.path] + (["--raw-key"] if self.is_raw else [])

    @property
    def pragma(self):
        return QUIET + f'PRAGMA key = "{self.spelled}";\n'


def remove(path):
    for suffix in ("", "-wal", "-shm", "-journal"):
        if os.path.exists(f"{path}{suffix}"):
            os.unlink(f"{path}{suffix}")


def copy(source, target):
    """A copy without its own place in the cache's favour: both were just read or written."""
    remove(target)
    shutil.copyfile(source, target)
    os.chmod(target, 0o600)


def shell(path, script):
    done = subprocess.run(
        ["sqlcipher", "-batch", "-bail", path], input=script, capture_output=True, text=True
    )
    if done.returncode != 0 or "rror" in done.stderr:
        sys.exit(f"the shell failed on {path}: {done.stderr}")
    return done.stdout


def user(path, key):
    """A shell that has the database open until its input ends. Some commits are in a log, if any."""
    process = subprocess.Popen(
        ["sqlcipher", "-batch", "-bail", path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    process.stdin.write(
        f"{key.pragma}PRAGMA wal_autocheckpoint = 0;\n"
        "UPDATE account SET name = name || '!' WHERE id % 7 = 0;\nSELECT 'open';\n"
    )
    process.stdin.flush()
    while process.stdout.readline().strip() != "open":
        if process.poll() is not None:
            sys.exit(f"the shell can't open {path}")
    return process


def folder_of(folder, statements, down="", name="step"):
    """A folder of migrations that dbmate reads as well, one for each text of SQL."""
    folder.mkdir()
    for number, statement in enumerate(statements, 1):
        path = folder / f"{number:05}_{name}.sql"
        path.write_text(f"-- migrate:up\n{statement.rstrip(NEEDLESS)};\n-- migrate:down\n{down}\n")


def small_steps(count):
    """A table each, then indexes and rows."""
    statements = []
    for number in range(1, count + 1):
        name = f"t{(number - 1) // 4}"
        statements.append(
            [
                f"CREATE TABLE {name}(id INTEGER PRIMARY KEY, name TEXT NOT NULL, size INTEGER)",
                f"CREATE INDEX {name}_name ON {name}(name)",
                f"ALTER TABLE {name} ADD COLUMN note TEXT",
                f"INSERT INTO {name}(name, size) VALUES('first', {number})",
            ][(number - 1) % 4]
        )
    return statements


def inserts(count):
    """A table, then rows: with as many tables as steps, SQLite would read a longer schema for each."""
    row = "INSERT INTO item(name) VALUES('first')"
    return ["CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT NOT NULL)"] + [row] * (count - 1)


def tables(count):
    """So many tables with an index each."""
    return ";\n".join(
        f"CREATE TABLE t{number}(id INTEGER PRIMARY KEY, name TEXT NOT NULL, size INTEGER);\n"
        f"CREATE INDEX t{number}_name ON t{number}(name)"
        for number in range(count)
    )


def plain_files(folder, statements):
    """The same steps as plain SQL, for who knows no markers."""
    folder.mkdir()
    for number, statement in enumerate(statements, 1):
        (folder / f"{number:05}_step.sql").write_text(f"{statement};\n")


LARGE = """
PRAGMA cache_size = -64000; PRAGMA synchronous = OFF;
CREATE TABLE account(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE entry(
    id INTEGER PRIMARY KEY, account INTEGER NOT NULL REFERENCES account(id),
    name TEXT NOT NULL, amount REAL, body TEXT NOT NULL
);
CREATE TABLE scrap(id INTEGER PRIMARY KEY, entry INTEGER REFERENCES entry(id), bytes BLOB);
CREATE TABLE grdb_migrations(identifier TEXT NOT NULL PRIMARY KEY);
BEGIN;
WITH n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1000)
    INSERT INTO account SELECT x, 'account ' || x FROM n;
WITH n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < {rows})
    INSERT INTO entry SELECT x, x % 1000 + 1, hex(randomblob(8)), x / 7.0, hex(randomblob({body}))
    FROM n;
WITH n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < {scraps})
    INSERT INTO scrap SELECT x, x, randomblob(3000) FROM n;
CREATE INDEX entry_name ON entry(name);
CREATE INDEX entry_account ON entry(account);
COMMIT;
"""


def large(path, key, rows, scraps, body=150):
    """An encrypted database, or a plaintext one without a key, of that many rows."""
    remove(path)
    path.touch(mode=0o600)
    shell(path, (key.pragma if key else "") + LARGE.format(rows=rows, scraps=scraps, body=body))
    print(f"  {path.name}: {path.stat().st_size / 1e6:.0f} MB", file=sys.stderr)


# Rows of random names, so that both indexes are in another order than the table.
INDEXED = """
PRAGMA cache_size = -64000; PRAGMA synchronous = OFF;
CREATE TABLE entry(id INTEGER PRIMARY KEY, name TEXT NOT NULL, code BLOB NOT NULL, body TEXT);
CREATE TABLE grdb_migrations(identifier TEXT NOT NULL PRIMARY KEY);
BEGIN;
WITH n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < {rows})
    INSERT INTO entry SELECT x, hex(randomblob(8)), randomblob(16), hex(randomblob(200)) FROM n;
CREATE INDEX entry_name ON entry(name);
CREATE INDEX entry_code ON entry(code);
COMMIT;
"""


def indexed(path, key, rows):
    """An encrypted database with two indexes on random values."""
    remove(path)
    path.touch(mode=0o600)
    shell(path, key.pragma + INDEXED.format(rows=rows))
    print(f"  {path.name}: {path.stat().st_size / 1e6:.0f} MB", file=sys.stderr)


REBUILD = """
CREATE TABLE entry_new(
    id INTEGER PRIMARY KEY, account INTEGER NOT NULL REFERENCES account(id),
    name TEXT NOT NULL COLLATE NOCASE, amount REAL NOT NULL DEFAULT 0, body TEXT NOT NULL
);
INSERT INTO entry_new SELECT id, account, name, amount, body FROM entry;
DROP TABLE entry;
ALTER TABLE entry_new RENAME TO entry;
CREATE INDEX entry_name ON entry(name);
CREATE INDEX entry_account ON entry(account);
"""
