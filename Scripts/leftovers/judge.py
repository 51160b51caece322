"""What is wrong with a command's work: rows that nobody can read any more, and sentences that are false."""

import hashlib
import re

from leftovers import cells as matrix
from leftovers import make

RESTORES = {"restore", "restore-keep-original", "fleet-restore", "fleet-restore-keep-originals"}
# What works without a look at what lies beside the file, or can't judge it.
NEEDS_NO_WORD = {"inspect-without-key", "key-find", "key-export", "key-generate", "schema-load"}
DOCUMENTED = {0, 1, 2, 3, 64, 65, 66, 69, 73, 74, 75, 77}


def digest(data):
    return hashlib.sha1(data).digest()


class Judge:
    def __init__(self, engine, cell, readable):
        self.engine, self.cell, self.before = engine, cell, readable
        self.alone = readable.alone.get(self.reader)
        self.beside = readable.beside.get(self.reader)
        if cell.relation == "untold" and cell.suffix == "-journal":
            # One that makes a sound file malformed isn't its own.
            if self.is_sound(readable.alone) and not self.is_sound(readable.beside):
                cell.relation = "foreign"

    @property
    def reader(self):
        return "plain" if self.cell.form.plain else self.cell.key

    @property
    def rows(self):
        """What must be readable afterwards, by whomever."""
        before, relation = self.before, self.cell.relation
        if relation == "none":
            return matrix.union(before.alone)
        if relation in ("own", "torn", "untold"):
            return matrix.union(before.beside)
        if relation == "foreign":
            return matrix.union(before.alone) | matrix.union(before.log)
        return matrix.union(before.log)

    @staticmethod
    def is_sound(found):
        return any(sound for _, sound in found.values())

    def __call__(self, command, folder, status, text, extra=()):
        found = []
        cell = self.cell
        main, side = folder / "notes.db", folder / ("notes.db" + cell.suffix)
        main_is_same = (main.read_bytes() if main.exists() else None) == cell.main
        # SQLite itself leaves an empty log.
        side_is_same = (side.read_bytes() if side.exists() else b"") == (cell.side or b"")
        kept = {
            digest(p.read_bytes()) for p in folder.rglob("*") if p.is_file() and not p.is_symlink()
        }
        side_is_kept = cell.side is None or digest(cell.side) in kept
        main_is_kept = not cell.main or digest(cell.main) in kept

        if status < 0 or status not in DOCUMENTED:
            found.append(("ended by a signal or an unknown code", str(status)))

        # Rows.
        lost = frozenset()
        if not (main_is_kept and side_is_kept):
            rows = self.rows
            if command.replaces:
                rows = rows - matrix.union(self.before.alone) - matrix.union(self.before.beside)
            lost = rows - matrix.readable_in(self.engine, folder, extra) if rows else lost
        if lost:
            found.append(("rows lost", f"{len(lost)} of {len(self.rows)}, exit {status}"))

        # Bytes.
        if cell.relation in ("foreign", "orphan") and not side_is_kept:
            found.append(("leftover deleted or changed", f"exit {status}"))
        if cell.relation == "torn" and cell.leftover.endswith("middle") and not side_is_kept:
            if not command.replaces and command.name != "migrate-accept-lost-commits":
                found.append(("damaged log deleted or changed", f"exit {status}"))
        if (
            cell.relation in ("foreign", "orphan")
            and not main_is_kept
            and command.name not in RESTORES
        ):
            # A command that has put the leftover aside may go on.
            if not side_is_kept or not self.sound_in_place(folder, extra):
                found.append(("file changed", f"exit {status}"))
        may_undo = cell.relation in ("own", "torn", "untold") and (
            command.does in ("read", "copy") and cell.suffix == "-journal" or command.does == "copy"
        )
        if command.does != "write" and not may_undo and not (main_is_same and side_is_same):
            changed = "file" if not main_is_same else "leftover"
            found.append(
                ("bytes changed by a command that only reads", f"the {changed}, exit {status}")
            )
        if command.name not in RESTORES and not main_is_same:
            was_sound = self.is_sound(
                self.before.beside if cell.relation != "foreign" else self.before.alone
            )
            if was_sound and not self.sound_in_place(folder, extra):
                found.append(("file is unsound now", f"exit {status}"))

        # Sentences.
        is_same = main_is_same and side_is_same or may_undo and not lost
        found += self.false_sentences(command, status, text, is_same, lost)
        if command.output and status == 0:
            self.judge_output(found, folder / "out.db", extra)
        if cell.relation == "untold":
            found = [("can't be told: " + kind, detail) for kind, detail in found]
        if command.name == "salvage":
            # It can try the file with and without what lies beside it.
            self.judge_salvage(found, folder / "out.db", status, text)
        return found

    def sound_in_place(self, folder, extra):
        main = folder / "notes.db"
        if not main.exists():
            return False
        data = main.read_bytes()
        log, journal = (folder / ("notes.db" + s) for s in ("-wal", "-journal"))
        return self.is_sound(
            self.engine.read(
                data,
                log.read_bytes() if log.exists() else None,
                journal.read_bytes() if journal.exists() else None,
                extra,
            )
        )

    def truth(self):
        """The rows that the user's key opens, and whether they are sound: None if it opens nothing."""
        relation = self.cell.relation
        if relation in ("none", "foreign"):
            return self.alone
        if relation == "orphan":
            return self.before.log.get(self.reader)
        return self.beside

    def false_sentences(self, command, status, text, is_same, lost):
        cell, truth = self.cell, self.truth()
        sound = truth is not None and truth[1]
        plain = re.sub(r"\s+", " ", text)
        has_side = bool(cell.side)
        claims = []

        def claim(pattern, is_false, kind):
            if is_false and (match := re.search(pattern, plain, re.IGNORECASE)):
                start, end = max(0, match.start() - 60), match.end() + 60
                claims.append(("false: " + kind, plain[start:end].strip()))

        claim(r"newer (SQLite|SQLCipher)", True, "a newer SQLite")
        ours = "".join(f"(?<!{words} )" for words in ("may be", "or is", "file is"))
        # What is said of a torn journal.
        torn = "".join(
            f"(?<!{words})"
            for words in ("-journal is ", "journal was ", "of them ", "pages are ", "out: it is ", r"db\.")
        )
        of_journal = torn if "torn" in cell.leftover else ""
        damaged = rf"{ours}{of_journal}\bdamaged\b(?! file)|malformed|does not authenticate"
        whole = sound and cell.file not in ("damaged", "zeroed")
        claim(damaged, whole and cell.relation in ("none", "own", "foreign"), "damaged")
        claim(
            r"key (does not|doesn't) open",
            whole and cell.relation != "orphan",
            "the key doesn't open it",
        )
        claim(
            r"nothing (has|was) changed|is unchanged|was not changed|nothing else changes",
            not is_same,
            "nothing has changed",
        )
        claim(
            r"Created [^ ]*notes\.db",
            cell.relation == "orphan" and bool(matrix.union(self.before.log)),
            "a new database",
        )
        claim(
            r"there is no database|there is no file|does not exist", bool(cell.main), "no database"
        )
        claim(r"is empty", bool(cell.main), "an empty file")
        claim(
            r"is plaintext|isn't encrypted|is not encrypted",
            cell.main and not cell.form.plain,
            "plaintext",
        )
        claim(r"\bis encrypted", cell.main and cell.form.plain, "encrypted")
        commits = cell.suffix == "-wal" and cell.side and make.frames(cell.side)[1]
        claim(r"holds committed", not commits, "committed changes")
        alone = self.alone is not None and self.alone[1]
        claim(
            r"without [^.]*, the database is sound|is sound by itself",
            cell.relation == "foreign" and not alone,
            "the file is sound",
        )
        claim(
            r"without [^.]*, the database (is not|isn't) sound",
            cell.relation == "foreign" and alone,
            "the file isn't sound",
        )
        claim(
            r"there is no log",
            cell.suffix == "-wal" and has_side and not is_same and cell.relation == "foreign",
            "no log",
        )
        claim(
            r"database is sound|Verified|Everything was recovered",
            bool(lost),
            "sound, and rows are lost",
        )
        if status == 0 and lost:
            claims.append(("exit 0, and rows are lost", f"{len(lost)} rows"))
        speaks = re.search(r"-wal|-journal|\blog\b|journal", plain, re.IGNORECASE)
        # A command that can't be meant for the file says nothing about it.
        needs_word = status != 64 and (
            cell.relation == "foreign"
            and self.alone
            or (cell.relation == "orphan" and command.does == "write" and status == 0)
        )
        if needs_word and not speaks and command.name not in NEEDS_NO_WORD:
            claims.append(("silent about what lies beside it", f"exit {status}"))
        if cell.relation == "foreign" and status == 0 and command.opens and command.does == "write":
            claims.append(("goes on beside what isn't its own", f"exit {status}"))
        if cell.relation in ("none", "own") and whole and command.opens and status in (74, 77):
            # SQLite undoes a change only on a connection that may write.
            if (
                command.does != "write" or command.name == "shell"
            ) and "unfinished change" in plain:
                return claims
            claims.append(("refuses what is sound", plain[-200:]))
        return claims

    def judge_output(self, found, output, extra):
        truth = self.truth()
        if truth is None or not output.exists():
            return
        rows = matrix.union(self.engine.read(output.read_bytes(), extra=extra))
        if missing := truth[0] - rows:
            found.append(("output lacks rows", f"{len(missing)} of {len(truth[0])}"))

    def judge_salvage(self, found, output, status, text):
        truth = self.truth()
        rows = (
            matrix.union(self.engine.read(output.read_bytes())) if output.exists() else frozenset()
        )
        choices = [truth]
        if self.cell.relation in ("foreign", "untold"):
            choices = [self.alone, self.beside]
        choices = [found[0] for found in choices if found] or [frozenset()]
        # What has more rows, with or without what lies beside the file. What isn't its own, it may leave out.
        least = max(map(len, choices))
        if self.cell.relation == "foreign" and self.alone:
            least = len(self.alone[0])
        if self.cell.relation == "untold" and re.search(r"\d+ rows; without it, \d+", re.sub(r"\s+", " ", text)):
            # Nobody knows which one it should be, and it names both.
            least = 0
        readable = min((c for c in choices if len(c) >= least), key=lambda c: len(c - rows))
        missing = readable - rows
        if self.cell.relation == "torn":
            # It may know newer versions of rows, from behind the tear.
            missing = {row for row in missing if row[0] not in {id for id, _ in rows}}
        if missing:
            kind = "salvage: not all rows, and exit 0" if status == 0 else "salvage: not all rows"
            found.append((kind, f"{len(missing)} of {len(readable)}, exit {status}"))
        elif status == 2 and truth and truth[1] and self.cell.relation != "torn":
            found.append(("salvage: losses that are none", text.strip().splitlines()[-1][:100]))
