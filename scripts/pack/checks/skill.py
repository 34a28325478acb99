"""
Check `SKILL.md` against the Agent Skills specification, and all pages against their budgets.

The root folder arrives; findings leave. An assistant pays for every token of a page, so the budgets are hard.
Specification: https://agentskills.io/specification (read 2026-11-21); `skills-ref` is its reference implementation.
"""

import math
import tempfile
from collections.abc import Iterator
from pathlib import Path

import skills_ref

from scripts.pack import files
from scripts.text import markdown
from scripts.text.finding import Finding
from scripts.text.frontmatter import read_frontmatter

SKILL_LINES = 150
SKILL_TOKENS = 5_000
SKILL_FENCE_LINES = 10
PAGE_LINES = 200
CONTENTS_FROM_LINES = 120
# Tokenizers differ; Markdown with code has seldom fewer than three characters to a token.
CHARACTERS_PER_TOKEN = 3


def check_frontmatter(root: Path) -> Iterator[Finding]:
    """Yield what the specification's reference implementation objects to, in a folder named as the skill."""
    path = root / files.SKILL
    if not path.is_file():
        yield Finding(files.SKILL, 1, "frontmatter", "does not exist, so no assistant finds the skill", "write it")
        return
    fields = read_frontmatter(path.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / (fields.get("name", "").strip() or "unnamed")
        copy.mkdir(parents=True)
        (copy / files.SKILL).write_bytes(path.read_bytes())
        for objection in skills_ref.validate(copy):
            remedy = "see https://agentskills.io/specification"
            yield Finding(files.SKILL, 1, "frontmatter", objection.replace(folder, ""), remedy)


def check_budgets(root: Path) -> Iterator[Finding]:
    """Yield pages that are too long, and long ones without a contents list."""
    for path in files.pages(root):
        name, text = files.relative(root, path), path.read_text(encoding="utf-8")
        lines = len(text.splitlines())
        limit = SKILL_LINES if name == files.SKILL else PAGE_LINES
        if lines > limit:
            remedy = "split the question or use a table"
            yield Finding(name, limit + 1, "budget", f"has {lines} lines and may have {limit}", remedy)
        if name.startswith("references/") and lines > CONTENTS_FROM_LINES and not _has_contents(text):
            what = f"has {lines} lines and no contents list before its second heading"
            yield Finding(name, 1, "contents", what, "start with a list of links to its sections")
        if name == files.SKILL:
            yield from _check_skill_size(text)


def _check_skill_size(text: str) -> Iterator[Finding]:
    tokens = math.ceil(len(text) / CHARACTERS_PER_TOKEN)
    if tokens > SKILL_TOKENS:
        what = f"has about {tokens} tokens and may have {SKILL_TOKENS}"
        yield Finding(files.SKILL, 1, "budget", what, "move detail to a page under references/")
    for fence in markdown.fences(text):
        if fence.code.count("\n") > SKILL_FENCE_LINES:
            what = f"a fence has {fence.code.count(chr(10))} lines and may have {SKILL_FENCE_LINES}"
            yield Finding(files.SKILL, fence.line, "budget", what, "move it to a page or a module and link it")


def _has_contents(text: str) -> bool:
    second = [heading.line for heading in markdown.headings(text) if heading.level > 1][:1]
    return (
        any(link.target.startswith("#") and link.line < second[0] for link in markdown.links(text)) if second else True
    )
