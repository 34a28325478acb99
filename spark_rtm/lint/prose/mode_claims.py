"""Rules for claims that confuse real-time mode with other modes, or that wrongly restrict its use."""

import re
from collections.abc import Iterator

from spark_rtm.lint.prose.page import Page, Sentence
from spark_rtm.lint.prose.polarity import plain
from spark_rtm.lint.prose.relations.continuous import equates_continuous
from spark_rtm.lint.prose.relations.latency import NUMBER, restricts_latency
from spark_rtm.lint.prose.relations.micro_batch import starts_by_micro_batch
from spark_rtm.lint.rules.rule import BOTH, Problem, Rules

MODE_CLAIMS = Rules()
TOPIC = re.compile(r"\b(?:real[- ]time mode|rtm)\b", re.IGNORECASE)
LABEL = r"^[^:]{0,30}\b(?:real[- ]time mode|rtm)\b[^:]{0,30}:\s*"
DENIED = re.compile(
    r"\b(?:not|no|never|without|cannot|disable[ds]?|turn(?:ed|ing)? off|avoid|unsupported|incompatible|refuse[sd]?|"
    r"reject(?:s|ed)?|false|instead of|rather than|unlike|exclude[sd]?|forbid(?:s|den)?|fails?|errors?|nor|neither|"
    r"stop|"
    r"differs?|different|versus|vs\.?|compared?|baseline|benchmark|control|as in|takes the place|predecessor|successor|"
    r"lacks?|none|prevent|conflicts?|candidates?|unless|n/a|micro-?batch|default trigger)\b|n't\b|"
    r":\s*(?:no|off|false)\b",
    re.IGNORECASE,
)
BOUND = (
    r"(?:<|\u2264|\bbelow|\bunder|\b(?:less|lower|shorter|faster|smaller) than|\bwithin|\bat most|\bup to|"
    r"\bsub-?)\s*~?800\s*-?(?:ms\b|milliseconds?\b)"
)
BEYOND = re.compile(
    r"(?:>|\babove|\bover|\b(?:more|longer|slower|higher) than|\bbeyond|\bexceeds?)\s*~?800\s*-?(?:ms\b|"
    r"milliseconds?\b)",
    re.IGNORECASE,
)
BELOW = re.compile(BOUND, re.IGNORECASE)
PAIR = re.compile(
    rf"{LABEL}\W*(?:latency\W*)?{BOUND}(?:\W*(?:needed|required|or less|latency|target|sla))*\W*$|^\W*{BOUND}\W*:|"
    rf"{BOUND}\s*: (?:real[- ]time mode|rtm)\b",
    re.IGNORECASE,
)
ONLY = re.compile(r"\b(?:only|solely|exclusively|just|unless)\b", re.IGNORECASE)
CHOICE = re.compile(
    r"\b(?:use|choose|pick|select|consider|switch|worth|reserve[sd]?|meant|(?:is|are) for)\b", re.IGNORECASE
)
CASE = re.compile(r"\b(?:if|when|where|for|otherwise)\b", re.IGNORECASE)
MICRO_BATCH_MODE = re.compile(r"\bmicro-?batch\b", re.IGNORECASE)
ELSE = re.compile(r"\b(?:above|over|otherwise|else|longer|rest|everything else)\b", re.IGNORECASE)
MEASURED = re.compile(
    r"\b(?:measured|observed|stays? (?:below|under|within)|takes|tests?|runs?|p50|p99|results?|benchmarks?|meets|"
    r"there is no|no bound|no limit)\b|:\s*no\W*$",
    re.IGNORECASE,
)


@MODE_CLAIMS.add("claim-latency", subject="page", severity="warning")
def claim_latency(page: Page) -> Iterator[Problem]:
    """
    Checks for the claim that real-time mode is only for latencies below 800 ms.

    Why: We found no source for a limit of 800 ms. Real-time mode is for subsecond latency or immediate actions.

    Example:
        Use Spark's real-time mode only when you need latency below 800 ms.
    Use instead:
        Use real-time mode when you need latency below one second.
    Source: [guide]
    """
    message = "no source limits real-time mode to latencies below {}"
    fix = "recommend real-time mode for latencies below one second or for immediate actions"
    for sentence in page.claims("800"):
        if _is_threshold(plain(sentence.full_text)) and sentence.is_about:
            yield Problem(sentence.line, message.format("800 ms"), fix)
    for sentence in page.relations(NUMBER.pattern):
        if restricts_latency(sentence.full_text, is_named=sentence.is_context_about):
            number = NUMBER.search(sentence.text)
            yield Problem(sentence.line, message.format(number[0] if number else "a number"), fix)


def _is_threshold(text: str) -> bool:
    if MEASURED.search(text):
        return False
    if BELOW.search(text):
        is_contrast = MICRO_BATCH_MODE.search(text) and ELSE.search(text) and TOPIC.search(text)
        return bool(
            is_contrast or PAIR.search(text) or ONLY.search(text) or (CHOICE.search(text) and CASE.search(text))
        )
    return bool(BEYOND.search(text) and TOPIC.search(text) and MICRO_BATCH_MODE.search(text))


@MODE_CLAIMS.add("claim-continuous", BOTH, subject="page")
def claim_continuous(page: Page) -> Iterator[Problem]:
    """
    Checks for text that confuses real-time mode with continuous mode.

    Why: Continuous mode has a different trigger, supports only map and filter, and Databricks does not support it.

    Example:
        Spark's real-time mode is the same as continuous processing mode.
    Use instead:
        Real-time mode is not continuous processing mode.
    Source: [triggers]
    """
    message = "real-time mode and continuous mode have different triggers and different limits"
    fix = 'write trigger(realTime="5 minutes"), and describe continuous mode separately'
    for sentence in _undenied(page, "continuous"):
        if _is_equation(plain(sentence.text)):
            yield Problem(sentence.line, message, fix)
    for sentence in page.relations("continuous"):
        if equates_continuous(sentence.text):
            yield Problem(sentence.line, message, fix)


RTM = r"\b(?:real[- ]time mode|rtm)\b(?: (?:of|in) (?:apache )?spark)?(?:\s*\([^()]{0,80}\))?"
CONTINUOUS = r"\bcontinuous (?:processing|mode|trigger|execution)(?: mode)?\b"
SAME = (
    r"[,;:]?\s*(?:\()?(?:(?:is|are|was)\s+)?(?:just |simply |really |only |basically |essentially )?(?:=|==|equals|"
    r"means|is|(?:also|better|formerly|previously|now|today) (?:called|known as)|"
    r"a\.?k\.?a\.?|i\.e\.|formerly|previously|the same as|another name for|equivalent to|identical to|called|"
    r"a new name for|"
    r"implemented (?:by|with)|based on|built on|the new name (?:of|for)|renamed to)\s*(?:the |spark'?s |"
    r"structured streaming'?s |"
    r"what was )?"
)
EQUATES = re.compile(
    rf"{RTM}(?:{SAME}|\s+is (?:just |simply |really |only |basically |essentially ))\s*{CONTINUOUS}|"
    rf"{CONTINUOUS}{SAME}{RTM}|"
    rf"{RTM} and (?:the )?{CONTINUOUS} are (?:just |really |exactly )?(?:one and )?(?:the same|identical|synonyms)|"
    rf"\brenamed {CONTINUOUS} to {RTM}|{RTM}\s*\((?:formerly|previously|also called|also known as|"
    rf"a\.?k\.?a\.?) {CONTINUOUS}",
    re.IGNORECASE,
)
WHOLE = re.compile(
    r"\W*(?:$|[,.;:()]|(?:thing|that|which|under|and|of|in|with a(?:nother| new)|for|from|by|since)\b)", re.IGNORECASE
)
"""How a text goes on after a complete equation."""
CONTINUOUS_TRIGGER = re.compile(r"\bcontinuous\s*=\s*[\"'][^\"']{0,40}[\"']", re.IGNORECASE)
STARTS = re.compile(r"\b(?:enables?|starts?|turns? on|activates?|for|gives?|switch(?:es)? to)\b", re.IGNORECASE)
MEANS = re.compile(r"\b(?:use|set|with|via|by)\b", re.IGNORECASE)


def _is_equation(text: str) -> bool:
    equation = EQUATES.search(text)
    if equation:
        return bool(WHOLE.match(text, equation.end()))
    if not CONTINUOUS_TRIGGER.search(text):
        return False
    short = CONTINUOUS_TRIGGER.sub("continuous=''", text)
    return (
        in_order(short, re.compile("continuous=''"), STARTS, TOPIC)
        or in_order(short, TOPIC, MEANS, re.compile("continuous=''"))
        or bool(re.search(LABEL + r"\W*(?:\.?trigger\()?continuous=''", short, re.IGNORECASE))
    )


@MODE_CLAIMS.add("claim-micro-batch", subject="page")
def claim_micro_batch(page: Page) -> Iterator[Problem]:
    """
    Checks for text that presents a micro-batch trigger as real-time mode.

    Why: `processingTime="0 seconds"` runs micro-batches back to back. Only `realTime` processes each row immediately.

    Example:
        Enable real-time mode with `.trigger(processingTime="0 seconds")`.
    Use instead:
        Enable real-time mode with `.trigger(realTime="5 minutes")`.
    Source: [guide]
    """
    message = "this trigger selects micro-batch mode, in which rows wait for the next batch"
    for sentence in _undenied(page, MICRO_BATCH.pattern):
        if "realTime=" not in sentence.text and _is_micro_batch(plain(sentence.text)):
            yield Problem(sentence.line, message, 'write trigger(realTime="5 minutes")')
    for sentence in page.relations(MICRO_BATCH.pattern):
        if starts_by_micro_batch(sentence.text, sentence.question):
            yield Problem(sentence.line, message, 'write trigger(realTime="5 minutes")')


MICRO_BATCH = re.compile(r"\b(?:processingTime|availableNow)\b", re.IGNORECASE)
ENABLE = re.compile(r"\b(?:enabled?|start(?:ed)?|activate[sd]?|get|turn on|use|run in|switch to|for)\b", re.IGNORECASE)
BY_MEANS = re.compile(r"\b(?:with|by|using|via|through|use|uses|set|add|is|means|=)\b", re.IGNORECASE)
ENABLES = re.compile(
    r"\b(?:processingTime|availableNow)\b.{0,40}?\b(?:enables|starts|activates|turns on|gives|puts|"
    r"switches|runs in|becomes)\b",
    re.IGNORECASE,
)
IS_ENABLED = re.compile(
    r"\b(?:real[- ]time mode|rtm) (?:is|can be|gets?|must be) (?:enabled|started|activated|switched on|turned on|set) "
    r"(?:with|by|using|via|through)\b",
    re.IGNORECASE,
)
IS_TRIGGER = re.compile(
    r"\b(?:real[- ]time mode|rtm) (?:is|means|=) (?:just |simply |basically |essentially |called |the (?:trigger|"
    r"setting) )?(?:\.?trigger\()?"
    r"(?:processingTime|availableNow)\b",
    re.IGNORECASE,
)
FOR_MODE = re.compile(r"(?:\bfor|\bto (?:enable|start|get|use|turn on)) (?:real[- ]time mode|rtm)\b", re.IGNORECASE)
NAMED = re.compile(LABEL + r"\W*(?:set )?(?:\.?trigger\()?(?:processingTime|availableNow)\b", re.IGNORECASE)


def _is_micro_batch(text: str) -> bool:
    return bool(MICRO_BATCH.search(text)) and (
        in_order(text, ENABLE, TOPIC, BY_MEANS, MICRO_BATCH)
        or in_order(text, BY_MEANS, MICRO_BATCH, FOR_MODE)
        or in_order(text, ENABLES, TOPIC)
        or in_order(text, IS_ENABLED, MICRO_BATCH)
        or bool(NAMED.search(text) or IS_TRIGGER.search(text))
    )


def _undenied(page: Page, subject: str) -> Iterator[Sentence]:
    return (each for each in page.claims(subject) if TOPIC.search(each.text) and not DENIED.search(each.text))


def in_order(text: str, *patterns: re.Pattern[str]) -> bool:
    """
    Return whether the text contains a match of each pattern, each after the one before.

    Its time grows linearly with the text. That of one pattern with `.*` between its parts grows with a power of it.
    """
    position = 0
    for pattern in patterns:
        match = pattern.search(text, position)
        if match is None:
            return False
        position = match.end()
    return True
