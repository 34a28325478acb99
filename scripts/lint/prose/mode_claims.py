"""Rules for claims that confuse real-time mode with other modes, or that wrongly restrict its use."""

import re
from collections.abc import Iterator

from scripts.lint.prose.page import Page, in_order
from scripts.lint.rules.rule import BOTH, Problem, Rules

MODE_CLAIMS = Rules()
TOPIC = re.compile(r"\b(?:real[- ]time mode|rtm)\b", re.IGNORECASE)


@MODE_CLAIMS.add("claim-latency", subject="page", severity="warning")
def claim_latency(page: Page) -> Iterator[Problem]:
    """
    Checks for the claim that real-time mode is only for latencies below 800 ms.

    Why: We found no source for a limit of 800 ms. Real-time mode is for subsecond latency or immediate actions.

    Example:
        Use real-time mode only when you need latency below 800 ms.
    Use instead:
        Use real-time mode when you need latency below one second.
    Source: [guide]
    """
    limit = r"(?:<|\u2264|\bbelow|\bunder|\bless than|\bsub-?)\s*~?800\s*-?(?:ms\b|milliseconds?\b)"
    only = re.compile(r"\b(?:only|solely|exclusively|just|unless)\b", re.IGNORECASE)
    below = re.compile(limit, re.IGNORECASE)
    only_at_end = re.compile(rf"{limit}.{{0,20}}\bonly\W*$", re.IGNORECASE)
    denied = re.compile(
        r"\b(?:wrong|myth|no source|not true|untrue|there is no|claim(?:s|ed)?|contradict\w*|no bound)\b", re.IGNORECASE
    )
    for sentence in page.sentences:
        text = sentence.text
        is_claim = in_order(text, only, below) or only_at_end.search(text)
        if is_claim and sentence.is_about and not denied.search(text):
            message = "no source limits real-time mode to latencies below 800 ms"
            yield Problem(
                sentence.line,
                message,
                "recommend real-time mode for latencies below one second or for immediate actions",
            )


@MODE_CLAIMS.add("claim-continuous", BOTH, subject="page")
def claim_continuous(page: Page) -> Iterator[Problem]:
    """
    Checks for text that confuses real-time mode with continuous mode.

    Why: Continuous mode has a different trigger, supports only map and filter, and Databricks does not support it.

    Example:
        Real-time mode is the same as continuous processing mode.
    Use instead:
        Real-time mode is not continuous processing mode.
    Source: [triggers]
    """
    rtm = rf"{TOPIC.pattern}(?:\s*\([^()]*\))?"
    continuous = r"\bcontinuous (?:processing|mode|trigger|execution)(?: mode)?\b"
    same = (
        r",?\s*(?:is|=|==|equals|means|also (?:called|known as)|\(?(?:a\.?k\.?a\.?|i\.e\.|also (?:called|"
        r"known as)|formerly|previously)|is (?:just |simply |really )?(?:the same as|another name for|"
        r"equivalent to|identical to|called|a new name for|implemented (?:by|with)|based on|built on|"
        r"the new name of))\s*(?:the |spark'?s |structured streaming'?s |what was )?"
    )
    equates = re.compile(rf"{rtm}{same}{continuous}|{continuous}{same}{rtm}", re.IGNORECASE)
    trigger = re.compile(r"\bcontinuous\s*=\s*[\"'][^\"']*[\"']", re.IGNORECASE)
    starts = re.compile(r"\b(?:enables?|starts?|turns? on|activates?|for)\b", re.IGNORECASE)
    means = re.compile(r"\b(?:use|set|with|via|enabled by|by)\b", re.IGNORECASE)
    keyword = re.compile(r"\bcontinuous\s*=", re.IGNORECASE)

    def is_claim(text: str) -> bool:
        without_values = trigger.sub("continuous=''", text)  # the interval of a trigger may contain a dot
        return (
            bool(equates.search(text))
            or any(in_order(part, trigger, starts, TOPIC) for part in without_values.split("."))
            or any(in_order(part, TOPIC, means, keyword) for part in re.split(r"[.|]", text))
        )

    message = "real-time mode and continuous mode have different triggers and different limits"
    fix = 'write trigger(realTime="5 minutes"), and describe continuous mode separately'
    for sentence in page.claiming(is_claim):
        yield Problem(sentence.line, message, fix)


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
    trigger = r"\b(?:processingTime|availableNow)\b"
    enable = re.compile(r"\b(?:enable|start|activate|get|turn on|use|run in|switch to|for)\b", re.IGNORECASE)
    means = re.compile(r"\b(?:with|by|using|via|through|use|uses|set|add|is|means|=)\b", re.IGNORECASE)
    micro_batch = re.compile(trigger, re.IGNORECASE)
    enables = r"(?:enables?|starts?|activates?|turns? on|gives?(?: you)?|is|means|puts?)"
    trigger_enables = re.compile(rf"{trigger}.{{0,30}}?\b{enables}\b", re.IGNORECASE)

    def is_claim(text: str) -> bool:
        return any(
            in_order(cell, enable, TOPIC, means, micro_batch) or in_order(cell, trigger_enables, TOPIC)
            for cell in text.split("|")
        )

    message = "this trigger selects micro-batch mode, in which rows wait for the next batch"
    for sentence in page.claiming(is_claim):
        if "realTime=" not in sentence.text:
            yield Problem(sentence.line, message, 'write trigger(realTime="5 minutes")')
