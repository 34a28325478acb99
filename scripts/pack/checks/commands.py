"""
Check that each command of this repository that is printed in pages, charts and measurements exists.

A command is a make target, a module, or a command of `rtm`. A removed command may stay next to its numbers if the line
names a commit that contains the command, for example "the benchmark `tuning` of commit 2fbeee87".
"""

import re
from collections.abc import Iterator
from pathlib import Path

from benchmarks import registry
from scripts.pack import files
from spark_rtm.cli import RTM
from spark_rtm.text import markdown
from spark_rtm.text.finding import Finding

OF_THE_PACK = ("install", "generate", "validate")
ROOTS = ("spark_rtm", "examples", "benchmarks", "scripts", "evals", "tests")
_TARGET = re.compile(r"^([a-z][a-z-]*):", re.MULTILINE)
_MAKE = re.compile(r"(?:^|[;&|>\"$`]) *(?:[A-Z_]+=\S+ )*make (?P<name>[a-z][a-z-]*[a-z])(?![\w-])", re.MULTILINE)
_MODULE = re.compile(rf"python3? -m (?P<name>(?:{'|'.join(ROOTS)})(?:\.\w+)*\b)(?: (?P<argument>[a-z][a-z-]+))?")
_RTM = re.compile(r"(?<![\w./-])(?:rtm|python3? scripts/skills\.py) (?P<name>[a-z]+)(?![\w-])")
_COMMIT = re.compile(r"\bcommit `?[0-9a-f]{7,40}\b")
_REMEDY = "use an existing command, or add a commit with the command, as in `the benchmark tuning of commit 2fbeee87`"


def check_commands(root: Path) -> Iterator[Finding]:
    """Yield a finding for each printed command that does not exist and has no commit on its line."""
    targets = set(_TARGET.findall((root / "Makefile").read_text(encoding="utf-8")))
    measured = (path for path in files.files_below(root / "references") if path.suffix in {".json", ".svg"})
    for path in (*files.linked_pages(root), *measured):
        if path.name == "CHANGELOG.md":
            continue
        text = path.read_text(encoding="utf-8")
        for number, line in enumerate(_printed(text) if path.suffix == ".md" else text.splitlines(), 1):
            for command in () if _COMMIT.search(line) else _missing(root, line, targets):
                yield Finding(files.relative(root, path), number, "command", f"`{command}` does not exist", _REMEDY)


def _printed(text: str) -> list[str]:
    """Return the lines of a page without the prose between code spans, which may use `make` as a word."""
    fenced = {n for fence in markdown.fences(text) for n in range(fence.line, fence.end_line + 1)}
    return [
        line if number in fenced else " ".join(["", *re.findall(r"`[^`]+`|\bcommit `?[0-9a-f]{7,40}\b", line)])
        for number, line in enumerate(text.splitlines(), 1)
    ]


def _missing(root: Path, line: str, targets: set[str]) -> Iterator[str]:
    for match in _MAKE.finditer(line):
        if match["name"] not in targets:
            yield f"make {match['name']}"
    for match in _RTM.finditer(line):
        if match["name"] not in {*RTM.names, *OF_THE_PACK}:
            yield match[0]
    for match in _MODULE.finditer(line):
        path = root / match["name"].replace(".", "/")
        is_module = path.with_suffix(".py").is_file() or (path / "__main__.py").is_file()
        is_unknown = match["name"] == "benchmarks" and (match["argument"] or "latency") not in registry.MODULES
        if not is_module or is_unknown:
            yield match[0]
