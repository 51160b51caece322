"""Runs commands and takes their time and their peak of memory."""
import os
import statistics
import subprocess
import sys
import tempfile
import time


class Figure:
    """What the runs of one contender took."""

    def __init__(self):
        self.seconds, self.megabytes = [], []

    @property
    def median(self):
        return statistics.median(self.seconds)

    @property
    def peak(self):
        return max(self.megabytes)


def run(command, script=None, environment=None):
    """Runs a command to its end; a failure of it ends the benchmark.

    Returns its seconds, its peak in MB, and what it printed.
    """
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out:
        given.write((script or "").encode())
        given.seek(0)
        start = time.perf_counter()
        process = subprocess.Popen(
            [str(word) for word in command],
            stdin=given,
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})},
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read().decode(errors="replace")
    if process.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {process.returncode}:\n{text[-2000:]}")
    return seconds, usage.ru_maxrss / 1024, text


class Contender:
    """One of those that do the same work.

    prepare brings the files to where the work begins, and isn't measured.
    """

    def __init__(self, name, command, script=None, environment=None, prepare=None, check=None):
        self.name, self.command, self.script = name, command, script
        self.environment, self.prepare, self.check = environment, prepare, check

    def measure(self, figure):
        if self.prepare:
            self.prepare()
        seconds, peak, text = run(self.command, self.script, self.environment)
        if self.check:
            self.check(text)
        figure.seconds.append(seconds)
        figure.megabytes.append(peak)


def compare(contenders, rounds):
    """Lets the contenders work in turn, so that what slows the machine slows all of them.

    The first round warms the caches and isn't counted, unless there is one only.
    """
    figures = {contender.name: Figure() for contender in contenders}
    for turn in range(rounds + (1 if rounds > 1 else 0)):
        for contender in contenders:
            counts = turn > 0 or rounds == 1
            contender.measure(figures[contender.name] if counts else Figure())
    return figures
