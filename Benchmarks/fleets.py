"""Many databases, and who migrates them one after the other."""
import os
import shutil

from measure import Contender, run

# What somebody writes who has Python: each database is opened with its key, asked for its version,
# migrated in a transaction, and checked. It doesn't synchronize the folder, takes no lock between
# processes, and compares no checksums.
LOOP = '''
import pathlib, sys
import sqlcipher3

folder, steps, count = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3])
texts = {path.stem: path.read_text() for path in sorted(steps.iterdir())}
for number in range(count):
    path = folder / f"s{number:05}.db"
    key = pathlib.Path(f"{path}.key").read_text()
    db = sqlcipher3.connect(path, isolation_level=None)
    db.execute(f"PRAGMA key = \\"x'{key}'\\"")
    done = {row[0] for row in db.execute("SELECT identifier FROM grdb_migrations")}
    for name, text in texts.items():
        if name in done:
            continue
        db.execute("BEGIN IMMEDIATE")
        db.execute(text)
        db.execute("INSERT INTO grdb_migrations VALUES(?)", (name,))
        assert db.execute("PRAGMA quick_check").fetchone() == ("ok",)
        assert db.execute("PRAGMA foreign_key_check").fetchone() is None
        db.execute("COMMIT")
    db.close()
'''

SHELL = '''
for path in "$1"/s*.db; do
    "$2" migrate --db-path "$path" --password-file "$path.key" --raw-key --migrations "$3" || exit
done
'''


class Part(Contender):
    """Works on a part of the databases; its time is given for all of them."""

    def __init__(self, name, command, whole, part, prepare):
        title = name if part == whole else f"{name} (of {part:,}, times {whole // part})"
        super().__init__(title, command, prepare=prepare)
        self.factor = whole / part

    def measure(self, figure):
        super().measure(figure)
        figure.seconds[-1] *= self.factor
        figure.processor[-1] *= self.factor


class Fleet:
    """Copies of one database, each with its key beside it."""

    def __init__(self, folder, template, key, count):
        self.folder, self.template, self.key, self.count = folder, template, key, count
        folder.mkdir()

    def make(self):
        for number in range(self.count):
            path = f"{self.folder}/s{number:05}.db"
            shutil.copyfile(self.template, path)
            os.chmod(path, 0o600)
            if not os.path.exists(f"{path}.key"):
                # ext4 allows 65,000 links to a file.
                first = f"{self.folder}/s{number - number % 50_000:05}.db.key"
                if number % 50_000:
                    os.link(first, f"{path}.key")
                else:
                    shutil.copy(self.key, first)
        os.sync()

    def remove(self):
        shutil.rmtree(self.folder)


def ours(bench, folder, steps):
    return [
        bench.tool, "fleet", "migrate", "--stores", f"{folder}/*.db", "--key-file-suffix",
        ".key", "--raw-key", "--migrations", steps, "--report", f"{folder}/report.jsonl",
    ]


def python_loop(bench, folder, count):
    loop = bench.folder / "loop.py"
    loop.write_text(LOOP)
    return [bench.tools / "python", loop, folder, bench.folder / "plain20", str(count)]


def growing(bench, count):
    """Ours and the loop on so many databases, nothing pending."""
    steps, template = bench.steps(20), bench.folder / "template.db"
    if not template.exists():
        run(bench.migrate(template, bench.raw, steps))
    fleet = Fleet(bench.folder / f"fleet{count}", template, bench.raw.path, count)
    fleet.make()
    return [
        Contender("fleet migrate, nothing pending", ours(bench, fleet.folder, steps)),
        Contender("Python loop with sqlcipher3", python_loop(bench, fleet.folder, count)),
    ]


def contenders(bench, applied, whole):
    """Ours on all databases and on a hundredth of them, beside loops on some.

    applied says how many of the 20 migrations each database has.
    """
    steps, key = bench.steps(20), bench.raw
    template = bench.folder / f"template{applied}.db"
    run(bench.migrate(template, key, steps, "--steps", str(applied)))
    # Only what is pending must be made anew for each run.
    is_done = applied == 20
    found, fleets = [], []

    def add(name, part, command):
        fleet = Fleet(bench.folder / f"fleet{applied}-{len(fleets)}", template, key.path, part)
        fleets.append(fleet)
        if is_done:
            fleet.make()
        prepare = None if is_done else fleet.make
        found.append(Part(name, command(fleet.folder), whole, part, prepare))

    def command(folder):
        return ours(bench, folder, steps)

    add("migrationkit", whole, command)
    add("migrationkit, few", whole // 100, command)
    add(
        "shell loop over migrationkit",
        whole // 20,
        lambda folder: ["sh", "-c", SHELL, "sh", folder, bench.tool, steps],
    )
    add(
        "Python loop with sqlcipher3",
        whole // 10,
        lambda folder: python_loop(bench, folder, whole // 10),
    )
    return found, fleets
