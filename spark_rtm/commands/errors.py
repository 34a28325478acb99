"""The command `errors`: find the cause and the fix of a pasted exception, a condition or a description."""

import json
import re
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import log
from pathlib import Path
from typing import Annotated

from spark_rtm.command_line import Argument
from spark_rtm.program import Command

NAME = re.compile(r"_?[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+(?:\.[A-Z0-9_]+)?|(?:\w+\.)*[A-Z]\w*(?:Exception|Error)")
"""An error condition or a class of exceptions."""
WRAPPERS = {"STREAM_FAILED", "StreamingQueryException", "STREAMING_ASYNC_OPERATION_FAILED"}
PLACEHOLDER = re.compile(r"<\w+>|\.\.\.")
WORD = re.compile(r"[a-z0-9]{3,}")
COMMON = {"the", "and", "not", "with", "was", "are", "for", "from", "that", "this", "has", "have", "its", "can",
          "after", "before", "when", "into", "does", "what", "why", "how", "which", "may"}  # fmt: skip
DATA = Path(__file__).with_name("errors.json")
DEFAULT_PAGE = "references/errors.md"
MAX_FOUND = 4
MIN_SHARE = 0.5
"""Weighted share of the words in a description that an entry must contain."""
DESCRIPTION = """Find the cause and the fix of an error.

TEXT is a pasted exception, the name of a condition, or a few words such as "topic was deleted and created again".

exit status:
  0  something was found
  1  nothing was found
  2  a usage error"""


@dataclass(frozen=True)
class KnownError:
    """An error that a page explains."""

    condition: str
    engine: str
    title: str
    page: str
    messages: tuple[str, ...]
    fix: str

    @property
    def words(self) -> set[str]:
        """The stems of all words in this entry."""
        return stems(" ".join([self.condition.replace("_", " "), self.title, *self.messages, self.fix]))


@cache
def known() -> tuple[KnownError, ...]:
    """Return the errors that the pages explain. `skills.py generate` writes their file."""
    entries = json.loads(DATA.read_text(encoding="utf-8"))
    return tuple(KnownError(**{**entry, "messages": tuple(entry["messages"])}) for entry in entries)


def page_of(condition: str) -> str:
    """Return the page section that explains a condition, or the page of all errors."""
    return next((each.page for each in known() if each.condition == condition), DEFAULT_PAGE)


def find(text: str) -> list[KnownError]:
    """Return the errors that match a text, best first. Words count only if no message, condition or class matches."""
    flat = " ".join(text.split())
    # The innermost failure comes last in a trace.
    scored = [(_score(each, flat), _place(each, flat), each) for each in known()]
    best = max(score for score, _, _ in scored)
    # A message distinguishes causes with the same condition. A class counts only if no message or condition matches.
    ranked = sorted(scored, key=lambda one: (-one[0], -one[1]))
    found = [each for score, _, each in ranked if score > 0 and score >= best - 2]
    return (found or _by_words(text))[:MAX_FOUND]


def _score(each: KnownError, text: str) -> int:
    has_message = any(_contains(text, message) for message in each.messages)
    names = [name for name in (each.condition, each.condition.rpartition(".")[2]) if NAME.fullmatch(name)]
    has_name = each.condition not in WRAPPERS and any(_has_word(text, name) for name in names)
    is_class = any(letter.islower() for letter in each.condition)
    return 4 * has_message + (1 if is_class else 6) * has_name


def _place(each: KnownError, text: str) -> int:
    return max(text.rfind(name) for name in (each.condition, each.condition.rpartition(".")[2] or each.condition))


def _has_word(text: str, name: str) -> bool:
    return re.search(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])", text) is not None


def _contains(text: str, message: str) -> bool:
    parts = [re.escape(part) for part in PLACEHOLDER.split(" ".join(message.split()))]
    return re.search(".{0,300}?".join(parts), text, re.IGNORECASE) is not None


def _by_words(text: str) -> list[KnownError]:
    wanted = stems(text)
    counts = {word: sum(word in each.words for each in known()) for word in wanted}
    weights = {word: log(1 + len(known()) / count) if count else 2.0 for word, count in counts.items()}
    total = sum(weights.values())
    scored = [(sum(weights[word] for word in wanted & each.words), each) for each in known()]
    found = sorted((entry for entry in scored if total and entry[0] >= MIN_SHARE * total), key=lambda one: -one[0])
    return [each for _, each in found]


def stems(text: str) -> set[str]:
    """Return the word stems of a text, without common words."""
    words = {word for word in WORD.findall(text.lower()) if word not in COMMON}
    return {re.sub(r"(?:ied|ies|y)$", "i", re.sub(r"(?:ing|ed|es|s|e)$", "", word)) for word in words}


@dataclass(frozen=True)
class Options:
    """The arguments of `errors`."""

    text: Annotated[tuple[str, ...], Argument("TEXT", is_positional=True)]
    """The exception or description; `-` reads standard input."""


def run(options: Options) -> int:
    """Print the errors that match the text, and return the exit status."""
    text = sys.stdin.read() if options.text == ("-",) else " ".join(options.text)
    found = find(text)
    for line in _lines(found) if found else ["no page explains this text; read references/debugging.md"]:
        print(line)
    return 0 if found else 1


def _lines(found: list[KnownError]) -> Iterator[str]:
    for each in found:
        yield f"{each.condition} ({each.engine})"
        yield from textwrap.wrap(each.fix, 100, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
        yield f"  {each.page}"


COMMANDS = [
    Command(
        "errors",
        "find the cause and the fix of an exception",
        Options,
        run,
        {
            "errors STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE": "by condition",
            "errors - < trace.txt": "by a pasted exception",
            'errors "topic was deleted and created again"': "by a description",
        },
        DESCRIPTION,
    )
]
