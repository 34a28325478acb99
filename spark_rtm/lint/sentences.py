"""Find in sentences the name of the mode, and words that deny advice."""

import re
from functools import lru_cache

from spark_rtm.lint.facts import Sentence
from spark_rtm.lint.marks import CONDITION, SIGN
from spark_rtm.text import markdown

MODE = re.compile(
    r"(?<!near )(?<!near-)\breal[- ]?time\s+(?:mode|triggers?|clusters?|quer(?:y|ies)|jobs?|flows?|pipelines?)\b|"
    r"\brtm\b|\brealTime\b|\bmode\s*=\s*[\"']?real-?time\b",
    re.IGNORECASE,
)
DENIED = re.compile(
    r"\b(?:not|no|nor|never|none|cannot|off|disable[ds]?|without|avoid\w*|instead|rather|unlike|except|unsupported|"
    r"incompatible|offending|refuse[sd]?|reject(?:s|ed)?|forbid\w*|fail(?:s|ed)?|errors?|wrong|false|myth|claims?|if|"
    r"unless|until|remove[sd]?|removing|conflicts?|lacks?|stops?|differ\w*|versus|vs|measured|observed|"
    r"while|but|than|micro-?batch|batch|default\s+trigger|advice|checks?\s+for)\b|n't\b|\?\W{0,20}$",
    re.IGNORECASE,
)
"""A word that negates the advice, makes it conditional, or applies it to another mode."""
SILENT_COLUMN = re.compile(
    r"\b(?:causes?|symptoms?|errors?|before|wrong|problems?|messages?|conditions?|not|reasons?|why|old|previous|legacy|"
    r"incorrect|bad|avoid|don'?ts?|explanations?|refused|limitations?)\b|[\u274c\u2717\u2718]",
    re.IGNORECASE,
)


def is_denied(sentence: Sentence) -> bool:
    """Return whether a sentence denies its subject, or is in a column of mistakes or causes."""
    words = markdown.replace_code_spans(sentence.text, lambda _: "x")
    return bool(DENIED.search(words) or SILENT_COLUMN.search(sentence.column))


@lru_cache(maxsize=100)  # all cells of a row have the same text around them
def denies(text: str) -> bool:
    """Return whether a text has a word, a sign or an error condition that denies advice."""
    said = markdown.replace_code_spans(text, lambda _: "x")
    return bool(DENIED.search(said) or SIGN.search(said) or CONDITION.search(text))
