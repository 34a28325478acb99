"""Parse Python code, or an excerpt such as a method chain without its first object or its parentheses."""

import ast
import re
import textwrap
import warnings

from spark_rtm.lint.rules.rule import UncheckedError
from spark_rtm.lint.spark.scope import FRAGMENT

MAX_TOKENS = 400_000
"""Maximum number of tokens; their syntax tree takes up to 400 MB."""
MAX_FIELDS = 10_000
"""Maximum number of fields of an f-string. Python 3.11 parses them in quadratic time."""
MAX_SALVAGED = 200_000
"""Maximum length of an incomplete excerpt, which is parsed about six times."""
TOKEN = re.compile(r"\w+|[^\w ]")
F_STRING = re.compile(r"[fF][rR]?(?:\"\"\".*?(?:\"\"\"|\Z)|'''.*?(?:'''|\Z)|\"[^\n\"]*|'[^\n']*)", re.DOTALL)
ASSIGNMENT = re.compile(r"^\s*(\w+\s*=(?!=)\s*)?(.*)$")


def parse(code: str, *, is_excerpt: bool) -> tuple[ast.Module | None, str]:
    """Return the syntax tree, or None if parsing fails, and the code without prompts and notebook magics."""
    if len(code) > MAX_TOKENS and sum(1 for _ in TOKEN.finditer(code)) > MAX_TOKENS:
        raise UncheckedError(f"the code has more than {MAX_TOKENS:,} tokens", "split the file")
    if code.count("{") > MAX_FIELDS and any(each.count("{") > MAX_FIELDS for each in F_STRING.findall(code)):
        raise UncheckedError(f"an f-string has more than {MAX_FIELDS:,} fields", "split the string")
    tree = tree_of(code)
    if tree is not None:
        return tree, code
    if is_excerpt and len(code) > MAX_SALVAGED:
        raise UncheckedError("the code is incomplete, and too long to be completed", "correct the syntax of the code")
    python = _without_prompts(code)
    tree = tree_of(python)
    if tree is None and is_excerpt:
        tree = tree_of(textwrap.dedent(python)) or tree_of(_salvaged(python))
    return tree, python


def tree_of(code: str) -> ast.Module | None:
    """Return the syntax tree of code, or None if it cannot be parsed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _salvaged(code: str) -> str:
    """Complete each incomplete paragraph of the code, or keep its parsable lines."""
    lines = ["" if line.strip() == "..." else line for line in code.splitlines()]
    if tree_of("\n".join(lines)):
        return "\n".join(lines)
    start = 0
    while start < len(lines):
        end = next((number for number in range(start, len(lines)) if not lines[number].strip()), len(lines))
        lines[start:end] = _salvaged_block(lines[start:end])
        start = end + 1
    return "\n".join(lines)


def _salvaged_block(block: list[str]) -> list[str]:
    plain = textwrap.dedent("\n".join(line.rstrip().removesuffix("\\") for line in block)).splitlines()
    first_dot = next((number for number, line in enumerate(plain) if line.strip().startswith(".")), len(plain))
    before, chain = plain[:first_dot], _in_brackets(plain[first_dot:], FRAGMENT)
    together, apart = _in_brackets(plain, ""), [*before, *chain]
    belongs_together = any("Stream" in line for line in before)
    candidates = [
        textwrap.dedent("\n".join(block)).splitlines(),
        *([together, apart] if belongs_together else [apart, together]),
        *([[*[""] * first_dot, *chain]] if chain else []),
        [line if tree_of(line) else "" for line in block],
    ]
    return next((lines for lines in candidates if tree_of("\n".join(lines))), [""] * len(block))


def _in_brackets(block: list[str], name: str) -> list[str]:
    """Return a method chain in parentheses, with `name` as its first object if the object is missing."""
    codes = [number for number, line in enumerate(block) if line.strip() and not line.strip().startswith("#")]
    if not codes:
        return block
    lines = list(block)
    target, value = ASSIGNMENT.match(lines[codes[0]]).groups()  # type: ignore[union-attr]  # the pattern matches any line
    if not name and value.startswith("."):
        name = FRAGMENT
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
    for line in lines:
        bare = line.lstrip()
        if bare.startswith(("%", "!")) and not bare.startswith("%="):
            plain.append("")
        elif is_session:
            plain.append(bare[4:] if bare.startswith((">>> ", "... ")) else "")
        else:
            plain.append(line)
    return "\n".join(plain)
