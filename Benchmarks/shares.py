"""Measures whose code a workload's processor time is spent in, by samples of perf's.

The linker's map says whose each address of the tool is, so the tool is the one that people use.
"""
import bisect
import collections
import pathlib
import re
import subprocess
import tempfile

import measure
import size

CIPHER, KERNEL, LIBRARY = "cipher", "kernel", "C library"
# The parts of the map that are shown by themselves; what is in none of them is Swift's.
PARTS = {"SQLCipher": "SQLite", "GRDB": "GRDB", "MigrationKit": "MigrationKit"}
SWIFT = "Swift, Foundation"
COLUMNS = [CIPHER, "SQLite", "GRDB", "MigrationKit", SWIFT, LIBRARY, KERNEL]
# In a second, of each processor.
FREQUENCY = 1999
# A short run is repeated until there are so many samples.
ENOUGH, MOST_RUNS = 3_000, 60


class Shares:
    """Takes the place of a comparison: samples the contenders that are the tool."""

    def __init__(self, root):
        self.tool = root / ".build/release/migrationkit-cli"
        # perf names the file that a link leads to.
        self.program, self.found = str(self.tool.resolve()), {}
        text = size.linker_map(root)
        self.starts, self.owners = owners(text)
        self.slide = slide(self.tool)

    def compare(self, contenders, _):
        figures = {}
        for contender in contenders:
            if contender.command[0] != self.tool:
                continue
            figures[contender.name] = figure = measure.Figure()
            contender.measure(figure)
            self.found[contender.name] = self.sampled(contender) | {
                "seconds": figure.seconds[0], "cores": figure.processor[0] / figure.seconds[0],
            }
        return figures

    def sampled(self, contender):
        samples, runs = collections.Counter(), 0
        with tempfile.TemporaryDirectory() as folder:
            data = pathlib.Path(folder) / "data"
            perf = ["perf", "record", "-q", "-e", "cpu-clock", "-F", FREQUENCY, "-o", data, "--"]
            while samples.total() < ENOUGH and runs < MOST_RUNS:
                runs += 1
                if contender.prepare:
                    contender.prepare()
                measure.run([*perf, *contender.command], contender.script, contender.environment)
                samples += self.read(data)
        return {"samples": {name: samples[name] for name in COLUMNS}}

    def read(self, data):
        """The samples of a recording, by part."""
        events = subprocess.run(
            ["perf", "script", "-i", data, "-F", "ip,dso", "--show-mmap-events"],
            check=True, capture_output=True, text=True,
        ).stdout
        samples, base = collections.Counter(), None
        mapping = re.compile(r"PERF_RECORD_MMAP2? .*: \[0x(\w+)\(0x\w+\) @ (?:0x)?(\w+) .* (\S+)$")
        sample = re.compile(r"\s([0-9a-f]+) \((.*)\)$")
        for line in events.splitlines():
            if found := mapping.search(line):
                start, offset, file = found.groups()
                # Processes that it starts of itself have the same.
                if file == self.program:
                    base = int(start, 16) - int(offset, 16)
            # Before, it is perf's own.
            elif base is not None and (found := sample.search(line)):
                samples[self.part(int(found[1], 16), found[2], base)] += 1
        return samples

    def part(self, address, file, base):
        if file == self.program:
            place = bisect.bisect_right(self.starts, address - base + self.slide) - 1
            return PARTS.get(self.owners[place], SWIFT)
        if "libcrypto" in file:
            return CIPHER
        return LIBRARY if ".so" in file or "vdso" in file else KERNEL


def owners(text):
    """The addresses at which the code of each part begins, in order, and the parts."""
    found = sorted(size.sections(text, lambda kind: kind == ".text"))
    return [start for start, _, _ in found], [part for _, _, part in found]


def slide(tool):
    """The address of the code less its place in the file."""
    listed = subprocess.run(["readelf", "-lW", tool], check=True, capture_output=True, text=True)
    offset, address = re.search(r"LOAD +0x(\w+) +0x(\w+) .* R E ", listed.stdout).groups()
    return int(address, 16) - int(offset, 16)


def table(result):
    lines = [
        "### Where the time goes", "",
        f"{result['date']}, {result['machine']}. The processor's time of the tool, by perf's samples. "
        "The cipher is OpenSSL's; what waits for the disk takes no processor: fewer cores than one. "
        "The kernel's part is files, memory and the program's start.", "",
        f"| | time | cores | {' | '.join(COLUMNS)} |", "| --- |" + " --: |" * (len(COLUMNS) + 2),
    ]
    for name, one in result["shares"].items():
        total = sum(one["samples"].values())
        parts = [f"{100 * one['samples'][column] / total:.0f} %" for column in COLUMNS]
        seconds = one["seconds"]
        time = f"{seconds:.2f} s" if seconds >= 0.1 else f"{seconds * 1000:.0f} ms"
        lines.append(f"| {name} | {time} | {one['cores']:.2f} | {' | '.join(parts)} |")
    return "\n".join(lines) + "\n"
