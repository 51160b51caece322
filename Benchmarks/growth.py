"""How the time of each command grows with its work, and with which exponent.

A line is measured at growing sizes as long as a run at the next one would take less than LONGEST if it
grew with the size; the exponent is fitted to what it takes beyond its smallest size, since that is
mostly the program's start.
"""
import contextlib
import json
import math
import os
import shutil
import statistics
import subprocess

import fleets
import peers
import service
import stores
from measure import Contender, Figure, run

LONGEST = 150  # Seconds.
NAMES = ["steps", "lint", "tables", "rows", "stores", "items"]


class Curve:
    """One kind of work, at several sizes.

    at(size) prepares the files, and returns the contenders, the one of each line by its name.
    """

    def __init__(self, title, unit, sizes, at):
        self.title, self.unit, self.sizes, self.at = title, unit, sizes, at

    def measure(self, sizes):
        """The points of each line: size, seconds, megabytes."""
        lines, ended = {}, set()
        for size, following in zip(sizes, [*sizes[1:], sizes[-1]]):
            for contender in self.at(size):
                if contender.name in ended:
                    continue
                figure = Figure()
                try:
                    while len(figure.seconds) < 5 and sum(figure.seconds) < 2:
                        contender.measure(figure)
                except SystemExit as failure:
                    # Such as a limit of memory: the line ends here.
                    print(f"  {self.title}, {contender.name}, {size:,}: {failure}"[:2000], flush=True)
                    ended.add(contender.name)
                    continue
                seconds = figure.median
                print(f"  {self.title}, {contender.name}, {size:,}: {seconds:.3f} s", flush=True)
                lines.setdefault(contender.name, []).append((size, seconds, figure.peak))
                if seconds * following / size > LONGEST:
                    ended.add(contender.name)
        return {"title": self.title, "unit": self.unit, "lines": lines}


def measure(bench, is_small, names):
    """The curves with these names; their first sizes only, to see that they work."""
    with contextlib.ExitStack() as stack:
        running = None
        if service.is_there():
            running = stack.enter_context(service.Service(bench.folder))
        return {
            name: curve.measure(curve.sizes[:2] if is_small else curve.sizes)
            for name, curve in curves(bench, running).items()
            if name in names
        }


def exponent(points):
    """The slope of the time on logarithmic axes, without the time of the smallest size.

    None if the time hardly grows: less than 20 ms and less than by half.
    """
    start = points[0][1]
    grown = [
        (math.log(size), math.log(seconds - start))
        for size, seconds, _ in points[1:]
        if seconds - start > max(0.02, start / 2)
    ]
    # Two decades say how it will go on; earlier ones are still the start.
    grown = grown[-3:]
    if len(grown) < 2:
        return None
    x, y = (statistics.mean(column) for column in zip(*grown))
    return sum((a - x) * (b - y) for a, b in grown) / sum((a - x) ** 2 for a, _ in grown)


def spelled(seconds):
    return f"{seconds:.2f} s" if seconds >= 0.1 else f"{seconds * 1000:.0f} ms"


def table(result):
    lines = [
        "### How the time grows", "",
        f"{result['date']}, {result['machine']}. The exponent is that of the last sizes, without the "
        "program's start: 1 is linear; none where the time hardly grows.", "",
        "![The time of each command over the size of its work](growth.svg)", "",
        "What grows faster than its work runs the migrations of a folder, each with its statements: SQLite "
        "reads the whole schema table for each `CREATE` and the whole schema for each `ALTER TABLE`, and "
        "`lint` and `test` read the schema after each migration. `test` opens each version anew, and `lint` "
        "keeps each schema: of 10,000 migrations, it needs `MIGRATIONKIT_MAX_MEMORY=0`. Of 16 GB, which the "
        "system's cache doesn't hold, `verify` is the first that reads them, and waits for the disk.", "",
    ]
    for curve in result["curves"].values():
        lines += [
            f"| {curve['title']} | of | smallest | largest | time | memory | exponent |",
            "| --- | --- | --: | --: | --: | --: | --: |",
        ]
        for name, points in curve["lines"].items():
            size, seconds, peak = points[-1]
            power = exponent(points)
            lines.append(
                f"| {name} | {curve['unit']} | {points[0][0]:,}: {spelled(points[0][1])} | {size:,} | "
                f"{spelled(seconds)} | {peak:.0f} MB | {'' if power is None else f'{power:.2f}'} |"
            )
        lines.append("")
    return "\n".join(lines)


def draw(bench, result, folder):
    """Draws the curves, as SVG and PNG."""
    script = [bench.tools / "python", folder / "plot.py", folder]
    subprocess.run(script, input=json.dumps(result), text=True, check=True)


# MARK: Curves


def curves(bench, running=None):
    """All curves, without those of a Secret Service if none runs.

    Their files are in the benchmark's folder, and go with it.
    """
    folder, tool, key = bench.folder, bench.tool, bench.raw

    def command(name, words, *arguments, **options):
        return Contender(name, [tool, *words.split(), *arguments], **options)

    def fresh(path):
        return lambda: stores.remove(path)

    def steps(size):
        made = folder / f"inserts{size}"
        path, new = folder / f"steps{size}.db", folder / "new.db"
        statements = stores.inserts(size)
        stores.folder_of(made, statements)
        stores.plain_files(folder / f"plain-inserts{size}", statements)
        run(bench.migrate(path, key, made, "--all-or-nothing"))
        at = ["--db-path", path, *key.options, "--migrations", made]
        return [
            Contender("migrate", bench.migrate(new, key, made), prepare=fresh(new)),
            Contender(
                "migrate, all or nothing", bench.migrate(new, key, made, "--all-or-nothing"),
                prepare=fresh(new),
            ),
            command("migrate, nothing pending", "migrate", *at),
            command("status", "status", *at),
            command("verify", "verify", *at),
            Contender(
                "sqlcipher shell", [*bench.shell, new],
                bench.script(folder / f"plain-inserts{size}", key), prepare=fresh(new),
            ),
            Contender("dbmate, plaintext", peers.dbmate(bench.tools, made, new), prepare=fresh(new)),
        ]

    def lint(size):
        made = bench.steps(size)
        wanted = folder / f"wanted{size}"
        output = folder / "created"
        stores.folder_of(
            wanted, [*stores.small_steps(size), "CREATE TABLE more(id INTEGER PRIMARY KEY)"]
        )

        unlimited = os.environ | {"MIGRATIONKIT_MAX_MEMORY": "0"}

        def copied():
            shutil.rmtree(output, ignore_errors=True)
            shutil.copytree(made, output)

        return [
            command("lint", "lint", "--migrations", made, environment=unlimited),
            command("test", "test", "--migrations", made),
            command(
                "create --to", "create add", "--to", wanted, "--migrations", output, prepare=copied
            ),
            command("schema-dump", "schema-dump", "--migrations", made),
        ]

    def tables(size):
        old, new = folder / f"tables{size}", folder / f"tables{size}-more"
        path, work = folder / f"tables{size}.db", folder / "work.db"
        more = "ALTER TABLE t0 ADD COLUMN note TEXT"
        stores.folder_of(old, [stores.tables(size)])
        stores.folder_of(new, [stores.tables(size), more])
        run(bench.migrate(path, key, old))
        at = ["--db-path", path, *key.options, "--migrations", old]
        return [
            command("schema-diff", "schema-diff", "--from", old, "--to", new),
            command("status", "status", *at),
            command("verify", "verify", *at),
            command("schema-dump of the database", "schema-dump", *at[:-2]),
            Contender(
                "migrate, one column more", bench.migrate(work, key, new),
                prepare=lambda: stores.copy(path, work),
            ),
        ]

    def rows(size):
        # About a thousand bytes for each row of both tables.
        path, plain = folder / "rows.db", folder / "plain.db"
        work, copy = folder / "work.db", folder / "copy.db"
        stores.large(path, key, size * 1200, size * 180)
        stores.large(plain, None, size * 1200, size * 180)
        at, none = ["--db-path", path, *key.options], ["--migrations", bench.steps(20)]
        new_key = ["--new-password-file", bench.passphrase.path]
        rebuild = folder / "rebuild"
        if not rebuild.exists():
            stores.folder_of(rebuild, [stores.REBUILD])
        copied, output = (lambda: stores.copy(path, work)), fresh(copy)
        export = (
            f"{key.pragma}ATTACH '{copy}' AS new KEY \"{key.spelled}\";\n"
            "SELECT sqlcipher_export('new');\n"
        )
        select = "SELECT id, name, amount, body FROM entry"
        return [
            command("status", "status", *at, *none),
            command("verify", "verify", *at, *none),
            command("verify --full", "verify --full", *at, *none),
            command("backup", "backup", *at, "--output", copy, prepare=output),
            command("rekey", "rekey", *at, *new_key, "--output", copy, prepare=output),
            command(
                "encrypt", "encrypt", "--db-path", plain, *key.options, "--output", copy,
                prepare=output,
            ),
            command("query, all rows", "query --format list", *at, select),
            Contender("migrate, a table rebuilt", bench.migrate(work, key, rebuild), prepare=copied),
            Contender("sqlcipher shell, export", [*bench.shell, path], export, prepare=output),
        ]

    def items(size):
        for number in range(running.items, size):
            given = ["--password-file", key.path, "--raw-key"]
            run([tool, "key", "set", *item(number), *given], environment=running.environment)
        running.items = size
        path = folder / "kept.db"
        if not path.exists():
            run(bench.migrate(path, key, bench.steps(20)))
        return [
            command("key list", "key list", environment=running.environment),
            command(
                "status, its key in the service", "status", "--db-path", path, *item(0), "--raw-key",
                "--migrations", bench.steps(20), environment=running.environment,
            ),
        ]

    def fleet(size):
        return fleets.growing(bench, size)

    found = {
        "steps": Curve("Steps", "migrations", [50, 500, 5_000, 50_000], steps),
        "lint": Curve("Development", "migrations", [10, 100, 1_000, 3_000, 10_000], lint),
        "tables": Curve("Tables", "tables", [10, 100, 1_000, 10_000], tables),
        "rows": Curve("Bytes", "MB", [1, 10, 100, 1_000, 4_000, 16_000], rows),
        "stores": Curve("Fleet", "databases", [10, 100, 1_000, 10_000, 100_000], fleet),
    }
    if running:
        found["items"] = Curve("Secret Service", "items", [10, 100, 1_000], items)
    return found


def item(number):
    return ["--keychain-service", "bench", "--keychain-account", f"account {number}"]
