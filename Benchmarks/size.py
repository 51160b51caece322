"""Measures the tool's size, and what it is made of, by the linker's map."""
import collections
import pathlib
import re
import subprocess
import tempfile

# Of the path of what was linked, the part that says whose it is.
PARTS = [
    ("ICU: the data of languages and regions, and its code", r"lib_FoundationICU\.a"),
    ("Foundation", r"lib_?(Foundation|CFXML|_?C?FoundationEssentials|FoundationInternationalization)\w*\.a"),
    ("Swift's standard library and runtime, Dispatch", r"/usr/lib/swift(_static)?/"),
    ("GRDB", r"/GRDB\.build/"),
    ("ArgumentParser", r"/ArgumentParser\w*\.build/"),
    ("TOMLKit and toml++", r"/C?TOML(Kit)?\.build/"),
    ("swift-log", r"/(InMemory)?Logging\.build/"),
    ("SQLCipher", r"libsqlcipher\.a"),
    ("MigrationKit", r"/(C?MigrationKit\w*|migrationkit_cli|C?KeyStore|SecretService|CLibSecret|C\w+)\.build/"),
    ("the C and C++ libraries' start", r"/(gcc|x86_64-linux-gnu|aarch64-linux-gnu)/"),
]
# What the linker writes for all of them.
TABLES = [
    ("tables for unwinding the stack", r"\.(eh_frame|gcc_except_table)"),
    ("tables for the dynamic loader", r"\.(rela|dyn|gnu\.(hash|version))"),
]
REST = "merged strings, padding"


def table_of(section):
    return next((name for name, names in TABLES if re.match(names, section)), None)


def tables(tool):
    """The bytes of what the linker writes for all parts."""
    sizes = collections.Counter()
    listed = subprocess.run(["readelf", "-SW", tool], check=True, capture_output=True, text=True)
    for section, size in re.findall(r"\] (\.\S+) +\S+ +\S+ +\S+ +([0-9a-f]+)", listed.stdout):
        if table := table_of(section):
            sizes[table] += int(size, 16)
    return sizes


def sections(text, counts):
    """The address, the size and the part of what the linker has put into the file, by its map.

    counts says of an output section whether it matters.
    """
    kind = ""
    # A name that is too long has a line of its own.
    lines = re.sub(r"\n( ?[.\w$]\S*)\n +(0x)", r"\n\1 \2", text.split("\nMemory map\n", 1)[1])
    for line in lines.splitlines():
        if output := re.match(r"(\.\S+) +0x", line):
            kind = output[1]
        found = re.match(r" \S+ +0x([0-9a-f]+) +0x([0-9a-f]+) (/.+)$", line)
        if found and counts(kind):
            part = next((name for name, path in PARTS if re.search(path, found[3])), None)
            if part is None:
                raise SystemExit(f"size.py doesn't know whose this is: {found[3]}")
            yield int(found[1], 16), int(found[2], 16), part


def parts(text):
    """The bytes of each part."""
    sizes = collections.Counter()
    # What begins as zeros is not in the file.
    for _, size, part in sections(text, lambda kind: kind not in (".bss", ".tbss") and not table_of(kind)):
        sizes[part] += size
    return sizes


def linker_map(root):
    """The map that gold writes of the tool, which it links again to the same bytes."""
    tool = root / ".build/release/migrationkit-cli"
    size = tool.stat().st_size
    build = subprocess.run(
        ["make", "--silent", "--dry-run", "build"],
        cwd=root, check=True, capture_output=True, text=True,
    ).stdout
    command = build[build.index("swift build"):].replace("\\\n", " ").strip()
    with tempfile.TemporaryDirectory() as folder:
        written = pathlib.Path(folder) / "map"
        subprocess.run(
            f"{command} -Xlinker -Map={written}",
            shell=True, cwd=root, check=True, stdout=subprocess.DEVNULL,
        )
        text = written.read_text(errors="replace")
    assert tool.stat().st_size == size, "with a map, the linker writes another file"
    return text


def measure(root):
    """The bytes of the packages, of the tool, and of its parts."""
    subprocess.run(["make", "deb", "tarball"], cwd=root, check=True, stdout=subprocess.DEVNULL)
    tool = root / ".build/release/migrationkit-cli"
    size = tool.stat().st_size
    sizes = parts(linker_map(root)) + tables(tool)
    packages = sorted((root / ".build/packages").iterdir())
    return {
        "packages": {path.name: path.stat().st_size for path in packages},
        "tool": size,
        "parts": dict(sizes.most_common()) | {REST: size - sizes.total()},
    }


def table(result):
    def row(name, size):
        return f"| {name} | {size / 1e6:.2f} MB |"

    rows = [row(f"`{name}`", size) for name, size in result["packages"].items()]
    rows += [row("`migrationkit-cli`", result["tool"])]
    rows += [row(f"  of which {name}", size) for name, size in result["parts"].items()]
    return "\n".join(
        [
            "### Size", "",
            f"{result['date']}, {result['system']}. Built by `make deb tarball`; a MB is 1,000,000 bytes.",
            "", "| | size |", "| --- | --: |", *rows,
        ]
    ) + "\n"
