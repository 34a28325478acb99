"""
Recognize what silences rules: marks of wrong examples, and the comments `rtm: ignore` and `rtm: file-ignore`.

Only explicit marks declare a wrong example: a sign, a word such as `wrong` at the start, `raises` with an error, a test
that expects a failure. Words such as invalid, reject, never or avoid describe what ordinary jobs do, so they silence
nothing.
"""

import re
from dataclasses import dataclass, field

CONDITION = re.compile(r"\b(?:[A-Z][A-Z0-9]+_){2,}[A-Z0-9]+\b|\b\w+(?:Exception|Error)\b")
SIGN = re.compile(r"[\u274c\u2717\u2718\u26d4\U0001f6ab\u2716]|&#10060;|:x:|:no_entry")
RIGHT_SIGN = re.compile(r"[\u2705\u2713\u2714]|:white_check_mark:|:heavy_check_mark:")
WORD = (
    r"(?:wrong|bad|incorrect|anti-?pattern|counter-?example|mistake)\b\s*(?:[:!,.;\-\u2013\u2014(#*_]|$|"
    r"(?:this|example|code|way|idea|practice|usage|version)\b)"
)
RAISES = r"(?:\b(?:raises?|throws?|fails?(?: with)?|errors?(?: with)?|gives)|->|=>|\u2192)\W*(?:an? |the )?"
WRONG = re.compile(
    rf"^\W*(?:(?:this|that)(?: is)? |the )?{WORD}|\b(?:do not|don'?t|never) do (?:this|that|it)\b|"
    rf"{RAISES}(?-i:{CONDITION.pattern})|^\W*(?:[\w.]*\.)?(?-i:{CONDITION.pattern})\W*$",
    re.IGNORECASE,
)
TITLE = re.compile(r"\b(?:wrong|(?:mistake|anti-?pattern|pitfall|counter-?example)s?|don'?ts?)\b", re.IGNORECASE)
"""A word that marks the code below a heading, at any place in the heading."""
RIGHT = re.compile(
    r"^\W*(?:right|correct(?:ed|ly)?|good|fix(?:ed)?|do\b(?! not)|use\b|works?|after|better|instead|"
    r"valid|ok(?:ay)?|new|solution|recommended|preferred)\b",
    re.IGNORECASE,
)
IGNORE = re.compile(r"(?:#|//|<!--|--)\s*rtm:\s*ignore(?:\[(?P<rules>[\w\s,*-]+)\])?", re.IGNORECASE)
FILE_IGNORE = re.compile(
    r"^[^\S\n]*(?:#|//|<!--|--)[^\S\n]*rtm:[^\S\n]*file-ignore\[(?P<rules>[\w\s,*-]+)\]", re.IGNORECASE | re.MULTILINE
)
"""Comments that silence rules, in files of every format."""
EXPECT = re.compile(r"expect:\s*[\w, -]+|rtm:\s*ignore.*", re.IGNORECASE)
MAX_MARK = 2000
"""Number of characters at the start of a comment or heading that can mark code as wrong."""
SUBJECTS = {
    "trigger": r"trigger|realTime\s*=|duration|\binterval|boolean|truth value|VALUE_NOT_|ONLY_ALLOW_|PySparkValue",
    "foreach-batch": r"foreach_?batch",
    "output-mode": r"output[_ ]?mode|\bappend\b|\bcomplete\b",
    "checkpoint": r"checkpoint",
    "python-udf": r"\budfs?\b",
    "sink": r"\bsinks?\b|\bdelta\b|\bparquet\b",
    "source": r"\bsources?\b",
    "static-join": r"\bjoins?\b",
    "cluster": r"\bclusters?\b|\bphoton\b",
}
"""Prefixes of rule ids, each with a pattern for the words that name its subject."""


def is_wrong(text: str) -> bool:
    """Return whether a comment, a lead-in sentence or the first line of a docstring marks code as wrong."""
    text = EXPECT.sub("", text[:MAX_MARK])
    return bool(WRONG.search(text) or SIGN.search(text)) and not RIGHT_SIGN.search(text)


def is_wrong_title(title: str) -> bool:
    """Return whether a heading marks the code below it as wrong."""
    return is_wrong(title) or bool(TITLE.search(title) and not RIGHT_SIGN.search(title))


def is_right(text: str) -> bool:
    """Return whether a comment or heading calls the code below it correct, which ends the effect of a mark."""
    return bool(RIGHT.search(text) or RIGHT_SIGN.search(text)) and not SIGN.search(text)


def silences(mark: str, rule_id: str) -> bool:
    """Return whether a mark covers a rule: it names the rule's subject, or no subject at all."""
    named = [start for start, pattern in SUBJECTS.items() if re.search(pattern, mark[:MAX_MARK], re.IGNORECASE)]
    return not named or any(rule_id.startswith(start) for start in named)


@dataclass
class Marks:
    """The lines of code that marks cover, with the text of each mark."""

    lines: dict[int, str] = field(default_factory=dict)
    """Lines inside a statement that only their own comment marks."""
    statements: dict[int, str] = field(default_factory=dict)
    """Lines of statements that are marked as a whole."""

    def cover(self, rule_id: str, line: int, others: frozenset[int] = frozenset()) -> bool:
        """Return whether a mark covers a rule on a line, or on another line of the same query."""
        texts = [self.lines.get(line), *[self.statements.get(each) for each in (line, *others)]]
        return any(silences(text, rule_id) for text in texts if text is not None)


def silenced_lines(text: str) -> dict[int, set[str]]:
    """Map each line to the rule ids that a comment silences there. `*` means all rules."""
    silenced: dict[int, set[str]] = {}
    for number, line in enumerate(text.splitlines() if "rtm:" in text.lower() else (), 1):
        if match := IGNORE.search(line):
            silenced[number] = {rule.strip() for rule in (match["rules"] or "*").split(",")}
            if line.lstrip().startswith(("#", "//", "<!--", "--")):  # alone on its line, it covers the next line
                silenced[number + 1] = silenced[number] | silenced.get(number + 1, set())
    return silenced


def silenced_in_file(text: str) -> set[str]:
    """Return the rule ids that comments `rtm: file-ignore[rule]` silence."""
    return {rule.strip() for match in FILE_IGNORE.finditer(text) for rule in match["rules"].split(",")}


def named_rules(text: str) -> set[str]:
    """Return all rule ids that comments name."""
    return silenced_in_file(text).union(*silenced_lines(text).values())
