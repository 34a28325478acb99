"""
Find words banned by the house style in page text, and in docstrings, comments and strings of Python files.

`wording.json` lists the words as regular expressions, each with its replacement; `_` matches white space.
Code in pages is not checked.
"""

import io
import json
import re
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path

from scripts.pack import files
from spark_rtm.text import markdown
from spark_rtm.text.finding import Finding

WORDING_FILE = "scripts/pack/wording.json"
# The changelog quotes old names and messages.
EXEMPT_PAGES = {"CHANGELOG.md"}
# In Python 3.12 and later, the text of an f-string has a separate token type.
TEXT_TOKENS = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
# A phrase may continue on the next line of a page, docstring or comment, or in the next adjacent string literal.
GAP = r"""(?:[ "']*\n[ >#]*(?:f?["'])?[ ]*|[ ]+)"""


def check_wording(root: Path) -> Iterator[Finding]:
    """Yield each banned phrase with its replacement."""
    entries = json.loads((root / WORDING_FILE).read_text(encoding="utf-8"))
    banned = [(_compiled(entry["pattern"]), entry["use"]) for entry in entries]
    any_banned = _compiled("|".join(entry["pattern"] for entry in entries))
    for path, read_text in _sources(root):
        source = path.read_text(encoding="utf-8")
        # Blanking the code of a file takes much longer than searching the file, and few files contain a phrase.
        text = read_text(source) if any_banned.search(source) else ""
        for pattern, replacement in banned:
            for match in pattern.finditer(text):
                phrase = re.sub(GAP, " ", match[0])
                line = text.count("\n", 0, match.start()) + 1
                problem = f"{phrase!r} is not house style"
                yield Finding(files.relative(root, path), line, "wording", problem, f"write {replacement!r}")


def text_of_page(page: str) -> str:
    """Return a page with its fences and inline code blanked; line numbers do not change."""
    return "\n".join(markdown.replace_code_spans(line, lambda _: "``") for line in markdown.prose(page))


def text_of_module(source: str) -> str:
    """Return a module with everything except comments and strings blanked; line numbers do not change."""
    lines = source.splitlines(keepends=True)
    kept = [[character if character == "\n" else " " for character in line] for line in lines]
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in TEXT_TOKENS:
            for number in range(token.start[0], token.end[0] + 1):
                start = token.start[1] if number == token.start[0] else 0
                end = token.end[1] if number == token.end[0] else len(lines[number - 1])
                kept[number - 1][start:end] = lines[number - 1][start:end]
    return "".join("".join(line) for line in kept)


def _sources(root: Path) -> Iterator[tuple[Path, Callable[[str], str]]]:
    """Yield each file to check, with the function that blanks its code."""
    for page in sorted({*files.pages(root), *root.glob("*.md")}):
        if page.name not in EXEMPT_PAGES:
            yield page, text_of_page
    for module in [*files.modules(root), *files.tools(root)]:
        yield module, text_of_module


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{pattern.replace('_', GAP)})\b", re.IGNORECASE)
