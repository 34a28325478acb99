"""
Rules for wrong advice on four subjects: Photon, serverless compute, autoscaling and old runtimes.

The rules apply to table cells, single-line sentences and comments in code blocks. `lint --claims` lists all other
sentences about real-time mode for a person or an assistant to judge.
"""

import re
from collections.abc import Iterator

from spark_rtm.lint.facts import MODE, Sentence
from spark_rtm.lint.problem import Problem
from spark_rtm.lint.rules.cluster import MIN_RUNTIME
from spark_rtm.lint.rules.rule import DATABRICKS_ONLY, Rules

RULES = Rules()
REMOVED = {"claim-delta", "claim-continuous", "claim-latency", "continuous-name", "source-name"}
"""Rules from earlier versions. `lint --claims` now lists the sentences that most of these rules checked."""
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


def advised(sentence: Sentence, subject: str) -> Iterator[int]:
    """Yield the lines at which a sentence about real-time mode recommends a match of `subject`."""
    if not sentence.is_about or sentence.is_denied:
        return
    # A subject in parentheses after the mode's name, or after `with`, is advice for this mode.
    pattern = rf"(?:{MODE.pattern})[\s*_`]*(?:\([^()]*?|(?:jobs?\s+)?(?:with|on|uses?|needs|requires)\s+){subject}"
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
        yield Problem(line, "real-time mode does not support Photon", "tell readers to turn Photon off")


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

    Why: A query occupies its task slots for the whole batch, and fails if it loses a node. Databricks discourages both
    options.

    Example: Enable autoscaling for Spark real-time mode clusters.
    Use instead: Turn autoscaling off for real-time mode clusters.
    Source: [setup]
    """
    message = "autoscaling and spot instances remove task slots that a real-time query occupies for a whole batch"
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
    found = list(RUNTIME.finditer(sentence.text)) if sentence.is_about and not sentence.is_denied else []
    if len(found) == 1 and (found[0]["more"] or REQUIREMENT.search(sentence.text)):
        version = int(found[0]["major"]), int(found[0]["minor"])
        if version < MIN_RUNTIME:
            message = f"Databricks Runtime {version[0]}.{version[1]} does not support real-time mode"
            fix = "write 16.4 LTS or later, preferably 18 LTS"
            yield Problem(sentence.line_at(found[0].start()), message, fix)
