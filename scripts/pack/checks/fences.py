"""
Parse every code fence, and require warnings about commands that run until they are interrupted.

The tests in `tests/pages/` run the fences.
"""

import ast
import re
from collections.abc import Iterator
from itertools import dropwhile, takewhile
from pathlib import Path

from scripts.pack import files
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
    """Yield findings about unknown languages, invalid options or Python, and too many fences that need Databricks."""
    fences = [(files.relative(root, path), fence) for path in files.pages(root) for fence in _fences(path)]
    for name, fence in fences:
        for problem, remedy in _problems(fence):
            yield Finding(name, fence.line, "fence", problem, remedy)
    required = [(name, fence.line) for name, fence in fences if "requires" in fence.options]
    python = sum(fence.is_python for _, fence in fences)
    if len(required) > MAX_REQUIRES_SHARE * python:
        problem = f"{len(required)} of {python} Python fences require Databricks, so no test runs them"
        remedy = f"keep at most {MAX_REQUIRES_SHARE:.0%}: rewrite this fence for open-source Spark or mark it as text"
        yield Finding(*required[-1], "fence", problem, remedy)


def check_blocking(root: Path) -> Iterator[Finding]:
    """Yield commands that block the reader's shell without a warning on the same line or next to the fence."""
    blocking = re.compile(_blocking(root), re.MULTILINE)
    for path in files.pages(root):
        page = path.read_text(encoding="utf-8").splitlines()
        for fence in (fence for fence in _fences(path) if "raises" not in fence.options):
            for number, line in enumerate(fence.code.splitlines(), fence.first_code_line):
                beside = [*_paragraph(page[: fence.line - 1][::-1]), *_paragraph(page[fence.end_line :]), line]
                if blocking.search(line) and not any(map(SAYS_SO.search, beside)):
                    problem = f"the command {line.strip()[:60]!r} blocks the reader's shell without a warning"
                    remedy = "write `until Ctrl-C` next to the command, or append `&` to the command"
                    yield Finding(files.relative(root, path), number, "blocking", problem, remedy)


def _fences(path: Path) -> tuple[markdown.Fence, ...]:
    return markdown.fences(path.read_text(encoding="utf-8"))


def _blocking(root: Path) -> str:
    """Return a pattern for commands that run until Ctrl-C according to docstrings and the help of `make`."""
    paths = [path for path in files.modules(root) if UNTIL.search(path.read_text(encoding="utf-8"))]
    names = [
        files.relative(root, path).removesuffix(".py").removesuffix("/__main__").replace("/", ".") for path in paths
    ]
    modules = [rf"python -m {re.escape(name)}\b(?![.\w])" for name in names if name != WITHOUT_ARGUMENTS]
    targets = [rf"^make {name}\b" for name in TARGET.findall((root / "Makefile").read_text(encoding="utf-8"))]
    alone = rf"^python -m {WITHOUT_ARGUMENTS}\s*(?:#|$)"
    return "|".join([*modules, *targets, alone, r"--duration 0\b|\bDURATION=0\b", WAITS])


def _paragraph(lines: list[str]) -> Iterator[str]:
    """Yield the lines of the first paragraph in `lines`."""
    return takewhile(str.strip, dropwhile(lambda line: not line.strip(), lines))


def _problems(fence: markdown.Fence) -> Iterator[tuple[str, str]]:
    options, engine, mode = fence.options, fence.options.get("requires"), fence.options.get("mode")
    unknown = sorted(set(options) - FENCE_OPTIONS)
    problems = (
        (
            fence.language not in LANGUAGES,
            f"has the unknown language {fence.language!r}",
            f"use one of {', '.join(sorted(LANGUAGES))}",
        ),
        (
            options and "{" not in fence.info,
            f"has options outside braces, {fence.info!r}, so the site shows it as plain text",
            "put the options in braces",
        ),
        (unknown, f"has unknown options: {', '.join(unknown)}", f"use {', '.join(sorted(FENCE_OPTIONS))}"),
        (
            engine not in (None, "databricks"),
            f"requires {engine!r}",
            'write requires="databricks", or remove the option and make the fence run in the tests',
        ),
        (
            mode not in (None, *MODES),
            f"has the unknown mode {mode!r}",
            f"use one of {', '.join(sorted(MODES))}; the default is real-time",
        ),
        (
            len({"excerpt", "raises", "requires"} & set(options)) > 1,
            "has more than one of the options excerpt, raises, requires",
            "keep one of these options",
        ),
    )
    yield from ((problem, remedy) for is_wrong, problem, remedy in problems if is_wrong)
    if fence.is_python and "excerpt" not in options:
        try:
            ast.parse(fence.code)
        except SyntaxError as error:
            problem = f"is not valid Python: {error.msg} on line {error.lineno} of the fence"
            yield problem, "correct the code or mark the fence as text"
