"""
Check `SKILL.md` and all pages against their size limits.

Every token of a page takes up space in the assistant's context window, so exceeding a limit is an error.
"""

from collections.abc import Iterator
from pathlib import Path

from scripts.pack import files
from spark_rtm.text import markdown
from spark_rtm.text.finding import Finding

MAX_SKILL_LINES = 150
# These three may only shrink.
MAX_SKILL_BYTES = 11_000
MAX_PAGES = 40
MAX_PAGES_BYTES = 420_000
MAX_SKILL_FENCE_LINES = 10
MAX_PAGE_LINES = 200
MAX_LINES_WITHOUT_CONTENTS = 120


def check_budgets(root: Path) -> Iterator[Finding]:
    """Yield findings about exceeded limits of pages and `SKILL.md`, and about long pages without a contents list."""
    references = files.references(root)
    size = sum(path.stat().st_size for path in references)
    skill = (root / files.SKILL).read_text(encoding="utf-8")
    for name, number, limit, unit, remedy in (
        ("references", len(references), MAX_PAGES, "pages", "answer the question on the most closely related page"),
        ("references", size, MAX_PAGES_BYTES, "bytes", "answer the question on the most closely related page"),
        (files.SKILL, len(skill.encode()), MAX_SKILL_BYTES, "bytes", "move details to a page under references/"),
    ):
        if number > limit:
            yield Finding(name, 1, "budget", f"has {number} {unit}, more than the {limit} allowed", remedy)
    for fence in markdown.fences(skill):
        if (lines := fence.code.count("\n")) > MAX_SKILL_FENCE_LINES:
            problem = f"a fence has {lines} lines, more than the {MAX_SKILL_FENCE_LINES} allowed"
            yield Finding(files.SKILL, fence.line, "budget", problem, "move it to a page or a module and link it")
    for path in files.pages(root):
        name, text = files.relative(root, path), path.read_text(encoding="utf-8")
        lines = len(text.splitlines())
        limit = MAX_SKILL_LINES if name == files.SKILL else MAX_PAGE_LINES
        if lines > limit:
            remedy = "split the page or use a table"
            yield Finding(name, limit + 1, "budget", f"has {lines} lines, more than the {limit} allowed", remedy)
        if name.startswith("references/") and lines > MAX_LINES_WITHOUT_CONTENTS and not _has_contents(text):
            problem = f"has {lines} lines but no table of contents before its second heading"
            yield Finding(name, 1, "contents", problem, "add a list of links to its sections")


def _has_contents(text: str) -> bool:
    second = next((heading.line for heading in markdown.headings(text) if heading.level > 1), 0)
    return not second or any(link.target.startswith("#") and link.line < second for link in markdown.links(text))
