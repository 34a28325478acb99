"""Find code comments that describe a micro-batch trigger as real-time mode; the rule is `claim-micro-batch`."""

import re
from collections.abc import Iterator

from spark_rtm.lint.prose.marks import EXPECT
from spark_rtm.lint.prose.mode_claims import MODE_CLAIMS
from spark_rtm.lint.rules.rule import Module, Problem

MICRO_BATCH_CLAIM = next(rule for rule in MODE_CLAIMS if rule.id == "claim-micro-batch")
NAMES_REAL_TIME = re.compile(r"\b(?:real[- ]time mode|rtm)\b|\breal[- ]time (?:trigger|quer)", re.IGNORECASE)
DENIES_OR_COMPARES = re.compile(
    r"\b(?:not|no|never|instead|micro-?batch|fall ?back|vs|versus|than|before|unlike|switch|without|"
    r"compare[ds]?|baseline|"
    r"until|when|if|for|while|lacks?|refuse[sd]?|cannot|else|once|later|beside|next to|same|other|after)\b|n't\b",
    re.IGNORECASE,
)


def comment_claims(module: Module) -> Iterator[Problem]:
    """Yield micro-batch triggers that a comment on the same line or the line above describes as real-time mode."""
    message = "a comment describes this micro-batch trigger as real-time mode, but in micro-batch mode rows wait"
    for trigger, _ in module.triggers:
        if trigger.kinds == ("processingTime",) and trigger.line <= len(module.lines):
            above = module.lines[trigger.line - 2].strip() if trigger.line > 1 else ""
            same_line = module.lines[trigger.line - 1].partition("#")[2]
            for comment in (EXPECT.sub("", same_line), above[1:] if above.startswith("#") else ""):
                if NAMES_REAL_TIME.search(comment) and not DENIES_OR_COMPARES.search(comment):
                    yield Problem(trigger.line, message, 'write trigger(realTime="5 minutes")')
