"""Makes a wheel of the tool, its manual and completions, and the module `migrationkit`.

    make_wheel.py VERSION TREE LICENSES EPOCH FOLDER

TREE has the tool as `Scripts/install-tool` installs it. The same files give the same bytes.
"""
import base64
import hashlib
import pathlib
import re
import subprocess
import sys
import time
import zipfile

HERE = pathlib.Path(__file__).resolve().parent

# What every glibc system has. <https://peps.python.org/pep-0600/>
ALLOWED = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6", "ld-linux-x86-64.so.2"}
ALLOWED |= {"ld-linux-aarch64.so.1"}

METADATA = """\
Metadata-Version: 2.1
Name: migrationkit-cli
Version: {version}
Summary: Migrates encrypted SQLite databases (SQLCipher), with a key store. Never half migrated.
License: MIT
Requires-Python: >=3.9
Classifier: Operating System :: POSIX :: Linux
Classifier: Topic :: Database
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

"""


def read(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def tag(tool):
    """The oldest glibc that has what the tool needs, as a wheel names it."""
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", read("readelf", "-d", tool)))
    if more := needed - ALLOWED:
        sys.exit(f"a wheel's tool must not need {', '.join(sorted(more))}: use 'make wheel'")
    versions = re.findall(r"GLIBC_2\.(\d+)", read("objdump", "-T", tool))
    machine = read("uname", "-m").strip()
    return f"py3-none-manylinux_2_{max(map(int, versions))}_{machine}"


def main():
    version, tree, licenses, epoch, folder = sys.argv[1:]
    tree, name = pathlib.Path(tree), f"migrationkit_cli-{version}"
    tool = tree / "bin/migrationkit-cli"
    platform = tag(tool)
    readme = (HERE / "README.md").read_text()
    files = {f"{name}.data/scripts/migrationkit-cli": tool.read_bytes()}
    for path in sorted((tree / "share").rglob("*")):
        if path.is_file():
            files[f"{name}.data/data/{path.relative_to(tree)}"] = path.read_bytes()
    for path in sorted((HERE / "migrationkit").iterdir()):
        if path.is_file():
            files[f"migrationkit/{path.name}"] = path.read_bytes()
    for path in sorted(pathlib.Path(licenses).iterdir()):
        files[f"{name}.dist-info/licenses/{path.name}"] = path.read_bytes()
    wheel = f"Wheel-Version: 1.0\nGenerator: migrationkit\nRoot-Is-Purelib: false\nTag: {platform}\n"
    files[f"{name}.dist-info/METADATA"] = (METADATA.format(version=version) + readme).encode()
    files[f"{name}.dist-info/WHEEL"] = wheel.encode()
    record = f"{name}.dist-info/RECORD"
    lines = []
    for path, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        lines.append(f"{path},sha256={digest},{len(content)}")
    files[record] = ("\n".join([*lines, f"{record},,"]) + "\n").encode()

    made = pathlib.Path(folder) / f"{name}-{platform}.whl"
    date = time.gmtime(int(epoch))[:6]
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path, date)
            entry.create_system = 3
            entry.compress_type = zipfile.ZIP_DEFLATED
            mode = 0o755 if "/scripts/" in path else 0o644
            entry.external_attr = (0o100000 | mode) << 16
            archive.writestr(entry, content)
    print(made)


main()
