"""Rules for claims about Databricks compute: Photon, runtime version, serverless, autoscaling."""

import re
from collections.abc import Iterator

from scripts.lint.prose.page import Page, in_next_cell
from scripts.lint.rules.cluster import MIN_RUNTIME
from scripts.lint.rules.rule import DATABRICKS_ONLY, Problem, Rules

COMPUTE_CLAIMS = Rules()
RUNTIME = re.compile(
    r"\b(?:DBR|Databricks(?: Runtime)?|runtime)(?: version)?\s*(?:>=|\u2265|"
    r"v)?\s*(\d{1,2})\.(\d+)\b(?P<more>\s*(?:LTS)?\s*(?:\+|or (?:later|above|newer|higher)|"
    r"and (?:later|above|newer|higher|up)))?",
    re.IGNORECASE,
)
REQUIREMENT = re.compile(
    r"\b(?:requires?|needs?|minimum|at least|from|since|available (?:in|on|from)|supported (?:in|on|"
    r"from|since)|works (?:on|with|from)|starting (?:with|in)|runs on)\b|>=|\u2265",
    re.IGNORECASE,
)


@COMPUTE_CLAIMS.add("claim-photon", DATABRICKS_ONLY, subject="page")
def claim_photon(page: Page) -> Iterator[Problem]:
    """
    Checks for the wrong advice to use Photon with real-time mode.

    Why: The Databricks documentation instructs you to turn Photon off.

    Example:
        Enable Photon for real-time mode queries.
    Use instead:
        Turn Photon off for real-time mode queries.
    Source: [setup]
    """
    use = (
        r"(?:enable|enabling|use|using|turn on|switch on|keep|choose|select|recommend(?:ed|s)?|with|"
        r"supports?|requires?|needs?|benefits? from|accelerat\w+|on)"
    )
    claim = re.compile(
        rf"\b{use}\b(?:\s+\w+){{0,4}}?\s+\**`?photon\b|\bphoton\b`?\**\s*(?:acceleration\s+|engine\s+|"
        rf"runtime\s+)?(?:(?:must|should|can|to)\s+be\s+)?(?:is\s+)?(?:turned\s+|switched\s+)?(?:on|"
        rf"enabled|supported|recommended|required|accelerates)\b|"
        + in_next_cell(r"\bphoton\b", "(?:yes|on|enabled|supported|required)"),
        re.IGNORECASE,
    )
    for sentence in page.claiming(claim.search, about=True):
        yield Problem(sentence.line, "real-time mode does not run with Photon", "advise readers to turn Photon off")


@COMPUTE_CLAIMS.add("claim-runtime", DATABRICKS_ONLY, subject="page")
def claim_runtime(page: Page) -> Iterator[Problem]:
    """
    Checks for claims that a Databricks Runtime below 16.4 LTS is sufficient for real-time mode.

    Why: Databricks documents 16.4 LTS as the minimum version and recommends 18 LTS.

    Example:
        Real-time mode requires Databricks Runtime 15.4 LTS or later.
    Use instead:
        Real-time mode requires Databricks Runtime 16.4 LTS or later.
    Source: [setup]
    """
    for sentence in page.sentences:
        if not sentence.is_about or sentence.is_negated:
            continue
        requirement = REQUIREMENT.search(sentence.text)
        for match in RUNTIME.finditer(sentence.text):
            version = (int(match[1]), int(match[2]))
            is_required = requirement is not None and requirement.end() <= match.start()
            if version < MIN_RUNTIME and (match["more"] or is_required):
                message = f"Databricks Runtime {match[1]}.{match[2]} does not support real-time mode"
                yield Problem(sentence.line, message, "write 16.4 LTS or later, preferably 18 LTS")


@COMPUTE_CLAIMS.add("claim-serverless", DATABRICKS_ONLY, subject="page")
def claim_serverless(page: Page) -> Iterator[Problem]:
    """
    Checks for the wrong advice to run real-time mode in serverless notebooks or jobs.

    Why: Serverless notebooks and jobs refuse unbounded triggers. Declarative pipelines can run real-time mode.

    Example:
        Real-time mode runs on serverless compute.
    Use instead:
        Real-time mode runs on classic compute.
    Source: [setup]
    """
    claim = re.compile(
        r"\b(?:use|using|runs?|works?|supported|available|recommend(?:ed)?|choose|select|deploy|on|with|"
        r"supports?)\b(?:\s+\w+){0,3}?\s+\**serverless\b|\bserverless\b[^|.]{0,40}\b(?:is|"
        r"are)\s+(?:supported|recommended|the best|ideal|required)\b|"
        + in_next_cell(r"\bserverless\b", "(?:yes|supported)"),
        re.IGNORECASE,
    )
    pipelines = re.compile(r"\b(?:pipelines?|lakeflow|sdp|dlt|declarative)\b", re.IGNORECASE)
    for sentence in page.sentences:
        if not claim.search(sentence.text) or not sentence.is_about or sentence.is_negated:
            continue
        if not pipelines.search(" ".join((*sentence.headings, sentence.text))):
            message = "real-time mode does not run in serverless notebooks or jobs"
            yield Problem(sentence.line, message, "recommend classic compute or a declarative pipeline")


@COMPUTE_CLAIMS.add("claim-autoscaling", DATABRICKS_ONLY, subject="page")
def claim_autoscaling(page: Page) -> Iterator[Problem]:
    """
    Checks for the wrong advice to use autoscaling or spot instances with real-time mode.

    Why: A query holds its task slots for the batch and fails if it loses a node. Databricks discourages both options.

    Example:
        Enable autoscaling for real-time mode clusters.
    Use instead:
        Turn autoscaling off for real-time mode clusters.
    Source: [setup]
    """
    what = r"(?:auto-?scal(?:ing|e)|spot(?:\s+(?:instances?|vms?|nodes?|workers?))?|preemptible)\b"
    use = r"(?:enable|enabling|use|using|turn on|switch on|keep|choose|recommend(?:ed|s)?|supports?|prefer|with)"
    claim = re.compile(
        rf"\b{use}\b(?:\s+\w+){{0,3}}?\s+\**`?{what}|{what}`?\**\s*(?:is|are|should be|must be|can be)\s+(?:on|"
        rf"enabled|supported|recommended|fine|used)\b|"
        + in_next_cell(what, "(?:yes|on|enabled|supported|recommended)"),
        re.IGNORECASE,
    )
    message = "autoscaling and spot instances remove task slots that a real-time query holds for a whole batch"
    for sentence in page.claiming(claim.search, about=True):
        yield Problem(sentence.line, message, "recommend a fixed number of on-demand workers")
