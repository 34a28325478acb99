"""Rules for advice in prose: fixed phrases, reported as warnings unless their sentence denies them."""

import re
from collections.abc import Iterator

from spark_rtm.lint.facts import Sentence
from spark_rtm.lint.problem import Problem
from spark_rtm.lint.rules.cluster import MIN_RUNTIME
from spark_rtm.lint.rules.rule import DATABRICKS_ONLY, Rules
from spark_rtm.lint.sentences import DENIED, MODE, SILENT_COLUMN, is_denied
from spark_rtm.text import markdown

RULES = Rules()
ADVICE = (
    r"\b(?:enabl\w+|us(?:e|es|ing)|turn(?:s|ing)?\s+on|switch(?:es)?\s+on|with|on|requires?|needs?|recommend\w*|"
    r"prefer\w*|choose|supports?|keep|leave|add)\b[^.;:|]{0,40}?"
)
GRANTED = (
    r"[\s:*_`(]*(?:(?:is|are|must|should|can|may|be|acceleration|compute|workers?|nodes?)[\s:*_`]+)*"
    r"(?:on(?=\W*(?:$|[.,;:)|]))|enabled|required|recommended|supported|mandatory|needed|yes|true|works|\u2705)"
)
PHOTON, SERVERLESS = r"\bphoton\b", r"\bserverless\b(?!\s+(?:sql|warehouse))"
SCALING = r"\bauto-?scal(?:ing|e)\b"
SPOT = r"\b(?:spot\s+(?:instances?|vms?|nodes?|workers?|machines?)|preemptible)\b"
PIPELINES = re.compile(r"\b(?:pipelines?|lakeflow|dlt|sdp|declarative|warehouses?)\b", re.IGNORECASE)
RUNTIME = re.compile(
    r"\b(?:DBR|Databricks(?:\s+Runtime)?|runtime)\s*(?:version\s*)?(?:>=|\u2265)?\s*(?P<major>\d{1,2})\.(?P<minor>\d)\b"
    r"(?P<more>\s*(?:LTS)?\s*(?:\+|(?:or|and)\s+(?:later|above|newer|higher|up)))?",
    re.IGNORECASE,
)
REQUIREMENT = re.compile(
    r"\b(?:requir\w+|needs?|minimum|at\s+least|from|since|available|supported|works?|starting)\b", re.IGNORECASE
)
LATENCY = re.compile(
    r"(?:<|\u2264|\b(?:below|under|less\s+than|within)|\bsub-?)\s*~?800\s*-?(?:ms\b|milli)", re.IGNORECASE
)
CHOICE = re.compile(r"\b(?:only|solely|just|unless|use|choose|pick|worth|needs?|for)\b", re.IGNORECASE)


OTHER_MODES = re.compile(r"micro-?batch(?:es)?|\bbatch\b|\bbut\b|\bwhile\b|default\s+trigger", re.IGNORECASE)
"""Names of other modes, for sentences whose advice is about real-time mode itself."""
DELTA = r"\bDelta\b(?!\s+(?:Live|Sharing|encoding|time))(?:\s+(?:Lake|tables?))*"
LIST = r"[\s`*_]*(?:,|/|&|\+|\band\b|\bor\b|\bas well as\b)[\s`*_]*"
ENDPOINT = re.compile(
    rf"\bKafka\b(?:{LIST}[\w ]{{1,20}}?){{0,2}}{LIST}(?:and\s+)?{DELTA}|"
    rf"(?<!\bto ){DELTA}(?:{LIST}[\w ]{{1,20}}?){{0,2}}{LIST}Kafka\b|"
    rf"\b(?:writ(?:es?|ing)|sinks?|streams?|lands?|upserts?)\b[^.;:|]{{0,40}}\b(?:to|into)\s+(?:an?\s+|the\s+)?[`*_]*{DELTA}|"
    rf"\b(?:reads?|reading|consum\w+|ingests?)\b[^.;:|]{{0,40}}\bfrom\s+(?:an?\s+|the\s+)?[`*_]*{DELTA}|"
    rf"\boutputs?\s+(?:to\s+)?[`*_]*{DELTA}|{DELTA}\s+(?:(?:is|are|as)\s+)+(?:an?\s+|the\s+|supported\s+)*(?:sources?|sinks?)\b|"
    rf"\b(?:sources?|sinks?)\b[^.;|]{{0,60}}{DELTA}|{DELTA}\s+(?:sources?|sinks?)\W{{1,8}}(?:yes|supported|\u2705)",
    re.IGNORECASE,
)
ENDPOINTS = re.compile(
    r"\b(?:sources?|sinks?|reads?|reading|writ\w+|works?\s+with|supports?|from|to|into)\b", re.IGNORECASE
)
OTHER_USE = re.compile(
    r"\b(?:joins?|lookups?|static|broadcast\w*|dimensions?|enrich\w*|reference|checkpoints?|separate\w*|another|second|"
    r"downstream|later|then|afterwards?|history|archiv\w*|other|also|copy|copies|replac\w*|only\s+kafka|pipelines?)\b",
    re.IGNORECASE,
)
CONTINUOUS = re.compile(
    r"\btrigger\s*\(\s*continuous\s*=|\bTrigger\.Continuous\b|"
    rf"(?:{MODE.pattern})[\s*_`]*(?:\(|,?\s+or\s+|\s+(?:is|means|runs|uses)\s+|,?\s+also\s+called\s+|=)(?:the\s+)?[`*_]*"
    rf"continuous\s+(?:processing|trigger|mode)|continuous\s+(?:processing|trigger|mode)[\s*_`]*(?:\(|,?\s+or\s+|,?\s+also\s+called\s+|"
    rf"\s+is\s+|=)[`*_]*(?:{MODE.pattern})",
    re.IGNORECASE,
)
HISTORY = re.compile(
    r"\b(?:replac\w+|predecessors?|successors?|supersed\w+|older|old|legacy|deprecated|experimental|previous\w*|migrat\w+|"
    r"compar\w+|differen\w+|earlier|already|existing)\b",
    re.IGNORECASE,
)


def advised(sentence: Sentence, subject: str) -> Iterator[int]:
    """Yield the line at which a sentence about real-time mode recommends a match of the pattern `subject`."""
    is_named = sentence.is_about and re.search(subject, sentence.text, re.IGNORECASE)
    if not is_named or SILENT_COLUMN.search(sentence.column):
        return
    # A subject in parentheses after the mode's name, or after `with`, is advice for this mode.
    pattern = rf"(?:{MODE.pattern})[\s*_`]*(?:\([^()]*?|(?:jobs?\s+)?(?:with|on|uses?|needs|requires)\s+){subject}"
    text = markdown.replace_code_spans(sentence.text, lambda _: "x")
    if DENIED.search(OTHER_MODES.sub("", text)):
        return
    if not is_denied(sentence):
        pattern += f"|{ADVICE}{subject}|{subject}{GRANTED}"
        if MODE.search(sentence.around.partition(" | ")[0]):
            pattern += rf"|^[^:]{{0,80}}:\W{{0,5}}{subject}\W{{0,5}}$"
    if match := re.search(pattern, sentence.text, re.IGNORECASE):
        named = re.search(subject, match[0], re.IGNORECASE)
        yield sentence.line_at(match.start() + (named.start() if named else 0))


@RULES.add("claim-photon", DATABRICKS_ONLY, severity="warning", subject="page")
def claim_photon(sentence: Sentence) -> Iterator[Problem]:
    """
    Checks for the advice to use Photon with real-time mode.

    Why: The Databricks documentation instructs you to turn Photon off.

    Example: Enable Photon for real-time mode queries.
    Use instead: Turn Photon off for real-time mode queries.
    Source: [setup]
    """
    for line in advised(sentence, PHOTON):
        yield Problem(line, "real-time mode does not run with Photon", "advise readers to turn Photon off")


@RULES.add("claim-serverless", DATABRICKS_ONLY, severity="warning", subject="page")
def claim_serverless(sentence: Sentence) -> Iterator[Problem]:
    """
    Checks for the advice to run real-time mode on serverless compute.

    Why: Serverless notebooks and jobs do not offer the real-time trigger. Only declarative pipelines do.

    Example: Use serverless compute for jobs in Spark's real-time mode.
    Use instead: Use classic compute for jobs in Spark's real-time mode.
    Source: [setup], [pipelines]
    """
    if not PIPELINES.search(sentence.text):
        for line in advised(sentence, SERVERLESS):
            message = "real-time mode does not run in serverless notebooks or jobs"
            yield Problem(line, message, "recommend classic compute or a declarative pipeline")


@RULES.add("claim-autoscaling", DATABRICKS_ONLY, severity="warning", subject="page")
def claim_autoscaling(sentence: Sentence) -> Iterator[Problem]:
    """
    Checks for the advice to use autoscaling or spot instances with real-time mode.

    Why: A query holds its task slots for the batch and fails if it loses a node. Databricks discourages both options.

    Example: Enable autoscaling for Spark real-time mode clusters.
    Use instead: Turn autoscaling off for real-time mode clusters.
    Source: [setup]
    """
    message = "autoscaling and spot instances remove task slots that a real-time query holds for a whole batch"
    for subject in (SCALING, SPOT):
        for line in advised(sentence, subject):
            yield Problem(line, message, "recommend a fixed number of on-demand workers")


@RULES.add("claim-runtime", DATABRICKS_ONLY, severity="warning", subject="page")
def claim_runtime(sentence: Sentence) -> Iterator[Problem]:
    """
    Checks for the claim that a Databricks Runtime below 16.4 LTS is sufficient for real-time mode.

    Why: Databricks documents 16.4 LTS as the minimum version and recommends 18 LTS.

    Example: Real-time mode requires Databricks Runtime 15.4 LTS or later.
    Use instead: Real-time mode requires Databricks Runtime 16.4 LTS or later.
    Source: [setup]
    """
    for match in _claims(sentence, RUNTIME):
        version = int(match["major"]), int(match["minor"])
        is_only = len(RUNTIME.findall(sentence.text)) == 1
        if version < MIN_RUNTIME and is_only and (match["more"] or REQUIREMENT.search(sentence.text)):
            message = f"Databricks Runtime {version[0]}.{version[1]} does not support real-time mode"
            fix = "write 16.4 LTS or later, preferably 18 LTS"
            yield Problem(sentence.line_at(match.start()), message, fix)


@RULES.add("claim-delta", severity="warning", subject="page")
def claim_delta(sentence: Sentence) -> Iterator[Problem]:
    """
    Checks for the claim that real-time mode reads from Delta tables or writes to them.

    Why: Delta is neither a source nor a sink of real-time mode. A query may join a static Delta table.

    Example: Real-time mode works with Kafka and Delta.
    Use instead: Real-time mode reads from Kafka, and a query in micro-batch mode writes to Delta.
    Source: [reference]
    """
    is_named = "elta" in sentence.text and ENDPOINTS.search(f"{sentence.column} {sentence.text}")
    for match in _claims(sentence, ENDPOINT, OTHER_USE) if is_named else ():
        named = re.search(DELTA, match[0], re.IGNORECASE)
        line = sentence.line_at(match.start() + (named.start() if named else 0))
        fix = "recommend Kafka, and write to Delta in a micro-batch query"
        yield Problem(line, "Delta is neither a source nor a sink of real-time mode", fix)


@RULES.add("claim-continuous", severity="warning", subject="page")
def claim_continuous(sentence: Sentence) -> Iterator[Problem]:
    """
    Checks for sentences that call continuous processing real-time mode.

    Why: `trigger(continuous=...)` starts continuous processing, an experimental stateless mode from Spark 2.3.

    Example: For real-time mode, write .trigger(continuous="1 second").
    Use instead: For real-time mode, write .trigger(realTime="5 minutes").
    Source: [guide]
    """
    for match in _claims(sentence, CONTINUOUS, HISTORY, PIPELINES) if "ontinuous" in sentence.text else ():
        message = "continuous processing is not real-time mode"
        yield Problem(sentence.line_at(match.start()), message, 'write .trigger(realTime="5 minutes")')


@RULES.add("claim-latency", severity="warning", subject="page")
def claim_latency(sentence: Sentence) -> Iterator[Problem]:
    """
    Checks for the claim that real-time mode is only for latencies below 800 ms.

    Why: We found no documentation of a limit of 800 ms. Real-time mode is for subsecond latency or immediate actions.

    Example: Use Spark's real-time mode only when you need latency below 800 ms.
    Use instead: Use real-time mode when you need latency below one second.
    Source: [guide]
    """
    for match in _claims(sentence, LATENCY) if CHOICE.search(sentence.text) else ():
        message = "no documentation limits real-time mode to latencies below 800 ms"
        fix = "recommend real-time mode for latencies below one second or for immediate actions"
        yield Problem(sentence.line_at(match.start()), message, fix)


def _claims(sentence: Sentence, claim: re.Pattern[str], *others: re.Pattern[str]) -> list[re.Match[str]]:
    """Return the first match of a claim about real-time mode, unless the sentence denies it or matches `others`."""
    match = claim.search(sentence.text) if sentence.is_about and not is_denied(sentence) else None
    return [match] if match and not any(other.search(sentence.text) for other in others) else []
