"""Parse Markdown, find the line numbers of matches, and render findings."""

import re
from collections.abc import Iterator


def numbered(pattern: re.Pattern[str], text: str, group: int = 0) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield each match of `pattern`, with the line number at which the match group begins."""
    line, position = 1, 0
    for match in pattern.finditer(text):
        line += text.count("\n", position, match.start(group))
        position = match.start(group)
        yield line, match
