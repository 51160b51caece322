"""Databases, logs and journals as other programs leave them behind. SQLCipher writes them, not the tool."""

import dataclasses
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys

KEYS = {name: letter * 64 for name, letter in (("mine", "a"), ("other", "b"), ("new", "c"))}
PASSPHRASES = {"mine": "correct horse", "other": "battery staple", "new": "a new passphrase"}
SALTS = {"mine": "5a" * 16, "other": "3c" * 16}

# What the writer process runs: the statements, one line when they are done, and then it waits to be killed.
WRITER = """
import json, signal, sys, sqlcipher3
task = json.load(sys.stdin)
db = sqlcipher3.connect(task["path"], isolation_level=None)
for statement in task["statements"]:
    db.execute(statement).fetchall()
print("done", flush=True)
if task["stays"]:
    signal.pause()
db.close()
"""


@dataclasses.dataclass(frozen=True)
class Form:
    """How the pages of a database are encrypted."""

    name: str
    options: tuple = ()
    pragmas: tuple = ()
    plain: bool = False
    raw: bool = True

    def keyed(self, key, salt=None, page=None):
        """The pragmas that open a file, or make one with that salt."""
        if self.plain:
            return [f"PRAGMA page_size = {page}"] if page else []
        if self.raw:
            words = [f"""PRAGMA key = "x'{KEYS[key]}{salt or ''}'" """]
        else:
            words = [f"PRAGMA key = '{PASSPHRASES[key]}'"]
        words += self.pragmas
        if page:
            words.append(f"PRAGMA cipher_page_size = {page}")
        if salt and not self.raw:
            words.append(f"""PRAGMA cipher_salt = "x'{salt}'" """)
        return words

    def key_text(self, key):
        return KEYS[key] if self.raw else PASSPHRASES[key]

    def key_options(self, path, new=False):
        if self.plain:
            return [] if new else ["--no-encryption"]
        prefix = "--new-" if new else "--"
        options = [prefix + "password-file", str(path)]
        if self.raw:
            options.append(prefix + "raw-key")
        return options + ([] if new else list(self.options))


FORMS = {
    form.name: form
    for form in (
        Form("raw"),
        Form("passphrase", raw=False),
        Form("plain", plain=True),
        Form("no-hmac", ("--hmac-algorithm", "off"), ("PRAGMA cipher_use_hmac = OFF",)),
        Form("sqlcipher3", ("--cipher-compatibility", "3"), ("PRAGMA cipher_compatibility = 3",)),
    )
}


def run_writer(path, statements, stays=False, killed_at=None):
    """Another program that opens the database. With killed_at, it dies in that write to a file."""
    command = [sys.executable, "-c", WRITER]
    if killed_at:
        inject = f"inject=pwrite64:signal=SIGKILL:when={killed_at}"
        command = [
            "strace",
            "-qq",
            "-o",
            "/dev/null",
            "-e",
            "trace=pwrite64",
            "-e",
            inject,
            *command,
        ]
    writer = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    json.dump({"path": str(path), "statements": statements, "stays": stays}, writer.stdin)
    writer.stdin.close()
    line = writer.stdout.readline()
    if killed_at:
        writer.wait()
        if line:
            sys.exit(f"the writer of {path} was done before it was killed")
        return
    if line != "done\n":
        sys.exit(f"the writer of {path} failed")
    if stays:
        os.kill(writer.pid, signal.SIGKILL)
    writer.wait()


def rows(first, count, mark):
    return (
        "WITH RECURSIVE n(i) AS (VALUES(%d) UNION ALL SELECT i + 1 FROM n WHERE i < %d) "
        "INSERT INTO notes(id, body) SELECT i, printf('%s %%06d ', i) || hex(zeroblob(240)) FROM n"
        % (first, first + count - 1, mark)
    )


def change(where, mark):
    return f"UPDATE notes SET body = printf('{mark} %06d ', id) || substr(body, -480) WHERE {where}"


# The life of every database: the older state, the present one, and a newer one.
LIFE = [
    [rows(1, 240, "first")],
    [
        change("id % 4 = 0", "second"),
        rows(241, 20, "second"),
        rows(261, 20, "second"),
        rows(281, 20, "second"),
    ],
    [
        change("id % 4 = 1", "third"),
        rows(301, 20, "third"),
        rows(321, 20, "third"),
        rows(341, 20, "third"),
    ],
]
LOGS = {
    # Has all pages, and so it's a database by itself.
    "whole": [
        change("id % 7 = 0", "log"),
        rows(901, 40, "log"),
        "VACUUM",
        change("id = 5", "last"),
    ],
    # Has page 1, since the file grows.
    "grow": [rows(901, 20, "log"), change("id = 3", "log"), rows(921, 20, "log")],
    # Has leaves only.
    "small": [change("id = 6", "log"), change("id = 8", "log"), change("id = 5", "log")],
}
JOURNALS = {
    "grow": [change("id > 0", "journal"), rows(901, 200, "journal")],
    "small": [change("id > 0", "journal")],
    "create": [
        "CREATE TABLE more(id INTEGER PRIMARY KEY, body TEXT)",
        "INSERT INTO more(body) SELECT body FROM notes",
        change("id > 0", "journal"),
    ],
}


@dataclasses.dataclass(frozen=True)
class Line:
    """One database from its first state to its last: its key, its salt, its page size, its journal mode."""

    form: Form
    wal: bool
    key: str = "mine"
    salt: str = "mine"
    page: int = 0
    another: bool = False  # an unrelated database

    @property
    def folder(self):
        mode = "wal" if self.wal else "journal"
        return (
            f"{self.form.name}-{mode}-{self.key}-{self.salt}-{self.page}{'-another' * self.another}"
        )


class Maker:
    def __init__(self, folder, base):
        self.folder, self.base = pathlib.Path(folder), base

    def line(self, line):
        """Makes the states of a database, unless they are there."""
        folder = self.folder / line.folder
        if (folder / "done").exists():
            return folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        form, path = line.form, folder / "live.db"
        salt, page = SALTS[line.salt], line.page or None
        opened = form.keyed(line.key, page=page)
        mode = f"PRAGMA journal_mode = {'WAL' if line.wal else 'DELETE'}"
        if form.plain:
            copy = [f"ATTACH '{path}' AS made", f"PRAGMA made.page_size = {page or 4096}"]
        else:
            text = KEYS[line.key] + salt if form.raw else PASSPHRASES[line.key]
            text = f"x''{text}''" if form.raw else text
            copy = [f"ATTACH '{path}' AS made KEY '{text}'"]
            copy += [p.replace("PRAGMA ", "PRAGMA made.") for p in form.pragmas]
            if page:
                copy.append(f"PRAGMA made.cipher_page_size = {page}")
            if not form.raw:
                copy.append(f"""PRAGMA made.cipher_salt = "x'{salt}'" """)
        run_writer(self.base, copy + ["SELECT sqlcipher_export('made')", "DETACH made"])
        if line.another:
            run_writer(path, opened + ["INSERT INTO tags(word) VALUES ('another')"] * 3)
        for number, statements in enumerate(LIFE):
            if line.another:
                statements = [
                    s.replace("first", "alien").replace("second", "alien") for s in statements
                ]
            # Wide apart, so that the states' counters are, too.
            run_writer(path, opened + [mode] + statements)
            shutil.copy(path, folder / f"state{number}.db")
        for state in (0, 1):
            for name, statements in (LOGS if line.wal else JOURNALS).items():
                self.leave(line, folder, state, name, statements)
        if line == Line(form, False) and form.raw and not form.plain:
            self.leave(line, folder, 1, "rekey", None)
        (folder / "done").touch()
        return folder

    def leave(self, line, folder, state, name, statements):
        """A program is killed at work: after its commits in a log, or within a transaction."""
        work = folder / "work"
        work.mkdir()
        path = work / "notes.db"
        shutil.copy(folder / f"state{state}.db", path)
        opened = line.form.keyed(line.key, page=line.page or None)
        if line.wal:
            run_writer(path, opened + ["PRAGMA wal_autocheckpoint = 0"] + statements, stays=True)
            side = "-wal"
        elif statements:
            begun = ["PRAGMA cache_size = 10", "PRAGMA synchronous = FULL", "BEGIN IMMEDIATE"]
            run_writer(path, opened + begun + statements, stays=True)
            side = "-journal"
        else:
            text = f"""PRAGMA rekey = "x'{KEYS['other']}'" """
            run_writer(path, opened + ["PRAGMA cache_size = 10", text], killed_at=150)
            side = "-journal"
        left = pathlib.Path(str(path) + side)
        if not left.exists() or left.stat().st_size < 1024:
            sys.exit(f"{line.folder}: {name} left no {side}")
        shutil.move(left, folder / f"state{state}-{name}{side}")
        shutil.move(path, folder / f"state{state}-{name}.db")
        shutil.rmtree(work)


def frames(log):
    """The frames of a log up to its last commit, as (page, pages after the commit, bytes)."""
    if len(log) < 32 or log[:4] not in (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83"):
        return 0, []
    order = ">" if log[3] & 1 else "<"
    page = struct.unpack(">I", log[8:12])[0]
    found, committed, sums = [], 0, (0, 0)

    def summed(data, sums):
        one, two = sums
        words = struct.unpack(f"{order}{len(data) // 4}I", data)
        for i in range(0, len(words), 2):
            one = (one + words[i] + two) & 0xFFFFFFFF
            two = (two + words[i + 1] + one) & 0xFFFFFFFF
        return one, two

    sums = summed(log[:24], sums)
    if sums != struct.unpack(">II", log[24:32]):
        return page, []
    for at in range(32, len(log) - page - 23, page + 24):
        header = log[at : at + 24]
        sums = summed(header[:8], sums)
        sums = summed(log[at + 24 : at + 24 + page], sums)
        if header[8:16] != log[16:24] or sums != struct.unpack(">II", header[16:24]):
            break
        number, size = struct.unpack(">II", header[:8])
        found.append((number, size, log[at + 24 : at + 24 + page]))
        if size:
            committed = len(found)
    return page, found[:committed]


def database_of_log(log):
    """What a log is by itself: its newest pages, if it has the first."""
    page, found = frames(log)
    newest = {number: data for number, _, data in found}
    if 1 not in newest:
        return None
    image = bytearray(found[-1][1] * page)
    for number, data in newest.items():
        if number * page <= len(image):
            image[(number - 1) * page : number * page] = data
    return bytes(image)
