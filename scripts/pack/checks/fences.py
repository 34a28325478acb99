"""
Check that every code fence can be parsed, and that pages warn about commands that run until they are interrupted.

This module only parses the fences. The tests in `tests/pages/` run them.
"""

import ast
import re
from collections.abc import Iterator
from itertools import dropwhile, takewhile
from pathlib import Path

from scripts.pack import files, parsed
from spark_rtm.text import markdown
from spark_rtm.text.finding import Finding

FENCE_OPTIONS = {"excerpt", "raises", "requires", "mode", "title"}
LANGUAGES = {"python", "scala", "java", "sql", "bash", "json", "yaml", "toml", "text", "mermaid", "markdown"}
MODES = {"micro-batch", "continuous", "batch"}
MAX_REQUIRES_SHARE = 0.03
UNTIL = re.compile(r'"""[^"]*\buntil Ctrl-C')
TARGET = re.compile(r"^([\w-]+):.*## .*\buntil Ctrl-C", re.MULTILINE)
WAITS = r"(?:^keep|\.awaitTermination|\.awaitAnyTermination)\((?:\)|[a-z])"
# With an argument, this module only prepares files.
WITHOUT_ARGUMENTS = "spark_rtm.services"
SAYS_SO = re.compile(r"Ctrl-C|\bblocks\b|&$")


def check_fences(root: Path) -> Iterator[Finding]:
    """
    Yield fences with an unknown language, invalid options or invalid Python.

    Also yield a finding if the share of Python fences that require Databricks is above the limit.
    """
    python_fences = required_fences = 0
    last_required = (files.SKILL, 1)
    for path in files.pages(root):
        name = files.relative(root, path)
        for fence in parsed.fences(path.read_text(encoding="utf-8")):
            for problem, remedy in _problems(fence):
                yield Finding(name, fence.line, "fence", problem, remedy)
            python_fences += fence.is_python
            if "requires" in fence.options:
                required_fences += 1
                last_required = (name, fence.line)
    if required_fences > MAX_REQUIRES_SHARE * python_fences:
        problem = f"{required_fences} of {python_fences} Python fences require Databricks, so no test runs them"
        remedy = f"keep at most {MAX_REQUIRES_SHARE:.0%}: rewrite this fence for open-source Spark or mark it as text"
        yield Finding(*last_required, "fence", problem, remedy)


def check_blocking(root: Path) -> Iterator[Finding]:
    """Yield commands that block the reader's shell without a warning on the same line or next to the fence."""
    blocking = re.compile(_blocking(root), re.MULTILINE)
    for path in files.pages(root):
        text = path.read_text(encoding="utf-8")
        for fence in parsed.fences(text):
            if "raises" in fence.options:
                continue
            for number, line in enumerate(fence.code.splitlines(), fence.first_code_line):
                if blocking.search(line) and not SAYS_SO.search(f"{_beside(fence, text)}\n{line}"):
                    problem = f"the command {line.strip()[:60]!r} blocks the reader's shell without a warning"
                    remedy = "write `until Ctrl-C` next to the command, or run it with `&`"
                    yield Finding(files.relative(root, path), number, "blocking", problem, remedy)


def _blocking(root: Path) -> str:
    """
    Return a regular expression for commands that run until Ctrl-C.

    The docstrings of modules and the help of `make` state which commands these are.
    """
    paths = [path for path in files.modules(root) if UNTIL.search(path.read_text(encoding="utf-8"))]
    names = [
        files.relative(root, path).removesuffix(".py").removesuffix("/__main__").replace("/", ".") for path in paths
    ]
    modules = [rf"python -m {re.escape(name)}\b(?![.\w])" for name in names if name != WITHOUT_ARGUMENTS]
    targets = [rf"^make {name}\b" for name in TARGET.findall((root / "Makefile").read_text(encoding="utf-8"))]
    alone = rf"^python -m {WITHOUT_ARGUMENTS}\s*(?:#|$)"
    return "|".join([*modules, *targets, alone, r"--duration 0\b|\bDURATION=0\b", WAITS])


def _beside(fence: markdown.Fence, text: str) -> str:
    """Return the paragraphs before and after a fence. The lines of the paragraph before it are in reverse order."""
    lines = text.splitlines()
    return "\n".join([*_paragraph(lines[: fence.line - 1][::-1]), *_paragraph(lines[fence.end_line :])])


def _paragraph(lines: list[str]) -> Iterator[str]:
    """Yield the lines of the first paragraph in `lines`."""
    return takewhile(str.strip, dropwhile(lambda line: not line.strip(), lines))


def _problems(fence: markdown.Fence) -> Iterator[tuple[str, str]]:
    if fence.language not in LANGUAGES:
        yield f"has the unknown language {fence.language!r}", f"use one of {', '.join(sorted(LANGUAGES))}"
    if fence.options and "{" not in fence.info:
        yield (
            f"has options outside braces, {fence.info!r}, so the site shows it as plain text",
            "put the options in braces",
        )
    yield from _option_problems(fence.options)
    if fence.is_python and "excerpt" not in fence.options:
        try:
            ast.parse(fence.code)
        except SyntaxError as error:
            yield (
                f"is not valid Python: {error.msg} on line {error.lineno} of the fence",
                "correct the code or mark the fence as text",
            )


def _option_problems(options: dict[str, str]) -> Iterator[tuple[str, str]]:
    if unknown := set(options) - FENCE_OPTIONS:
        yield f"has unknown options: {', '.join(sorted(unknown))}", f"use {', '.join(sorted(FENCE_OPTIONS))}"
    if options.get("requires", "databricks") != "databricks":
        yield (
            f"requires {options['requires']!r}",
            'write requires="databricks", or remove the option and make the fence run in the tests',
        )
    if options.get("mode", "batch") not in MODES:
        yield (
            f"has the unknown mode {options['mode']!r}",
            f"use one of {', '.join(sorted(MODES))}; the default is real-time",
        )
    if len({"excerpt", "raises", "requires"} & set(options)) > 1:
        yield "has more than one of the options excerpt, raises, requires", "keep one of these options"
