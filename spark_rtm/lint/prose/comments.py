"""Extract the comments and docstrings of Python code as pages of prose."""

import re
import textwrap
from dataclasses import dataclass

from spark_rtm.lint.prose.marks import EXPECT, STRING_OR_COMMENT, is_wrong_comment

DOCSTRING = re.compile(r'[rRuU]?(?P<mark>"""|\'\'\')(?P<text>.*)(?P=mark)$', re.DOTALL)
REAL_TIME = re.compile(r"\brealTime\s*=")
OTHER_TRIGGER = re.compile(r"\b(?:processingTime|availableNow|continuous|once)\s*=")
WRONG_EXAMPLE = re.compile(r"^[ \t]*Examples?:.*?(?=^[ \t]*Use instead:)", re.MULTILINE | re.DOTALL)
JUDGED = re.compile(
    r"photon|auto-?scal|\bspot\b|preemptible|serverless|\d\.\d|800|continuous|processingTime|availableNow|"
    r"real_?time\s*=|"
    r"RealTime",
    re.IGNORECASE,
)
"""The words without which no rule about prose reports anything."""
CODE = re.compile(r"^\s*(?:[\w.\[\]\"']+\s*=\s*)?[\w.]*\([^#]*\)[\s\\]*$|^\s*(?:from|import) \w")
"""A comment that consists of code, which somebody has disabled."""


@dataclass(frozen=True)
class CodeText:
    """A docstring, or comments on consecutive lines; `line` is the number of its first line."""

    line: int
    text: str
    context: tuple[str, ...] = ()


def texts_of_code(code: str) -> list[CodeText]:
    """Return the docstrings and comments of a module, without comments that mark code as wrong."""
    texts: list[CodeText] = []
    comments: list[tuple[int, str]] = []
    number, position = 1, 0
    about = ("real-time mode",) if REAL_TIME.search(code) and not OTHER_TRIGGER.search(code) else ()
    for match in STRING_OR_COMMENT.finditer(code):
        number += code.count("\n", position, match.start())
        position = match.start()
        before = code[code.rfind("\n", 0, position) + 1 : position]
        if match["comment"]:
            is_alone = not before.strip()
            if comments and not (is_alone and comments[-1][0] == number - 1):
                texts += _joined(comments, about)
                comments = []
            comment = re.sub(r"^#+ ?", "", match["comment"])
            comments.append((number, "" if CODE.match(comment) else comment))
            if not is_alone:
                texts += _joined(comments, (*about, *(["real-time mode"] if REAL_TIME.search(before) else [])))
                comments = []
        elif not before.strip(" \trRuU") and (docstring := DOCSTRING.match(match[0])) and JUDGED.search(match[0]):
            texts.append(_docstring(number, docstring["text"]))
    return texts + _joined(comments, about)


def _joined(comments: list[tuple[int, str]], context: tuple[str, ...]) -> list[CodeText]:
    if not any(JUDGED.search(text) for _, text in comments) or any(is_wrong_comment(text) for _, text in comments):
        return []
    text = "\n".join(EXPECT.sub("", text) for _, text in comments) + "\n"
    return [CodeText(comments[0][0], text, (*context, comments[0][1][:200]))]


def _docstring(line: int, text: str) -> CodeText:
    first, _, rest = text.partition("\n")
    body = f"{first.strip()}\n{textwrap.dedent(rest)}"
    body = WRONG_EXAMPLE.sub(lambda match: "\n" * match[0].count("\n"), body)
    summary = next((part.strip() for part in body.splitlines() if part.strip()), "")
    return CodeText(line, body, (summary[:200],))
