"""
Check that every fence declares its fate in a form that the tests, the site and the linter understand.

The root folder arrives; findings leave. What the fences do when they run is for `tests/pages/`.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from scripts.pack import files
from scripts.text import markdown
from scripts.text.finding import Finding

OPTIONS = {"excerpt", "raises", "requires", "mode", "title"}
LANGUAGES = {
    "python",
    "scala",
    "java",
    "sql",
    "bash",
    "json",
    "yaml",
    "toml",
    "text",
    "mermaid",
    "markdown",
    "xml",
    "ini",
}
MODES = {"micro-batch", "continuous", "batch"}
LARGEST_REQUIRES_SHARE = 0.03


def check_fences(root: Path) -> Iterator[Finding]:
    """Yield fences that the site would not render, that nobody would run or that fate nobody knows."""
    python = required = 0
    where = (files.SKILL, 1)
    for path in files.pages(root):
        name = files.relative(root, path)
        for fence in markdown.fences(path.read_text(encoding="utf-8")):
            for what, remedy in _objections(fence):
                yield Finding(name, fence.line, "fence", what, remedy)
            python += fence.is_python
            if "requires" in fence.options:
                required, where = required + 1, (name, fence.line)
    if required > LARGEST_REQUIRES_SHARE * python:
        what = f"{required} of {python} Python fences need Databricks, so nothing here proves them"
        what += f"; at most {LARGEST_REQUIRES_SHARE:.0%} may"
        yield Finding(*where, "fence", what, "write it so that open-source Spark runs it, or as text")


def _objections(fence: markdown.Fence) -> Iterator[tuple[str, str]]:
    if fence.language not in LANGUAGES:
        yield f"has the language {fence.language!r}", f"use one of {', '.join(sorted(LANGUAGES))}"
    if fence.options and "{" not in fence.info:
        yield f"has options outside of braces, {fence.info!r}, so the site shows it as plain text", "put them in braces"
    yield from _option_objections(fence.options)
    if fence.is_python and "excerpt" not in fence.options:
        try:
            ast.parse(fence.code)
        except SyntaxError as error:
            yield f"is not Python: {error.msg} in its line {error.lineno}", "correct it, or call it text"


def _option_objections(options: dict[str, str]) -> Iterator[tuple[str, str]]:
    if unknown := set(options) - OPTIONS:
        yield f"has unknown options {sorted(unknown)}", f"use {', '.join(sorted(OPTIONS))}"
    if options.get("requires", "databricks") != "databricks":
        yield f"requires {options['requires']!r}", "only databricks can be required; all else runs here"
    if options.get("mode", "batch") not in MODES:
        yield f"has the mode {options['mode']!r}", f"use one of {', '.join(sorted(MODES))}; real-time is the default"
    if len({"excerpt", "raises", "requires"} & set(options)) > 1:
        yield "declares more than one fate", "keep one of excerpt, raises, requires"
