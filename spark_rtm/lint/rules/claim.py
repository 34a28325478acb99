"""
Rules for advice in prose: fixed phrases, reported as warnings.

A phrase is silent if its sentence denies it. An assistant judges all other sentences: `lint --claims` lists them.
"""

import re
from collections.abc import Iterator

from spark_rtm.lint.files.prose import Sentence
from spark_rtm.lint.rules.cluster import MIN_RUNTIME
from spark_rtm.lint.rules.rule import DATABRICKS_ONLY, Problem, Rules
from spark_rtm.text import markdown

CLAIM_RULES = Rules()
DENIED = re.compile(
    r"\b(?:not|no|nor|never|none|cannot|off|disable[ds]?|without|avoid\w*|instead|rather|unlike|except|unsupported|"
    r"incompatible|offending|refuse[sd]?|reject(?:s|ed)?|forbid\w*|fail(?:s|ed)?|errors?|wrong|false|myth|claims?|if|"
    r"unless|until|remove[sd]?|removing|conflicts?|lacks?|stops?|differ\w*|versus|vs|measured|observed|"
    r"while|but|than|micro-?batch|batch|default\s+trigger|advice|checks?\s+for)\b|n't\b|\?\W*$",
    re.IGNORECASE,
)
"""A word that denies an advice, makes it conditional, or gives it for another mode."""
SILENT_COLUMN = re.compile(
    r"\b(?:causes?|symptoms?|errors?|before|wrong|problems?|messages?|conditions?|not)\b", re.IGNORECASE
)
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


def is_silent(sentence: Sentence) -> bool:
    """Return whether a sentence denies what it names, or stands in a column of mistakes or of their causes."""
    words = markdown.replace_code_spans(sentence.text, lambda _: "x")
    return bool(DENIED.search(words) or SILENT_COLUMN.search(sentence.column))


def advised(sentence: Sentence, subject: str) -> Iterator[int]:
    """Yield the line at which a sentence about real-time mode advises a subject, which is a pattern."""
    if not sentence.is_about or is_silent(sentence):
        return
    if match := re.search(f"{ADVICE}{subject}|{subject}{GRANTED}", sentence.text, re.IGNORECASE):
        named = re.search(subject, match[0], re.IGNORECASE)
        yield sentence.line_at(match.start() + (named.start() if named else 0))


@CLAIM_RULES.add("claim-photon", DATABRICKS_ONLY, severity="warning", subject="page")
def claim_photon(sentence: Sentence) -> Iterator[Problem]:
    """
    Checks for the advice to use Photon with real-time mode.

    Why: The Databricks documentation instructs you to turn Photon off.

    Example:
        Enable Photon for real-time mode queries.
    Use instead:
        Turn Photon off for real-time mode queries.
    Source: [setup]
    """
    for line in advised(sentence, PHOTON):
        yield Problem(line, "real-time mode does not run with Photon", "advise readers to turn Photon off")


@CLAIM_RULES.add("claim-serverless", DATABRICKS_ONLY, severity="warning", subject="page")
def claim_serverless(sentence: Sentence) -> Iterator[Problem]:
    """
    Checks for the advice to run real-time mode on serverless compute.

    Why: Serverless notebooks and jobs do not offer the real-time trigger. Only declarative pipelines do.

    Example:
        Use serverless compute for jobs in Spark's real-time mode.
    Use instead:
        Use classic compute for jobs in Spark's real-time mode.
    Source: [setup], [pipelines]
    """
    if not PIPELINES.search(sentence.text):
        for line in advised(sentence, SERVERLESS):
            message = "real-time mode does not run in serverless notebooks or jobs"
            yield Problem(line, message, "recommend classic compute or a declarative pipeline")


@CLAIM_RULES.add("claim-autoscaling", DATABRICKS_ONLY, severity="warning", subject="page")
def claim_autoscaling(sentence: Sentence) -> Iterator[Problem]:
    """
    Checks for the advice to use autoscaling or spot instances with real-time mode.

    Why: A query holds its task slots for the batch and fails if it loses a node. Databricks discourages both options.

    Example:
        Enable autoscaling for Spark real-time mode clusters.
    Use instead:
        Turn autoscaling off for real-time mode clusters.
    Source: [setup]
    """
    message = "autoscaling and spot instances remove task slots that a real-time query holds for a whole batch"
    for subject in (SCALING, SPOT):
        for line in advised(sentence, subject):
            yield Problem(line, message, "recommend a fixed number of on-demand workers")


@CLAIM_RULES.add("claim-runtime", DATABRICKS_ONLY, severity="warning", subject="page")
def claim_runtime(sentence: Sentence) -> Iterator[Problem]:
    """
    Checks for the claim that a Databricks Runtime below 16.4 LTS is sufficient for real-time mode.

    Why: Databricks documents 16.4 LTS as the minimum version and recommends 18 LTS.

    Example:
        Real-time mode requires Databricks Runtime 15.4 LTS or later.
    Use instead:
        Real-time mode requires Databricks Runtime 16.4 LTS or later.
    Source: [setup]
    """
    if not sentence.is_about or is_silent(sentence):
        return
    found = list(RUNTIME.finditer(sentence.text))
    for match in found if len(found) == 1 else ():
        version = int(match["major"]), int(match["minor"])
        if version < MIN_RUNTIME and (match["more"] or REQUIREMENT.search(sentence.text)):
            message = f"Databricks Runtime {version[0]}.{version[1]} does not support real-time mode"
            fix = "write 16.4 LTS or later, preferably 18 LTS"
            yield Problem(sentence.line_at(match.start()), message, fix)


@CLAIM_RULES.add("claim-latency", severity="warning", subject="page")
def claim_latency(sentence: Sentence) -> Iterator[Problem]:
    """
    Checks for the claim that real-time mode is only for latencies below 800 ms.

    Why: We found no source for a limit of 800 ms. Real-time mode is for subsecond latency or immediate actions.

    Example:
        Use Spark's real-time mode only when you need latency below 800 ms.
    Use instead:
        Use real-time mode when you need latency below one second.
    Source: [guide]
    """
    match = LATENCY.search(sentence.text)
    if match and sentence.is_about and CHOICE.search(sentence.text) and not is_silent(sentence):
        message = "no source limits real-time mode to latencies below 800 ms"
        fix = "recommend real-time mode for latencies below one second or for immediate actions"
        yield Problem(sentence.line_at(match.start()), message, fix)
