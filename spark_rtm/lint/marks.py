"""
Recognize marks that silence rules: marks for wrong examples, and `rtm: ignore` and `rtm: file-ignore` comments.

Only explicit marks declare a wrong example: a symbol, a word such as `wrong` at the start, `raises` with an error, a
test that expects a failure. Words such as invalid, reject, never or avoid also describe ordinary jobs, so they do not
silence rules.
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
"""Pattern for a word in a heading that marks the code below the heading as wrong."""
RIGHT = re.compile(
    r"^\W*(?:right|correct(?:ed|ly)?|good|fix(?:ed)?|do\b(?! not)|use\b|works?|after|better|instead|"
    r"valid|ok(?:ay)?|new|solution|recommended|preferred)\b",
    re.IGNORECASE,
)
IGNORE = re.compile(r"(?:#|//|<!--|--)\s*rtm:\s*ignore(?:\[(?P<rules>[\w\s,*-]+)\])?", re.IGNORECASE)
FILE_IGNORE = re.compile(
    r"^[^\S\n]*(?:#|//|<!--|--)[^\S\n]*rtm:[^\S\n]*file-ignore\[(?P<rules>[\w\s,*-]+)\]", re.IGNORECASE | re.MULTILINE
)
"""Pattern for comments that silence rules in a whole file, in any format."""
EXPECT = re.compile(r"expect:\s*[\w, -]+|rtm:\s*ignore.*", re.IGNORECASE)
MAX_MARK = 2000
"""Number of characters at the start of a comment or heading in which a mark is recognized."""
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
"""Patterns for words that refer to a rule's subject, by prefix of the rule id."""


def is_wrong(text: str) -> bool:
    """Return whether a comment, a lead-in sentence or the first line of a docstring marks code as wrong."""
    text = EXPECT.sub("", text[:MAX_MARK])
    return bool(WRONG.search(text) or SIGN.search(text)) and not RIGHT_SIGN.search(text)


def is_wrong_title(title: str) -> bool:
    """Return whether a heading marks the code below it as wrong."""
    return is_wrong(title) or bool(TITLE.search(title) and not RIGHT_SIGN.search(title))


def is_right(text: str) -> bool:
    """Return whether a comment or heading marks the code below as correct, which ends the effect of an earlier mark."""
    return bool(RIGHT.search(text) or RIGHT_SIGN.search(text)) and not SIGN.search(text)


def silences(mark: str, rule_id: str) -> bool:
    """Return whether a mark covers a rule: it mentions the rule's subject, or no subject at all."""
    named = [start for start, pattern in SUBJECTS.items() if re.search(pattern, mark[:MAX_MARK], re.IGNORECASE)]
    return not named or any(rule_id.startswith(start) for start in named)


@dataclass
class Marks:
    """The code lines covered by marks, with the text of each mark."""

    lines: dict[int, str] = field(default_factory=dict)
    """Single lines within a statement, marked by a comment on the line."""
    statements: dict[int, str] = field(default_factory=dict)
    """Lines of statements that a mark covers as a whole."""

    def cover(self, rule_id: str, line: int, others: frozenset[int] = frozenset()) -> bool:
        """Return whether a mark covers a rule on a line, or on another line in the same query."""
        texts = [self.lines.get(line), *[self.statements.get(each) for each in (line, *others)]]
        return any(silences(text, rule_id) for text in texts if text is not None)


def silenced_lines(text: str) -> dict[int, set[str]]:
    """Map each line to the rule ids that comments silence on this line. `*` means all rules."""
    silenced: dict[int, set[str]] = {}
    for number, line in enumerate(text.splitlines() if "rtm:" in text.lower() else (), 1):
        if match := IGNORE.search(line):
            silenced[number] = {rule.strip() for rule in (match["rules"] or "*").split(",")}
            if line.lstrip().startswith(("#", "//", "<!--", "--")):  # a comment alone on its line covers the next line
                silenced[number + 1] = silenced[number] | silenced.get(number + 1, set())
    return silenced


def silenced_in_file(text: str) -> set[str]:
    """Return the rule ids that comments `rtm: file-ignore[rule]` silence."""
    return {rule.strip() for match in FILE_IGNORE.finditer(text) for rule in match["rules"].split(",")}


def named_rules(text: str) -> set[str]:
    """Return all rule ids in comments that silence rules."""
    return silenced_in_file(text).union(*silenced_lines(text).values())
