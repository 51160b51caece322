"""Tests the module against the built tool: test_migrationkit.py, with its path in TOOL."""
import decimal
import enum
import math
import os
import pathlib
import secrets
import signal
import subprocess
import tempfile
import threading
import time
import unittest

import migrationkit
from migrationkit import Error, Key, Store

TOOL = os.environ["TOOL"]

# Counts long enough to be killed.
LONG = """\
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000)
INSERT INTO note SELECT NULL, max(i) FROM n;
"""


class StoreTests(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.home = pathlib.Path(made.name)
        self.folder = self.home / "migrations"
        self.folder.mkdir()
        self.write("0001_note", "CREATE TABLE note (id INTEGER PRIMARY KEY, body);")
        self.secret = secrets.token_urlsafe(18)
        self.store = self.opened(Key.passphrase(self.secret))

    def write(self, name, sql):
        (self.folder / f"{name}.sql").write_text(f"-- migrate:up\n{sql}\n-- migrate:down\n")

    def opened(self, key, executable=TOOL):
        return Store(self.home / "notes.db", key, executable=executable)

    def program(self, text):
        path = self.home / "program"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    def assertCode(self, code, call, *arguments, **named):
        with self.assertRaises(Error) as raised:
            call(*arguments, **named)
        self.assertEqual(raised.exception.code, code, raised.exception)
        return raised.exception

    def test_migrates_and_says_what_is_applied(self):
        report = self.store.migrate(self.folder)
        self.assertEqual([step["identifier"] for step in report["applied"]], ["0001_note"])
        self.assertTrue(self.store.is_migrated(self.folder))
        self.write("0002_tag", "CREATE TABLE tag (id INTEGER PRIMARY KEY);")
        self.write("0003_more", "CREATE TABLE more (id INTEGER PRIMARY KEY);")
        self.assertEqual(self.store.status(self.folder)["pending"], ["0002_tag", "0003_more"])
        copy = self.home / "before.db"
        report = self.store.migrate(self.folder, to="0002", all_or_nothing=True, backup=copy)
        self.assertEqual(report["pending"], ["0003_more"])
        self.assertFalse(self.store.is_migrated(self.folder))
        self.assertTrue(copy.exists())

    def test_takes_over_what_code_counts_in_user_version(self):
        self.store.migrate(self.folder)
        self.write("0002_tag", "CREATE TABLE tag (id INTEGER PRIMARY KEY);")
        # As code leaves it that knows the first version.
        copy = Store(self.home / "code.db", Key.passphrase(self.secret), executable=TOOL)
        self.sqlcipher(copy, "CREATE TABLE note (id INTEGER PRIMARY KEY, body); PRAGMA user_version = 1;")
        report = copy.migrate(self.folder, adopt="user_version")
        self.assertEqual(report["recorded"], ["0001_note"])
        self.assertEqual([step["identifier"] for step in report["applied"]], ["0002_tag"])
        self.assertEqual(copy.migrate(self.folder, adopt="user_version")["applied"], [])

    def sqlcipher(self, store, sql):
        subprocess.run(
            ["sqlcipher", "-bail", store.path], input=f"PRAGMA key = '{self.secret}';\n{sql}\n",
            text=True, check=True, stdout=subprocess.DEVNULL)

    def test_values_come_back_as_they_were(self):
        self.store.migrate(self.folder)
        for value in [None, 7, -(2**62), -(2**63), 2**63 - 1, 1.5, -0.0, 1e300, 5e-324, 1e16, "it's", "", "12",
                      "1e999", "nan", "null", "x'00'", "a\nb", "ä", b"", b"\0\xff"]:
            rows = self.store.query("SELECT :v AS v", {"v": value})
            self.assertEqual(rows, [{"v": value}])
            self.assertIs(type(rows[0]["v"]), type(value))
        self.store.query("INSERT INTO note (body) VALUES (:a)", {"a": "milk"}, write=True)
        self.assertEqual(self.store.query("SELECT body FROM note"), [{"body": "milk"}])
        self.assertCode("sqlRefused", self.store.query, "DELETE FROM note")
        self.assertCode("sqlInvalid", self.store.query, "SELEC")

    def test_values_of_other_types_are_bound_as_what_they_are(self):
        self.store.migrate(self.folder)

        class Number(enum.IntEnum):
            ONE = 1

        class Word(str, enum.Enum):
            MILK = "milk"

        for value, bound in [(bytearray(b"ab"), b"ab"), (memoryview(b"ab"), b"ab"), (True, 1),
                             (Number.ONE, 1), (Word.MILK, "milk")]:
            rows = self.store.query("SELECT :v AS v", {"v": value})
            self.assertEqual(rows, [{"v": bound}])
            self.assertIs(type(rows[0]["v"]), type(bound))

    def test_values_that_cannot_be_bound_are_refused(self):
        self.store.migrate(self.folder)
        for value, error in [(math.inf, ValueError), (-math.inf, ValueError), (math.nan, ValueError),
                             (2**63, OverflowError), (-(2**63) - 1, OverflowError),
                             (decimal.Decimal("1.5"), TypeError), ([1], TypeError), ("a\0b", ValueError)]:
            with self.assertRaises(error):
                self.store.query("INSERT INTO note (body) VALUES (:v)", {"v": value}, write=True)
        self.assertEqual(self.store.query("SELECT count(*) AS n FROM note"), [{"n": 0}])
        self.assertEqual(self.store.query("SELECT 9e999 AS a, -9e999 AS b"), [{"a": math.inf, "b": -math.inf}])

    def test_verifies(self):
        self.store.migrate(self.folder)
        self.assertTrue(self.store.verify(self.folder, full=True)["ok"])
        self.store.query("SELECT 1")
        with open(self.store.path, "r+b") as file:
            file.seek(4096 + 100)
            file.write(secrets.token_bytes(100))
        error = self.assertCode("verificationFailed", self.store.verify, full=True)
        self.assertEqual(error.exit_status, 2)
        self.assertFalse(error.report["ok"])

    def test_other_keys(self):
        self.store.migrate(self.folder)
        self.store.backup(self.home / "copy.db")
        digits = secrets.token_hex(32)
        self.store.rotate(Key.raw(digits))
        self.assertTrue(self.store.is_migrated(self.folder))
        error = self.assertCode("wrongKey", self.opened(Key.passphrase(self.secret)).status, self.folder)
        self.assertEqual(error.exit_status, 77)
        self.assertNotIn(self.secret, f"{error} {error.hint} {error.report}")
        file = self.home / "key"
        file.touch(0o600)
        file.write_text(digits)
        self.assertTrue(self.opened(Key.file(file, raw=True)).is_migrated(self.folder))
        self.assertTrue(self.opened(Key.command(f"cat {file}", raw=True)).is_migrated(self.folder))
        self.assertCode("keyTooLarge", self.opened(Key.passphrase("x" * 5000)).status, self.folder)
        self.assertCode("noBus", self.without_bus, Key.secret_service("org.example", "notes"))

    def without_bus(self, key):
        program = self.program(f"DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere exec '{TOOL}' \"$@\"")
        self.opened(key, program).status(self.folder)

    def test_no_key_is_seen(self):
        """Neither in arguments nor in the environment, which a program between them writes down."""
        log = self.home / "log"
        program = self.program(
            f"tr '\\0' '\\n' </proc/$$/cmdline >>'{log}'; tr '\\0' '\\n' </proc/$$/environ >>'{log}'\n"
            f"exec '{TOOL}' \"$@\""
        )
        digits = secrets.token_hex(32)
        store = self.opened(Key.passphrase(self.secret), program)
        store.migrate(self.folder)
        store.rotate(Key.raw(digits))
        self.assertCode("wrongKey", self.opened(Key.passphrase(self.secret), program).status, self.folder)
        seen = log.read_text()
        self.assertIn("--password-fd", seen)
        self.assertNotIn(self.secret, seen)
        self.assertNotIn(digits, seen)
        self.assertNotIn(self.secret, repr(store) + repr(Key.passphrase(self.secret)))
        self.assertEqual(list(self.home.glob("*journal*")), [])

    def test_a_kill_is_an_error_and_loses_nothing(self):
        self.store.migrate(self.folder)
        self.write("0002_long", LONG)
        for number in (signal.SIGTERM, signal.SIGKILL):
            thread = threading.Thread(target=self.kill, args=[number])
            thread.start()
            error = self.assertCode("interrupted", self.store.migrate, self.folder)
            thread.join()
            self.assertIn(error.exit_status, (128 + number, -number))
            self.assertEqual(self.store.status(self.folder)["pending"], ["0002_long"])
            self.assertTrue(self.store.verify(self.folder)["ok"])

    def working(self):
        """The tool's processes in the middle of its work, when the database has a journal."""
        journal = pathlib.Path(f"{self.store.path}-journal")
        deadline = time.monotonic() + 60
        while not journal.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        found = subprocess.run(["pgrep", "-f", f"migrate .*{self.store.path}"], capture_output=True, text=True)
        return list(map(int, found.stdout.split()))

    def kill(self, number):
        for process in self.working():
            os.kill(process, number)

    def test_no_core_is_written(self):
        self.store.migrate(self.folder)
        self.write("0002_long", LONG)
        # Swift's printer of backtraces would catch the signal, and may hang.
        program = self.program(
            f"export SWIFT_BACKTRACE=enable=no; ulimit -c unlimited; exec '{TOOL}' \"$@\""
        )
        store = self.opened(Key.passphrase(self.secret), program)
        limits = []

        def abort():
            for process in self.working():
                limits.append(pathlib.Path(f"/proc/{process}/limits").read_text())
                os.kill(process, signal.SIGABRT)

        thread = threading.Thread(target=abort)
        thread.start()
        self.assertCode("interrupted", store.migrate, self.folder)
        thread.join()
        self.assertEqual(len(limits), 1)
        self.assertRegex(limits[0], r"Max core file size +0 ")
        for name in [*self.home.glob("core*"), *pathlib.Path().glob("core*")]:
            self.fail(f"{name} was written")

    def test_progress_comes_while_it_takes_long(self):
        program = self.program(f"echo 'one of two' >&2; exec '{TOOL}' \"$@\"")
        lines = []
        self.opened(Key.passphrase(self.secret), program).migrate(self.folder, on_progress=lines.append)
        self.assertEqual(lines, ["one of two"])

    def test_the_wrong_tool(self):
        self.assertCode("toolNotFound", self.opened(Key.raw("0" * 64), "/nowhere").status, self.folder)
        # One that reads nothing, says nothing, or speaks of something else.
        for text, code in [("exit 0", "failed"), ("exit 3", "failed"), ("echo '{'; exit 0", "failed"),
                           ("echo '[1]'; exit 0", "failed"), ("kill -9 $$", "interrupted")]:
            store = self.opened(Key.passphrase(self.secret), self.program(text))
            self.assertCode(code, store.query, "SELECT 1" + " " * 200_000)
        old = self.opened(Key.passphrase(self.secret))
        self.assertCode("unknownCommand", old.run, "a-command-of-tomorrow")
        self.assertCode("usage", old.run, "status", "--option-of-tomorrow")

    def test_explains(self):
        os.environ["PATH"] = f"{pathlib.Path(TOOL).parent}:{os.environ['PATH']}"
        self.assertTrue(migrationkit.tool().endswith("migrationkit-cli"))
        answer = migrationkit.explain("hmac check failed for pgno=1")
        self.assertEqual(answer["title"], "file is not a database")
        self.assertIn("wrongKey", answer["codes"])
        self.assertCode("noExplanation", migrationkit.explain, "nothing like that")


if __name__ == "__main__":
    unittest.main()
