"""Runs commands and takes their time and their peak of memory."""
import json
import statistics
import subprocess
import sys
import tempfile


class Figure:
    """What the runs of one contender took."""

    def __init__(self):
        self.seconds, self.megabytes, self.processor = [], [], []

    @property
    def median(self):
        return statistics.median(self.seconds)

    @property
    def peak(self):
        return max(self.megabytes)


# Runs one command after the other. It is a process of its own because a process that is started counts
# its parent's memory as its own peak, and the benchmark's may be large.
RUNNER = """
import json, os, subprocess, sys, time
for line in sys.stdin:
    call = json.loads(line)
    with open(call["script"], "rb") as given, open(call["output"], "wb") as out:
        start = time.perf_counter()
        process = subprocess.Popen(
            call["command"], stdin=given, stdout=out, stderr=subprocess.STDOUT,
            env={**os.environ, **call["environment"]},
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    result = {
        "seconds": seconds, "kilobytes": usage.ru_maxrss, "code": process.returncode,
        "processor": usage.ru_utime + usage.ru_stime,
    }
    print(json.dumps(result), flush=True)
"""


runner = subprocess.Popen(
    [sys.executable, "-c", RUNNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
)


def run(command, script=None, environment=None):
    """Runs a command to its end; a failure of it ends the benchmark.

    Returns its seconds, its peak in MB, its processor's seconds, and what it printed.
    """
    command = [str(word) for word in command]
    with tempfile.NamedTemporaryFile() as given, tempfile.NamedTemporaryFile() as out:
        given.write((script or "").encode())
        given.flush()
        call = {
            "command": command, "script": given.name, "output": out.name,
            "environment": environment or {},
        }
        print(json.dumps(call), file=runner.stdin, flush=True)
        result = json.loads(runner.stdout.readline())
        text = out.read().decode(errors="replace")
    if result["code"] != 0:
        sys.exit(f"{' '.join(command)} ended with {result['code']}:\n{text[-2000:]}")
    return result["seconds"], result["kilobytes"] / 1024, result["processor"], text


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
        seconds, peak, processor, text = run(self.command, self.script, self.environment)
        if self.check:
            self.check(text)
        figure.seconds.append(seconds)
        figure.megabytes.append(peak)
        figure.processor.append(processor)


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
