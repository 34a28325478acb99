"""Rules for claims that confuse real-time mode with other modes, or that wrongly restrict its use."""

import re
from collections.abc import Iterator

from scripts.lint.prose.page import Page
from scripts.lint.rules.rule import BOTH, Problem, Rules

MODE_CLAIMS = Rules()


@MODE_CLAIMS.add("claim-latency", subject="page", severity="warning")
def claim_latency(page: Page) -> Iterator[Problem]:
    """
    Checks for the claim that real-time mode is only for latencies below 800 ms.

    Why: No source states a limit of 800 ms. Real-time mode is for subsecond latency or immediate actions.

    Example:
        Use real-time mode only when you need latency below 800 ms.
    Use instead:
        Use real-time mode when you need latency below one second.
    Source: https://learn.microsoft.com/en-us/azure/databricks/structured-streaming/real-time/, 2026-11-20
    """
    claim = re.compile(
        r"\b(?:only|solely|exclusively|just|unless)\b.*(?:<|\u2264|\bbelow|\bunder|\bless than|"
        r"\bsub-?)\s*~?800\s*-?(?:ms\b|milliseconds?\b)|(?:<|\u2264|\bbelow|\bunder|\bless than|"
        r"\bsub-?)\s*~?800\s*-?(?:ms\b|milliseconds?\b).{0,20}\bonly\W*$",
        re.IGNORECASE,
    )
    denied = re.compile(
        r"\b(?:wrong|myth|no source|not true|untrue|there is no|claim(?:s|ed)?|contradict\w*|no bound)\b", re.IGNORECASE
    )
    for sentence in page.sentences:
        if sentence.is_about and claim.search(sentence.text) and not denied.search(sentence.text):
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

    Why: Continuous mode has a different trigger, supports only map and filter, and does not exist on Databricks.

    Example:
        Real-time mode is the same as continuous processing mode.
    Use instead:
        Real-time mode is not continuous processing mode.
    Source: https://docs.databricks.com/aws/en/structured-streaming/triggers, 2026-11-20
    """
    rtm, continuous = (
        r"\b(?:real[- ]time mode|rtm)\b(?:\s*\([^)]*\))?",
        r"\bcontinuous (?:processing|mode|trigger|execution)(?: mode)?\b",
    )
    same = (
        r",?\s*(?:is|=|==|equals|means|also (?:called|known as)|\(?(?:a\.?k\.?a\.?|i\.e\.|also (?:called|"
        r"known as)|formerly|previously)|is (?:just |simply |really )?(?:the same as|another name for|"
        r"equivalent to|identical to|called|a new name for|implemented (?:by|with)|based on|built on|"
        r"the new name of))\s*(?:the |spark'?s |structured streaming'?s |what was )?"
    )
    claim = re.compile(
        rf"{rtm}{same}{continuous}|{continuous}{same}{rtm}|\bcontinuous\s*=\s*[\"'][^\"']*[\"'][^.]*\b(?:e"
        rf"nables?|starts?|turns? on|activates?|for)\b[^.]*{rtm}|{rtm}[^.|]*\b(?:use|set|with|via|"
        rf"enabled by|by)\b[^.|]*\bcontinuous\s*=",
        re.IGNORECASE,
    )
    message = "real-time mode and continuous mode have different triggers and different limits"
    fix = 'write trigger(realTime="5 minutes"), and describe continuous mode separately'
    for sentence in page.claiming(claim):
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
    Source: https://spark.apache.org/docs/4.3.0/streaming/real-time-mode.html, 2026-11-20
    """
    topic, trigger = (
        r"\b(?:real[- ]time mode|rtm)\b",
        r"\b(?:processingTime|ProcessingTime|availableNow|AvailableNow)\b",
    )
    means = r"(?:with|by|using|via|through|use|uses|set|add|is|means|=)"
    claim = re.compile(
        rf"\b(?:enable|start|activate|get|turn on|use|run in|switch to|for)\b[^|]*?{topic}[^|"
        rf"]*?\b{means}\b[^|]*?{trigger}|{trigger}[^|]{{0,30}}\b(?:enables?|starts?|activates?|turns? on|"
        rf"gives?(?: you)?|is|means|puts?)\b[^|]*?{topic}",
        re.IGNORECASE,
    )
    message = "this trigger selects micro-batch mode, in which rows wait for the next batch"
    for sentence in page.claiming(claim):
        if "realTime=" not in sentence.text:
            yield Problem(sentence.line, message, 'write trigger(realTime="5 minutes")')
