"""The `errors` command: find the cause and fix of a pasted exception, an error condition or a described error."""

import json
import re
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from math import log
from pathlib import Path
from typing import Annotated, Any

from spark_rtm import page
from spark_rtm.command_line import Argument
from spark_rtm.program import Command, UsageError

NAME = re.compile(r"_?[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+(?:\.[A-Z0-9_]+)?|(?:\w+\.)*[A-Z]\w*(?:Exception|Error)")
"""Pattern for an error condition or an exception class."""
WRAPPERS = {"STREAM_FAILED", "StreamingQueryException", "STREAMING_ASYNC_OPERATION_FAILED"}
PLACEHOLDER = re.compile(r"<\w+>|\.\.\.|…")
TRACE = re.compile(r"\[[A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*\]|[A-Za-z0-9](?:Exception|Error)\b")
"""Pattern that distinguishes a pasted exception from a description."""
WORD = re.compile(r"[a-z0-9]{3,}")
COMMON = {"the", "and", "not", "with", "was", "are", "for", "from", "that", "this", "has", "have", "its", "can",
          "after", "before", "when", "into", "does", "what", "why", "how", "which", "may"}  # fmt: skip
IDENTIFIER = re.compile(r"\w*[a-z][A-Z]\w*")
"""Pattern for identifiers in a fix, such as classes and options."""
INDENTED: dict[str, Any] = {"initial_indent": "  ", "subsequent_indent": "  "}
INDENTED |= {"break_on_hyphens": False, "break_long_words": False}
PAGE = re.compile(r"references/\w+\.md(?:#[\w-]+)?")
DATA = Path(__file__).with_name("errors.json")
DEFAULT_PAGE = "references/errors.md"
MAX_BYTES = 2_000_000
# The site's `error_finder.js` repeats these numbers and `find`. A test compares the results.
MAX_FOUND = 4
CONDITION_POINTS, CLASS_POINTS, MESSAGE_POINTS = 6, 1, 4
MAX_DISTANCE = 2
"""Maximum difference between the best score and a reported error's score."""
MAX_GAP = 300
"""Maximum number of characters that replace a placeholder in a message."""
UNKNOWN_WEIGHT = 2.0
MIN_SHARE = 0.5
"""Minimum weighted share of a description's words that an entry must contain."""
DESCRIPTION = """Find the cause and the fix of an error.

TEXT is a pasted exception, the name of a condition, or a few words such as "topic was deleted and created again".

exit status:
  0  at least one error matches
  1  no error matches
  2  a usage error"""


@dataclass(frozen=True)
class KnownError:
    """An error that a documentation page explains."""

    condition: str
    engine: str
    """Engine that raises the error."""
    title: str
    """Title of the section that explains the error."""
    page: str
    """Page and anchor of the section that explains the error."""
    messages: tuple[str, ...]
    """Parts of the engine's message. In an exception, values replace placeholders such as `<className>`."""
    fix: str

    @cached_property
    def names(self) -> list[str]:
        """The full and the short condition name, unless Spark uses the condition only to wrap other exceptions."""
        names = dict.fromkeys((self.condition, self.condition.rpartition(".")[2]))
        return [name for name in names if NAME.fullmatch(name) and self.condition not in WRAPPERS]

    @cached_property
    def points(self) -> int:
        """The score of a matching name. A class name scores only if no message or condition matches."""
        return CLASS_POINTS if any(letter.islower() for letter in self.condition) else CONDITION_POINTS

    @cached_property
    def parts(self) -> list[list[str]]:
        """Each message, split at its placeholders."""
        messages = (PLACEHOLDER.split(" ".join(message.lower().split())) for message in self.messages)
        return [found for parts in messages if (found := [part for part in parts if part])]

    @cached_property
    def identifiers(self) -> list[str]:
        """The identifiers in the fix, which distinguish sections that explain the same condition."""
        return list(dict.fromkeys(IDENTIFIER.findall(self.fix)))

    @cached_property
    def words(self) -> set[str]:
        """The word stems of the error's condition, title, messages and fix."""
        return stems(" ".join([self.condition.replace("_", " "), self.title, *self.messages, self.fix]))


@cache
def known() -> tuple[KnownError, ...]:
    """Return all documented errors, in page order."""
    entries = json.loads(DATA.read_text(encoding="utf-8"))
    return tuple(KnownError(**{**entry, "messages": tuple(entry["messages"])}) for entry in entries)


def page_of(condition: str) -> str:
    """Return the page section that explains a condition, or the page of all errors."""
    return next((each.page for each in known() if each.condition == condition), DEFAULT_PAGE)


def find(text: str) -> list[KnownError]:
    """
    Return the errors that match a text, best first.

    Single words are compared only if no message, condition or class matches.
    """
    flat = " ".join(text.split())
    low = flat.lower()
    places = {each: max((_last(flat, name) for name in each.names), default=-1) for each in known()}
    scores = {
        each: each.points * (place >= 0) + MESSAGE_POINTS * any(_contains(low, parts) for parts in each.parts)
        for each, place in places.items()
    }
    least = max(1, max(scores.values()) - MAX_DISTANCE)
    shared = {each: sum(name in flat for name in each.identifiers) for each in known() if scores[each] >= least}
    # Messages distinguish causes that share a condition. The innermost failure comes last in a stack trace.
    ranked = sorted(shared, key=lambda each: (scores[each], shared[each], places[each]), reverse=True)
    return ranked[:MAX_FOUND] if ranked or TRACE.search(flat) else _by_words(low)


def _last(text: str, name: str) -> int:
    """Return the index of a name's last occurrence as a whole word, or -1."""
    place = text.rfind(name)
    while place >= 0 and (
        _is_inside(text[place - 1 : place]) or _is_inside(text[place + len(name) : place + len(name) + 1])
    ):
        place = text.rfind(name, 0, place + len(name) - 1)
    return place


def _is_inside(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character == "_")


def _contains(text: str, parts: list[str]) -> bool:
    """Return whether the text contains the parts in order, with at most `MAX_GAP` characters between them."""
    start = text.find(parts[0])
    while start >= 0:
        end = start + len(parts[0])
        for part in parts[1:]:
            place = text.find(part, end, end + MAX_GAP + len(part))
            if place < 0:
                break
            end = place + len(part)
        else:
            return True
        start = text.find(parts[0], start + 1)
    return False


@cache
def words() -> dict[str, list[int]]:
    """Return the indexes of the errors that contain each word."""
    found: dict[str, list[int]] = {}
    for number, each in enumerate(known()):
        for word in sorted(each.words):
            found.setdefault(word, []).append(number)
    return found


def _by_words(text: str) -> list[KnownError]:
    """Return the errors that share the most words with a description. Rare words weigh more."""
    scores, total = dict[int, float](), 0.0
    for word in sorted(stems(text)):  # a floating-point sum depends on the order of its terms
        numbers = words().get(word, [])
        weight = log(1 + len(known()) / len(numbers)) if numbers else UNKNOWN_WEIGHT
        total += weight
        for number in numbers:
            scores[number] = scores.get(number, 0.0) + weight
    found = [number for number in sorted(scores) if scores[number] >= MIN_SHARE * total]
    return [known()[number] for number in sorted(found, key=lambda number: -scores[number])[:MAX_FOUND]]


def stems(text: str) -> set[str]:
    """Return the stems of a text's words, except common words."""
    words = set(WORD.findall(text.lower())) - COMMON
    return {re.sub(r"(?:ied|ies|y)$", "i", re.sub(r"(?:ing|ed|es|s|e)$", "", word)) for word in words}


@dataclass(frozen=True)
class Options:
    """Arguments of the `errors` command."""

    text: Annotated[tuple[str, ...], Argument("TEXT", is_positional=True)]
    """The exception or description; `-` reads standard input."""


def run(options: Options) -> int:
    """Print the errors that match the text, and return the exit status."""
    found = find(_standard_input() if options.text == ("-",) else " ".join(options.text))
    for line in _lines(found) if found else [f"no page explains this text; read {page('references/debugging.md')}"]:
        print(line)
    return 0 if found else 1


def _standard_input() -> str:
    text = sys.stdin.buffer.read(MAX_BYTES + 1)
    if len(text) > MAX_BYTES:
        remedy = f"pass the end of the text with `tail -c {MAX_BYTES}`"
        raise UsageError(f"standard input has more than {MAX_BYTES:,} bytes, so nothing was searched; {remedy}")
    return text.decode(errors="replace")


def _lines(found: list[KnownError]) -> Iterator[str]:
    for each in found:
        yield f"{each.condition} ({each.engine})"
        fix = PAGE.sub(lambda place: page(place[0]), each.fix)
        yield from textwrap.wrap(fix, 100, **INDENTED)
        yield f"  {page(each.page)}"


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
