"""The cells of the matrix: which file lies beside which log or journal, and which rows are in them."""

import dataclasses
import hashlib
import pathlib
import tempfile

import sqlcipher3

from leftovers import make

# other-mode is other-salt in the other journal mode: what copies a database may change that, too.
FILES = (
    "sound",
    "missing",
    "empty",
    "other-key",
    "other-salt",
    "other-mode",
    "older",
    "newer",
    "damaged",
    "zeroed",
)
LOGS = (
    "none",
    "own-whole",
    "own-grow",
    "own-small",
    "other-key-whole",
    "other-key-small",
    "other-salt-whole",
    "other-salt-small",
    "old-whole",
    "old-grow",
    "old-small",
    "torn-end",
    "torn-middle",
    "other-size-whole",
    "other-size-small",
    "other-form-whole",
)
JOURNALS = (
    "own-grow",
    "own-small",
    "own-create",
    "own-rekey",
    "other-key-grow",
    "other-key-small",
    "other-salt-grow",
    "other-salt-small",
    "other-salt-create",
    "old-grow",
    "old-small",
    "torn",
    "other-size-grow",
    "other-form-grow",
)


def leftovers():
    return [("log-" + n if n != "none" else n) for n in LOGS] + ["journal-" + n for n in JOURNALS]


@dataclasses.dataclass
class Cell:
    form: make.Form
    file: str
    leftover: str
    key: str  # the key that the user gives: that of the file, or that of what lies beside it
    main: bytes | None
    side: bytes | None
    suffix: str  # of what lies beside it
    relation: str  # none, own, foreign, orphan, torn, untold
    line: make.Line

    @property
    def name(self):
        key = "" if self.key == "mine" else "+" + self.key
        return f"{self.form.name}/{self.file}/{self.leftover}{key}"


def torn(data, kind):
    """Without its end, or with one byte changed in the first of its commits."""
    page, found = make.frames(data)
    if kind == "torn-end":
        return data[: 32 + (page + 24) * len(found) - page // 2]
    if kind == "torn-middle":
        damaged = bytearray(data)
        damaged[32 + 24 + page // 2] ^= 1
        return bytes(damaged)
    return data[: len(data) * 2 // 3]


def cells(maker, form, files, wanted):
    """Each file with each leftover, and with the key of each."""
    for leftover in wanted:
        is_log = not leftover.startswith("journal-")
        for file in files:
            found = cell(maker, form, file, leftover, is_log)
            if found:
                keys = {found[-1].key, found[-2]}
                for key in sorted(keys):
                    yield Cell(form, file, leftover, key, *found[:-2], found[-1])


def cell(maker, form, file, leftover, is_log):
    def line(key="mine", salt="mine", page=0, other_form=False):
        # Two plaintext databases differ in what is in them.
        another = form.plain and (key, salt) != ("mine", "mine")
        used = make.FORMS["raw" if form.plain else "plain"] if other_form else form
        return make.Line(
            used, is_log, "mine" if another else key, "mine" if another else salt, page, another
        )

    mine = {"other-key": line(key="other"), "other-salt": line(salt="other")}.get(file, line())
    if file == "other-mode":
        mine = dataclasses.replace(line(salt="other"), wal=not is_log)
    if form.plain and file == "other-key":
        return None
    folder = maker.line(mine)
    state = {"older": 0, "newer": 2}.get(file, 1)
    main = (folder / f"state{state}.db").read_bytes()
    suffix = "-wal" if is_log else "-journal"

    # What lies beside it.
    words = leftover.split("-")
    side, theirs, base, is_torn = None, mine, state, "torn" in words
    if leftover != "none":
        kind, base = words[-1], 1
        theirs = line()
        if "other-key" in leftover:
            theirs = line(key="other")
        elif "other-salt" in leftover:
            theirs = line(salt="other")
        elif "other-size" in leftover:
            theirs = line(page=8192)
        elif "other-form" in leftover:
            # From before the database was encrypted, or decrypted.
            theirs = line(other_form=True)
        elif "old" in words:
            base = 0
        if form.plain and "other-key" in leftover:
            return None
        if is_torn:
            kind = "grow"
        if kind == "rekey" and (form.plain or not form.raw):
            return None
        left = maker.line(theirs) / f"state{base}-{kind}{suffix}"
        if not left.exists():
            return None
        side = left.read_bytes()
        if is_torn:
            side = torn(side, "-".join(words[1:]))
    own = theirs == mine and base == state and file not in ("missing", "empty")
    if own and leftover != "none" and not is_log:
        # A program that was killed has changed the file, too.
        main = (maker.line(mine) / f"state{base}-{kind}.db").read_bytes()
    if file == "missing":
        main = None
    elif file == "empty":
        main = b""
    elif file == "damaged":
        main = main[:100] + bytes(64) + main[164:]
    elif file == "zeroed":
        main = bytes(4096) + main[4096:]
    return (
        main,
        side,
        suffix,
        relation(main, side, mine, theirs, state, base, is_torn),
        theirs.key,
        mine,
    )


def relation(main, side, mine, theirs, state, base, is_torn):
    """What a leftover is to its file, as far as it can be known."""
    if side is None:
        return "none"
    if not main:
        return "orphan"
    found = make.frames(side)[1]
    if theirs == mine and base == state or theirs.wal and not found:
        return "torn" if is_torn else "own"
    # Each version of the first page says which one it follows. Two that follow the same one are alike: then
    # the file may have begun its log anew.
    if any(number == 1 for number, _, _ in found) and not (theirs == mine and state == base + 1):
        return "foreign"
    return "untold" if known_of_pages(mine) == known_of_pages(theirs) else "foreign"


def known_of_pages(line):
    """What shows whose a page is that isn't the first one. Only the HMAC of a raw key has the salt."""
    key = None if line.form.plain else line.key
    salt = None if line.form.plain or line.form.name == "no-hmac" else line.salt
    return line.form, line.page, key, salt


class Engine:
    """What SQLCipher reads in files, with every key and salt that there are. It works on copies."""

    def __init__(self, form, scratch):
        self.form, self.scratch = form, scratch
        self.known = {}

    def recipes(self, main, extra=()):
        """Ways to open a file; a later group only if none of an earlier one opens it."""
        yield [("plain", [])]
        form = make.FORMS["raw"] if self.form.plain else self.form
        yield [(key, form.keyed(key)) for key in make.KEYS] + [
            ("stored", [f"""PRAGMA key = "x'{text}'" """]) for text in extra
        ]
        if main[:16] == bytes(16):
            yield [(key, form.keyed(key, salt=make.SALTS["mine"])) for key in make.KEYS]
        elif form.raw:
            yield [(key, form.keyed(key, page=8192)) for key in make.KEYS]
        if form.pragmas:
            # What a command has made of it.
            yield [(key, make.FORMS["raw"].keyed(key)) for key in make.KEYS]

    def read(self, main, log=None, journal=None, extra=()):
        """By key: the rows, and whether the database is sound."""
        digest = hashlib.sha1()
        for part in (main, log, journal):
            digest.update(b"-" if part is None else hashlib.sha1(part).digest())
        digest.update(repr(extra).encode())
        name = digest.digest()
        if name not in self.known:
            self.known[name] = self.read_anew(main or b"", log, journal, extra)
        return self.known[name]

    def read_anew(self, main, log, journal, extra):
        found = {}
        if not main and not log:
            return found
        for group in self.recipes(main, extra):
            for name, pragmas in group:
                with tempfile.TemporaryDirectory(dir=self.scratch) as folder:
                    path = pathlib.Path(folder) / "copy.db"
                    path.write_bytes(main)
                    for suffix, data in (("-wal", log), ("-journal", journal)):
                        if data is not None:
                            pathlib.Path(str(path) + suffix).write_bytes(data)
                    rows, sound = self.open(path, pragmas)
                if rows:
                    found[name] = (frozenset(rows), sound)
            if found and group[0][0] != "plain":
                break
        return found

    def open(self, path, pragmas):
        """The rows from both ends, up to a page that can't be read; and whether everything is sound."""
        rows, opens = set(), False
        for order in ("ASC", "DESC"):
            # SQLCipher reads nothing more on a connection that has met such a page.
            db = sqlcipher3.connect(str(path), isolation_level=None)
            try:
                db.execute("PRAGMA cipher_log_level = NONE")
                for pragma in pragmas:
                    db.execute(pragma).fetchall()
                db.execute("PRAGMA cipher_log_level = NONE")
                opens = bool(db.execute("SELECT 1 FROM sqlite_schema").fetchall())
                for row in db.execute(f"SELECT id, body FROM notes ORDER BY id {order}"):
                    rows.add(row)
                sound = bool(rows) and db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
                if sound and pragmas:
                    found = db.execute("PRAGMA cipher_integrity_check").fetchall()
                    sound = all("HMAC is not enabled" in text for (text,) in found)
                return rows, sound
            except (sqlcipher3.DatabaseError, UnicodeDecodeError):
                if not opens:
                    break
            finally:
                db.close()
        return rows, False


def union(found):
    return frozenset().union(*(rows for rows, _ in found.values()))


@dataclasses.dataclass
class Readable:
    """The rows of a cell, and who reads them: by key, with whether all is sound."""

    alone: dict
    beside: dict
    log: dict

    @classmethod
    def of(cls, engine, main, side, suffix, extra=()):
        log = side if suffix == "-wal" else None
        journal = side if suffix == "-journal" else None
        alone = engine.read(main, extra=extra) if main else {}
        beside = (
            engine.read(main, log, journal, extra)
            if main is not None and side is not None
            else alone
        )
        by_itself = {}
        if log is not None and (image := make.database_of_log(log)):
            by_itself = engine.read(image, extra=extra)
        return cls(alone, beside, by_itself)

    @property
    def everything(self):
        return union(self.alone) | union(self.beside) | union(self.log)


def readable_in(engine, folder, extra=()):
    """Everything that is readable in a folder: each file with what lies beside it, and without."""
    found = frozenset()
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file() or path.stat().st_size < 512:
            continue
        data = path.read_bytes()
        if data[:4] in (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83"):
            if image := make.database_of_log(data):
                found |= union(engine.read(image, extra=extra))
            continue
        if str(path).endswith(("-shm", "-wal", "-journal", ".sql", ".key")):
            continue
        found |= union(engine.read(data, extra=extra))
        for suffix in ("-wal", "-journal"):
            beside = pathlib.Path(str(path) + suffix)
            if beside.is_file() and beside.stat().st_size:
                found |= Readable.of(engine, data, beside.read_bytes(), suffix, extra).everything
    return found
