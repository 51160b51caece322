"""Migrates, checks, copies and rekeys encrypted SQLite databases, with migrationkit-cli.

    from migrationkit import Key, Store

    store = Store("notes.db", key=Key.secret_service("com.example.Notes", "notes"))
    store.migrate("migrations")

Each method runs the tool once. A key that the program has goes to it through a pipe: no argument, no
variable of the environment and no file ever has it. What fails is an `Error` with the tool's code.
"""
from __future__ import annotations

import dataclasses
import json
import math
import os
import pathlib
import shutil
import subprocess
import sysconfig
import threading
from typing import Any, Callable, Iterator, Mapping, Optional, Sequence, Union

__all__ = ["Error", "Key", "Store", "ToolNotFound", "explain", "tool"]

Path = Union[str, "os.PathLike[str]"]
Value = Union[None, int, float, str, bytes, bytearray, memoryview]
Report = dict[str, Any]
Progress = Callable[[str], None]


class Error(Exception):
    """What the tool reports: see `explain(error.code)`.

    code: the error's code, such as "wrongKey"; it stays the same from release to release.
    hint: what to do about it, in lines; None if there is nothing to say.
    exit_status: the tool's exit code; negative if a signal ended it.
    report: what the tool printed before it failed, such as the findings of `verify`.
    """

    def __init__(
        self,
        code: str,
        message: str,
        hint: Optional[str] = None,
        exit_status: int = 1,
        report: Optional[Report] = None,
    ) -> None:
        super().__init__(message if hint is None else f"{message}\n{hint}")
        self.code = code
        self.message = message
        self.hint = hint
        self.exit_status = exit_status
        self.report = report


class ToolNotFound(Error):
    """There is no migrationkit-cli, or it is too old for this module."""

    def __init__(self, message: str) -> None:
        super().__init__("toolNotFound", message, "Install the wheel that has this module, or put it on PATH.")


@dataclasses.dataclass(frozen=True, repr=False)
class Key:
    """Where a database's key comes from. Use one of the constructors."""

    _options: tuple[tuple[str, str], ...]
    _is_raw: bool = False
    _secret: Optional[bytes] = None

    @classmethod
    def passphrase(cls, text: Union[str, bytes]) -> Key:
        """A passphrase that the program has. It can't be wiped from Python's memory."""
        return cls((), False, text.encode() if isinstance(text, str) else text)

    @classmethod
    def raw(cls, digits: Union[str, bytes]) -> Key:
        """A raw key of 64 hexadecimal digits, or of 96 with the salt."""
        return cls((), True, digits.encode() if isinstance(digits, str) else digits)

    @classmethod
    def secret_service(cls, service: str, account: str, *, raw: bool = False) -> Key:
        """An item of the desktop's secret store. The key itself doesn't come to this program."""
        options = (("keychain-service", service), ("keychain-account", account))
        return cls(options, raw)

    @classmethod
    def file(cls, path: Path, *, raw: bool = False) -> Key:
        """A file that only its owner may read."""
        return cls((("password-file", os.fspath(path)),), raw)

    @classmethod
    def command(cls, command: str, *, raw: bool = False) -> Key:
        """A command that prints the key, such as "pass show notes". No shell runs it."""
        return cls((("password-command", command),), raw)

    def __repr__(self) -> str:
        names = ", ".join(name for name, _ in self._options) or "a key"
        return f"<migrationkit.Key: {names}>"


def tool() -> str:
    """The path of migrationkit-cli: the one that was installed with this module, or that of PATH."""
    own = pathlib.Path(sysconfig.get_path("scripts")) / "migrationkit-cli"
    found = str(own) if own.exists() else shutil.which("migrationkit-cli")
    if found is None:
        raise ToolNotFound("there is no migrationkit-cli beside this Python, and none on PATH")
    return found


def explain(error: str) -> Report:
    """What a message of SQLite's or SQLCipher's, a code, a rule or an exit code means.

    Keys: title, meaning, causes, next (with command and purpose), codes, exitCodes, results.
    """
    return _run(tool(), ["explain", error])


class Store:
    """An encrypted database. Nothing is opened before a method is called."""

    def __init__(
        self,
        path: Path,
        key: Key,
        *,
        options: Sequence[str] = (),
        executable: Optional[Path] = None,
    ) -> None:
        """
        path: the database.
        key: its key; a new database is made with it.
        options: more options for every command, such as ["--cipher-compatibility", "3"].
        executable: the tool, if it isn't the one that `tool()` finds.
        """
        self.path = os.fspath(path)
        self._key = key
        self._options = list(options)
        self._tool = os.fspath(executable) if executable is not None else None

    def __repr__(self) -> str:
        return f"<migrationkit.Store: {self.path}>"

    def migrate(
        self,
        folder: Path,
        *,
        to: Optional[str] = None,
        all_or_nothing: bool = False,
        backup: Optional[Path] = None,
        adopt: Optional[str] = None,
        on_progress: Optional[Progress] = None,
    ) -> Report:
        """Applies the pending migrations of a folder of SQL files, then verifies.

        to: the last migration to apply; the beginning of its name is enough.
        backup: where a copy goes before the first change.
        adopt: what has migrated the database so far, if that is taken over: "user_version" or another
            tool, such as "dbmate".
        on_progress: gets a line now and then while it takes long, on another thread.
        """
        words = ["migrate", "--migrations", os.fspath(folder)]
        words += ["--to", to] if to is not None else []
        words += ["--all-or-nothing"] if all_or_nothing else []
        words += ["--backup", os.fspath(backup)] if backup is not None else []
        words += ["--adopt", adopt] if adopt is not None else []
        return self.run(*words, on_progress=on_progress)

    def status(self, folder: Path) -> Report:
        """Which migrations are applied, and where the schema differs. Changes nothing."""
        return self.run("status", "--migrations", os.fspath(folder))

    def is_migrated(self, folder: Path) -> bool:
        """Whether nothing is pending."""
        return not self.status(folder)["pending"]

    def verify(self, folder: Optional[Path] = None, *, full: bool = False) -> Report:
        """Checks that the database is sound; an Error if it isn't, whose report has the findings.

        full: whether every page, index and row is checked.
        """
        words = ["verify"] + (["--full"] if full else [])
        words += ["--migrations", os.fspath(folder)] if folder is not None else []
        return self.run(*words)

    def query(
        self, sql: str, parameters: Optional[Mapping[str, Value]] = None, *, write: bool = False
    ) -> list[dict[str, Any]]:
        """The rows of one statement, each with its columns' names.

        parameters: the values of :name, @name or $name. A value that can't be stored as it is raises
            a TypeError, ValueError or OverflowError. Other users of this machine may see the values in
            the list of processes; write what must stay secret with a connection of your own.
        write: whether rows may be changed; the schema and the migrations' record may not.
        """
        words = ["query"] + (["--write"] if write else [])
        for name, value in (parameters or {}).items():
            words += ["--bind", f"{name}={_literal(name, value)}"]
        report = self.run(*words, "--file", "-", input=sql)
        return [{name: _value(of) for name, of in row.items()} for row in report.get("rows", [])]

    def backup(self, path: Path, *, on_progress: Optional[Progress] = None) -> Report:
        """Copies the database into a new file with the same key, while others use it."""
        return self.run("backup", "--output", os.fspath(path), on_progress=on_progress)

    def rotate(
        self, new_key: Optional[Key] = None, *, on_progress: Optional[Progress] = None
    ) -> Report:
        """Gives the database another key. Other programs must have closed it.

        new_key: the new key, which you keep. Without one, the database's key must be in the secret
            store: a random one takes its place there, and the old one is kept for older backups.
        """
        if new_key is None:
            return self.run("key", "rotate", on_progress=on_progress)
        report = self.run("rekey", new_key=new_key, on_progress=on_progress)
        self._key = new_key
        return report

    def run(
        self,
        *words: str,
        new_key: Optional[Key] = None,
        input: Optional[str] = None,
        on_progress: Optional[Progress] = None,
    ) -> Report:
        """Any other command on this database, by its words, and what it prints as JSON."""
        options = ["--db-path", self.path, *self._options]
        keys = [("", self._key)] + ([("new-", new_key)] if new_key is not None else [])
        executable = self._tool if self._tool is not None else tool()
        return _run(executable, [*words, *options], keys, input, on_progress)


def _literal(name: str, value: Value) -> str:
    """A value as --bind reads it. What it can't read is refused, and never becomes a text."""
    if value is None:
        return "null"
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"x'{bytes(value).hex()}'"
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise OverflowError(f"the integer for :{name} has more than 64 bits, which SQLite can't store")
        # An enumeration's own text is another one.
        return int.__repr__(int(value))
    if isinstance(value, float):
        if math.isnan(value):
            raise ValueError(f"the value for :{name} is not a number, which SQLite can't store; None is NULL")
        if math.isinf(value):
            raise ValueError(f"the value for :{name} is infinite: write 9e999 or -9e999 in the SQL")
        return float.__repr__(value)
    if isinstance(value, str):
        return f"'{str.__str__(value)}'"
    raise TypeError(
        f"the value for :{name} is of the type {type(value).__name__}, not None, int, float, str or bytes"
    )


def _value(of: Any) -> Any:
    """A value of a row: JSON has neither blobs, which come as hexadecimal digits, nor infinities."""
    if isinstance(of, dict) and of.get("type") == "blob":
        return bytes.fromhex(of["hex"])
    if isinstance(of, dict) and of.get("type") == "real":
        return float(of["value"])
    return of


def _run(
    executable: str,
    words: Sequence[str],
    keys: Sequence[tuple[str, Key]] = (),
    input: Optional[str] = None,
    on_progress: Optional[Progress] = None,
) -> Report:
    command = [executable, *words, "--json"]
    descriptors: list[int] = []
    try:
        for prefix, key in keys:
            for name, value in key._options:
                command += [f"--{prefix}{name}", value]
            if key._is_raw:
                command.append(f"--{prefix}raw-key")
            if key._secret is not None:
                descriptors.append(_pipe(key._secret))
                command += [f"--{prefix}password-fd", str(descriptors[-1])]
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE if input is not None else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=descriptors,
                text=True,
                encoding="utf-8",
                errors="replace",
            )
        except FileNotFoundError:
            raise ToolNotFound(f"there is no tool at {executable}") from None
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    with process:
        return _result(process, input, on_progress)


def _pipe(secret: bytes) -> int:
    """The end of a pipe from which the secret can be read once."""
    reading, writing = os.pipe()
    try:
        # A pipe takes 65,536 bytes without a reader, and no key is longer than that.
        if len(secret) > 4096:
            raise Error("keyTooLarge", "the key is longer than 4,096 bytes")
        os.write(writing, secret)
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(writing)
    return reading


def _result(
    process: "subprocess.Popen[str]", input: Optional[str], on_progress: Optional[Progress]
) -> Report:
    assert process.stdin is None or input is not None
    assert process.stdout is not None and process.stderr is not None
    lines: list[str] = []

    def read_errors() -> None:
        for line in process.stderr or ():
            lines.append(line)
            if on_progress is not None and not line.startswith("{"):
                on_progress(line.rstrip("\n"))

    reader = threading.Thread(target=read_errors)
    reader.start()
    try:
        if process.stdin is not None:
            try:
                process.stdin.write(input or "")
                process.stdin.close()
            except BrokenPipeError:
                pass  # It says why it ended.
        output = process.stdout.read()
        status = process.wait()
    except BaseException:
        # Ctrl-C goes to the tool, too: it undoes what isn't committed, and ends.
        process.terminate()
        process.wait()
        raise
    finally:
        reader.join()
    report = next(_documents(output), None)
    if status == 0 and report is not None:
        return report
    error = next((one["error"] for one in _documents("".join(lines)) if "error" in one), None)
    if error is not None:
        raise Error(error["code"], error["message"], error.get("hint"), status, report)
    text = "".join(lines).strip() or f"the tool ended with {status}, without a report"
    raise Error("interrupted" if status < 0 else "failed", text, None, status, report)


def _documents(text: str) -> Iterator[Report]:
    """The JSON documents in a text, which may have other lines."""
    decoder = json.JSONDecoder()
    start = text.find("{")
    while start >= 0:
        try:
            value, end = decoder.raw_decode(text, start)
        except ValueError:
            end = start + 1
        else:
            if isinstance(value, dict):
                yield value
        start = text.find("{", end)
