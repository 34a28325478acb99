"""Parse Python code, or an excerpt such as a method chain that lacks its receiver or enclosing parentheses."""

import ast
import re
import sys
import textwrap
import warnings
from typing import NamedTuple

from spark_rtm.lint.problem import Problem, UncheckedError
from spark_rtm.lint.spark.scope import FRAGMENT

PYTHON = f"Python {sys.version_info.major}.{sys.version_info.minor}"
MAX_TOKENS = 400_000
"""Maximum number of tokens. The syntax tree of this many tokens takes up to 400 MB."""
MAX_FIELDS = 10_000
"""Maximum number of fields in an f-string, which Python 3.11 parses in quadratic time."""
MAX_SALVAGED = 200_000
"""Maximum length of an incomplete excerpt, which is parsed about six times."""
TOKEN = re.compile(r"\w+|[^\w ]")
F_STRING = re.compile(r"[fF][rR]?(?:\"\"\".*?(?:\"\"\"|\Z)|'''.*?(?:'''|\Z)|\"[^\n\"]*|'[^\n']*)", re.DOTALL)
ABOUT_MODE = re.compile(r"realTime|RealTime")
TIMED = re.compile(r"^(\s*)(?:\w+\s*=\s*)?%(?:time|timeit|prun)\s+")
"""Pattern for a magic that runs the statement on the same line."""
ASSIGNMENT = re.compile(r"^\s*(\w+\s*=(?!=)\s*)?(.*)$")


class Parsed(NamedTuple):
    """The parsed code, without prompts and notebook magics."""

    tree: ast.Module | None
    code: str
    lost_at: int = 0
    """First line about real-time mode that is missing from the tree, or 0."""


def parse(code: str, *, is_excerpt: bool) -> Parsed:
    """Parse code. An excerpt that cannot be parsed is completed. Lines outside its tree become empty."""
    if len(code) > MAX_TOKENS and sum(1 for _ in TOKEN.finditer(code)) > MAX_TOKENS:
        raise UncheckedError(f"the code has more than {MAX_TOKENS:,} tokens", "split the file")
    if code.count("{") > MAX_FIELDS and any(each.count("{") > MAX_FIELDS for each in F_STRING.findall(code)):
        raise UncheckedError(f"an f-string has more than {MAX_FIELDS:,} fields", "split the string")
    if (tree := tree_of(code)) is not None:
        return Parsed(tree, code)
    if is_excerpt and len(code) > MAX_SALVAGED:
        raise UncheckedError("the code is incomplete, and too long to be completed", "correct the syntax of the code")
    python = _without_prompts(code)
    tree = tree_of(python)
    return Parsed(tree, python) if tree is not None or not is_excerpt else _completed(textwrap.dedent(python))


def _completed(python: str) -> Parsed:
    if (tree := tree_of(python)) is not None:
        return Parsed(tree, python)
    salvaged = _salvaged(python)
    tree = tree_of(salvaged)
    kept = salvaged.splitlines() if tree else []
    for number, line in enumerate(python.splitlines()):
        is_kept = number < len(kept) and ABOUT_MODE.search(kept[number])
        if ABOUT_MODE.search(line.partition("#")[0]) and not is_kept:
            return Parsed(tree, "\n".join(kept), number + 1)
    return Parsed(tree, "\n".join(kept))


def unparsed(line: int) -> Problem:
    """Return the problem that a line about real-time mode cannot be parsed."""
    return Problem(line, f"{PYTHON} cannot parse this code, so it was not checked", "correct the syntax of the code")


def tree_of(code: str) -> ast.Module | None:
    """Return the code's syntax tree, or None if the code cannot be parsed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _salvaged(code: str) -> str:
    """Complete each paragraph that cannot be parsed, or keep its parsable lines."""
    lines = ["" if line.strip() == "..." else line for line in code.splitlines()]
    start = 0
    while tree_of("\n".join(lines)) is None and start < len(lines):
        end = next((number for number in range(start, len(lines)) if not lines[number].strip()), len(lines))
        lines[start:end] = _salvaged_block(lines[start:end])
        start = end + 1
    return "\n".join(lines)


def _salvaged_block(block: list[str]) -> list[str]:
    plain = textwrap.dedent("\n".join(line.rstrip().removesuffix("\\") for line in block)).splitlines()
    first_dot = next((number for number, line in enumerate(plain) if line.strip().startswith(".")), len(plain))
    chain = _in_brackets(plain[first_dot:], FRAGMENT)
    candidates = [
        textwrap.dedent("\n".join(block)).splitlines(),
        _in_brackets(plain, ""),
        [*plain[:first_dot], *chain],
        [*[""] * first_dot, *chain],
    ]
    if not any("Stream" in line for line in plain[:first_dot]):
        candidates.insert(1, candidates.pop(2))  # the method chain does not continue the preceding lines
    candidates.append([line if tree_of(line) else "" for line in block])
    return next((lines for lines in candidates if tree_of("\n".join(lines))), [""] * len(block))


def _in_brackets(block: list[str], name: str) -> list[str]:
    """Return a method chain in parentheses, with `name` as the receiver if the receiver is missing."""
    codes = [number for number, line in enumerate(block) if line.strip() and not line.strip().startswith("#")]
    if not codes:
        return block
    lines = list(block)
    target, value = ASSIGNMENT.match(lines[codes[0]]).groups()  # type: ignore[union-attr]  # the pattern matches any line
    name = FRAGMENT if value.startswith(".") else name
    name = "_stream" if name and any("writeStream" in line for line in block) else name
    lines[codes[0]] = f"{target or ''}({name}{value}"
    body, sign, comment = lines[codes[-1]].partition("  #")
    missing = max(0, "\n".join(lines).count("(") - "\n".join(lines).count(")") - 1)
    lines[codes[-1]] = f"{body}){')' * min(missing, 2)}{sign}{comment}"
    return lines


def _without_prompts(code: str) -> str:
    """Replace notebook magics and shell commands with empty lines, and remove interactive prompts."""
    lines = code.splitlines()
    first = next((line.lstrip() for line in lines if line.strip()), "")
    is_session = first.startswith(">>> ")
    plain = []
    for each in lines:
        line = TIMED.sub(r"\1", each)
        bare = line.lstrip()
        if bare.startswith(("%", "!")) and not bare.startswith("%="):
            plain.append("")
        elif is_session:
            plain.append(bare[4:] if bare.startswith((">>> ", "... ")) else "")
        else:
            plain.append(line)
    return "\n".join(plain)
