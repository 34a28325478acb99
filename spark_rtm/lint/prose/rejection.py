"""Recognize text that rejects the sentence before or after it, and answers to questions."""

import re

from spark_rtm.lint.prose.certainty import is_certain
from spark_rtm.lint.prose.marks import is_wrong_lead

REFUTES = re.compile(
    r"^\W*(?:not so\b|wrong\b|false\b|incorrect|outdated|obsolete|nonsense|not true|don'?t\b|do not (?:do|use|"
    r"follow|copy)|"
    r"please (?:change|fix|correct|remove)|no(?=[,.!])|no (?:public |official )?(?:source|document)|"
    r"(?:py)?spark (?:then )?(?:raise[sd]?|refuse[sd]?|reject(?:s|ed)?|throws?|fails?)|"
    r"(?:the (?:\w+ )?(?:engine|call|query|trigger|cluster|databricks|pyspark|spark)|databricks|it|this|that)\b.{0,30}?"
    r"\b(?:does not|doesn't|do not|cannot|will not|won't) (?:accept|allow|support|work|run|start|exist)|"
    r"(?:this|that|it|these|both|which|all of (?:this|that|these|them)|none of (?:this|that|these|"
    r"them))\b.{0,80}?\b(?:wrong|false|incorrect|outdated|obsolete|"
    r"untrue|not (?:true|correct|supported|work)|no longer|fails?|refused|rejected|a myth|contradicts?|old|"
    r"mistakes?))\b",
    re.IGNORECASE,
)
AUXILIARY = re.compile(
    r"^(?:\W*q(?:uestion)?\s*\d*\s*[:.)])?[\W\d]*(?:does|do|is|are|can|could|should|must|will|has|have|did|may|am)\b",
    re.IGNORECASE,
)
ANSWER = r"^\W*(?:a(?:nswer)?\s*\d*\s*[:.)])?\W*"
NO = re.compile(
    ANSWER + r"(?:no\b|nope|never|not\b|(?:unfortunately|sadly),? (?:not|no)\b|(?:it|they|you|that) "
    r"(?:(?:does|do|is|are|can|should|must|will)(?: not|n['\u2019]?t)|cannot)\b)",
    re.IGNORECASE,
)
YES = re.compile(
    ANSWER + r"(?:yes\b|yep\b|yeah\b|sure\b|correct\b|absolutely|definitely|always\b|of course|"
    r"indeed|exactly|right\b|(?:it|they|you|that) (?:does|do|is|are|can|should|must|will)\b(?=\W*(?:$|[,.;!:)])))",
    re.IGNORECASE,
)


def is_announced_wrong(before: str, *, is_same_block: bool = False) -> bool:
    """Return whether a sentence announces that the sentence or the block after it is wrong."""
    if is_same_block:
        return bool(re.search(r"\bdo(?: not|n'?t) (?:trust|believe|rely on|follow|copy)\b", before, re.IGNORECASE))
    return is_wrong_lead(before) or not is_certain(before)


def is_refuted(after: str, following: str) -> bool:
    """
    Return whether the next sentence rejects a sentence.

    `after` is the next sentence of the same block, and `following` the first one of the next block.
    """
    return bool(REFUTES.search(after or following))


def is_yes_or_no(question: str) -> bool:
    """Return whether the answer to a question is yes or no."""
    return bool(AUXILIARY.match(question))


def answer_of(question: str, text: str) -> str:
    """Return a question and its short answer as one statement, or an empty string if the text is no short answer."""
    verdict = "No" if NO.match(text) else "Yes" if YES.match(text) else ""
    return f"{question.rstrip('?*_ ')}: {verdict}" if verdict else ""
