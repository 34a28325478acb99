"""
The `errors` command: find the cause and fix of a pasted exception, an error condition or a described error.

Exceptions are looked up by their names and messages, descriptions by their words. An exception without a known name is
not looked up by its words, so it never gets the explanation of another error.
"""

import json
import re
import sys
import textwrap
from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from spark_rtm import page
from spark_rtm.command_line import Argument
from spark_rtm.program import Command, UsageError
from spark_rtm.text import explanations
from spark_rtm.text.explanations import CLASS_POINTS, NAME, KnownError, Section

TOKEN = re.compile(r"[A-Za-z0-9_.$]+")
MARKS = ("Exception", "Error", "_", ".errors.")
"""Each name of an error in a longer text contains one of these."""
LIBRARY_CLASS = re.compile(r"(?:\w+\.)+errors\.[A-Z]\w+")
"""Pattern for exception classes of Kafka and psycopg whose names do not end with `Exception` or `Error`."""
SQLSTATE = re.compile(r"SQL_?STATE[:= ]{0,3}([0-9A-Z]{5})(?![0-9A-Za-z_])", re.IGNORECASE)
PACKAGES = re.compile(r"^[^.]+$|^java\.(?:io|lang)\.|^org\.apache\.|fasterxml|kafka|psycopg")
"""Pattern for classes that the pages explain; `java.util.concurrent.TimeoutException` is not Kafka's class."""
MAX_NAME = 200
WEAK = {"PYTHON_EXCEPTION", "Your own function raised an exception"}
"""Errors that come first only if the text contains no other known error."""
COMMON_CLASSES = {"ChecksumException", "EOFException", "ImportError", "JsonParseException", "MismatchedInputException"}
COMMON_CLASSES |= {"NoClassDefFoundError", "TypeError"}
"""Classes that other programs raise, too. In a longer text, their message must also match."""
TRACE = re.compile(
    r"\[[A-Z][A-Z0-9_.]+\]|^\s*\S*[A-Z0-9]_[A-Z0-9]\S*\s*$|[a-z](?:Exception|Error)|Traceback |^\s+at ", re.MULTILINE
)
"""Pattern that distinguishes a pasted exception or a name from a description."""
ATOM = re.compile(r"[a-z0-9_]+")
INDENTED: dict[str, Any] = {"initial_indent": "  ", "subsequent_indent": "  "}
INDENTED |= {"break_on_hyphens": False, "break_long_words": False}
LINK = re.compile(r" \((references/\w+\.md(?:#[\w-]+)?)\)")
DATA = Path(__file__).with_name("errors.json")
SECTION = "section of a page"
"""What the answer shows instead of an engine if it is a section."""
DEFAULT_PAGE = "references/errors.md"
MAX_BYTES = 2_000_000
# The site's `error_finder.js` repeats these numbers and `find`. A test compares the results.
MAX_FOUND = 4
FAMILY_POINTS, MESSAGE_POINTS = 5, 4
MAX_DISTANCE = 2
"""Maximum difference between the best score and a reported error's score."""
MAX_GAP = 300
"""Maximum number of characters that replace a placeholder in a message."""
MAX_TRIES = 20
"""Maximum number of places where a message is compared, so the work is proportional to the length of the text."""
MAX_WORDS = 60
"""Maximum number of words of a description."""
MIN_SHARED = 0.5
"""Minimum weighted share of a description's words that the error of a section must contain."""
DESCRIPTION = """Find the cause and the fix of an error.

TEXT is a pasted exception, the name of a condition, or a few words such as "topic was deleted and created again".

exit status:
  0  at least one error matches
  1  no error matches
  2  a usage error"""


@cache
def _data() -> Any:
    return json.loads(DATA.read_text(encoding="utf-8"))


@cache
def known() -> tuple[KnownError, ...]:
    """Return all documented errors in page order, followed by the families of errors."""
    return tuple(KnownError(**{**entry, "messages": tuple(entry["messages"])}) for entry in _data()["errors"])


@cache
def sections() -> tuple[Section, ...]:
    """Return the sections of all pages."""
    return tuple(Section(**entry) for entry in _data()["sections"])


@cache
def _weights() -> dict[str, float]:
    return explanations.weights(sections())


def page_of(condition: str) -> str:
    """Return the page section that explains a condition, or the page of all errors."""
    return next((each.page for each in known() if each.condition == condition), DEFAULT_PAGE)


def find(text: str) -> list[KnownError]:
    """
    Return the errors that match a text, best first.

    In a stack trace, the cause comes last, so the section of the last known name or message comes first. Words are
    compared only if the text is short and contains no name of an error.
    """
    flat = " ".join(text.split())
    places, words = names(flat), set(ATOM.findall(flat.lower()))
    matches = _matches(flat, places, words)
    if not matches:
        is_description = not places and len(words) <= MAX_WORDS and not TRACE.search(text)
        return _by_words(text) if is_description else []
    causes = [match.start() for match in re.finditer("Caused by:", flat)]
    depths: dict[str, int] = {}
    for each, (_, place) in matches.items():
        depth = -1 if each.condition in WEAK else bisect(causes, place)
        depths[each.page] = max(depths.get(each.page, -1), depth)
    ranks = {
        each: (depths[each.page], points, sum(name in words for name in each.identifiers), place)
        for each, (points, place) in matches.items()
    }
    ranked = sorted(ranks, key=lambda each: ranks[each], reverse=True)
    depth, points, *_ = ranks[ranked[0]]
    near = [each for each in ranked if ranks[each][0] == depth and ranks[each][1] >= points - MAX_DISTANCE]
    return near[:MAX_FOUND]


def names(flat: str) -> dict[str, int]:
    """Return the names of errors, each with the index of its last occurrence. A condition can be in brackets."""
    is_name = len(flat) <= MAX_NAME and TOKEN.fullmatch(flat) and _named(flat)
    found = {flat: 0} if is_name else {}
    for word in re.finditer(r"\S+", flat):
        if not any(mark in word[0] for mark in MARKS):
            continue
        for match in TOKEN.finditer(word[0]):
            name = match[0].strip(".")
            if len(name) <= MAX_NAME and (NAME.fullmatch(name) or LIBRARY_CLASS.fullmatch(name)):
                is_in_brackets = word[0][match.start() - 1 : match.start()] == "["
                found[f"[{name}]" if is_in_brackets else name] = word.start() + match.start()
    if any(name.startswith("[") for name in found):  # Spark prints the SQLSTATE of each condition
        return found
    return found | {f"SQLSTATE {match[1]}": match.start() for match in SQLSTATE.finditer(flat)}


@cache
def _by_name() -> dict[str, list[KnownError]]:
    found: dict[str, list[KnownError]] = {}
    for each in known():
        for name in each.names:
            found.setdefault(name, []).append(each)
    return found


def _named(name: str) -> list[tuple[KnownError, int]]:
    """Return the errors with a name, or else the first family of the name, each with its points."""
    bare = name.strip("[]")
    is_class = any(letter.islower() for letter in bare)
    if is_class:
        own = _by_name().get(bare.rpartition(".")[2], []) if PACKAGES.search(bare) else []
    else:
        full = _by_name().get(bare, []) + _by_name().get(bare.partition(".")[0], [])
        own = [each for each in full if not name.startswith("[") or bare.startswith(each.condition)]
    if own:
        return [(each, each.points) for each in own]
    points = CLASS_POINTS if is_class else FAMILY_POINTS
    state = f"SQLSTATE {bare}"
    families = (each for each in known() if each.family and any(re.fullmatch(each.family, n) for n in (bare, state)))
    return [(each, points) for each in families][:1]


def _matches(flat: str, places: dict[str, int], words: set[str]) -> dict[KnownError, tuple[int, int]]:
    """Return the errors whose name or message is in the text, each with its points and its last place."""
    low, found = flat.lower(), dict[KnownError, tuple[int, int]]()
    for name, place in places.items():
        for each, points in _named(name):
            found[each] = (points, max(place, found.get(each, (0, -1))[1]))
    for each in known():
        place = max((_last(low, parts) for parts, whole in each.parts if whole <= words), default=-1)
        if place >= 0:
            points, earlier = found.get(each, (0, -1))
            found[each] = (points + MESSAGE_POINTS, max(place, earlier))
        elif each in found and each.condition in COMMON_CLASSES and flat not in places:
            del found[each]
    return found


def _last(text: str, parts: list[str]) -> int:
    """Return the last place of the parts in order, with at most `MAX_GAP` characters between them, or -1."""
    start = len(text)
    for _ in range(MAX_TRIES):
        start = text.rfind(parts[0], 0, start + len(parts[0]) - 1)
        if start < 0:
            break
        end = start + len(parts[0])
        for part in parts[1:]:
            place = text.find(part, end, end + MAX_GAP + len(part))
            if place < 0:
                break
            end = place + len(part)
        else:
            return start
    return -1


def _by_words(text: str) -> list[KnownError]:
    """Return the sections that a description matches best, or the errors in them that share its words."""
    terms = explanations.terms_of(text, _weights(), _data()["synonyms"])
    return [_answer(section, terms) for section in explanations.rank(sections(), terms)[:MAX_FOUND]]


def _answer(section: Section, terms: list[list[tuple[str, float]]]) -> KnownError:
    """Return the error of a section that shares at least half of a description's words, or else the section."""
    rows = [each for each in known() if each.page == section.page and not each.family]
    shared = [explanations.covered(terms, each.stems.__contains__) for each in rows]
    if rows and max(shared) >= MIN_SHARED * explanations.covered(terms, lambda _: 1.0):
        return rows[shared.index(max(shared))]
    return KnownError(section.title, SECTION, section.title, section.page, (), section.lead)


@dataclass(frozen=True)
class Options:
    """Arguments of the `errors` command."""

    text: Annotated[tuple[str, ...], Argument("TEXT", is_positional=True)]
    """The exception or description; `-` reads standard input."""


def run(options: Options) -> int:
    """Print the errors that match the text, and return the exit status."""
    text = _standard_input() if options.text == ("-",) else " ".join(options.text)
    found = find(text)
    for line in _lines(found) if found else [_unexplained(text)]:
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
        yield from textwrap.wrap(LINK.sub(lambda link: f" ({page(link[1])})", each.fix), 100, **INDENTED)
        yield f"  {page(each.page)}"


def _unexplained(text: str) -> str:
    flat = " ".join(text.split())
    place = max(names(flat).values(), default=-1)
    subject = "this text" if place < 0 else flat[place : place + MAX_NAME]
    subject = "".join(letter if letter.isprintable() else "?" for letter in subject)
    return f"no page explains {subject}; read {page('references/debugging.md')}"


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
