"""Rules for claims about Databricks compute: Photon, runtime version, serverless, autoscaling."""

import re
from collections.abc import Iterator

from spark_rtm.lint.prose.page import Page, Sentence
from spark_rtm.lint.prose.polarity import clauses, plain
from spark_rtm.lint.prose.relations.compute import recommends
from spark_rtm.lint.prose.relations.runtime import suffices
from spark_rtm.lint.prose.topics import names_topic
from spark_rtm.lint.rules.cluster import MIN_RUNTIME
from spark_rtm.lint.rules.rule import DATABRICKS_ONLY, Problem, Rules

COMPUTE_CLAIMS = Rules()
PHOTON = r"(?<!non-)(?<!non )\bphoton\b(?!-free| events?| counts?| counting)"
AUTOSCALING = r"(?<!lakebase )\bauto-?scal(?:ing|e)\b"
SPOT = (
    r"\bspot\s+(?:instances?|vms?|nodes?|workers?|capacity|markets?|pric\w+|machines?|executors?|"
    r"servers?)\b|\bon spot\b|\bpreemptible\b|^spot(?=:)"
)
SERVERLESS = r"\bserverless\b(?! (?:sql )?warehouse)"
PIPELINES = re.compile(r"\b(?:pipelines?|lakeflow|sdp|ldp|dlt|declarative|warehouses?)\b", re.IGNORECASE)
VERSION = re.compile(
    r"\b(?:DBR|Databricks(?: Runtime)?|runtimes?)\b(?: version)?[\s:]*(?:>=|\u2265|v)?\s*"
    r"(\d{1,2})\.(\d+)\b(?P<more>\s*(?:LTS)?\s*(?:\+|(?:or|and) (?:later|above|newer|higher|up)))?|"
    r"\b(?P<major>\d{1,2})(?:\.(?P<minor>\d))?\b(?=\s*LTS)(?P<later>\s*LTS\s*(?:\+|(?:or|and) (?:later|above|newer|"
    r"higher|up)))?",
    re.IGNORECASE,
)
REQUIREMENT = re.compile(
    r"\b(?:requir(?:es?|ed|ements?)|needs?|needed|minimum|at least|from|since|first|available (?:in|on|from)|"
    r"supported (?:in|"
    r"on|from|since)|works (?:on|with|from)|starting (?:with|in)|runs on|part of|(?:introduced|added|arrived) (?:in|"
    r"with)|enough|sufficient|upgrade\w*)\b|>=|\u2265",
    re.IGNORECASE,
)
BEYOND = re.compile(r"\b(?:than|above|after|beyond|over|up to|until|below|before)\W*$", re.IGNORECASE)
CONFIRMED = re.compile(
    r":\W*(?:yes|supported|\u2705|\u2713)\W*$|^\W*(?:LTS)?\W*(?:supports?|has|have|includes?|brings?|comes? with|"
    r"suffices?|,? you can (?:already )?(?:use|run|start|enable)|"
    r"works?|can run|is (?:enough|fine|sufficient|supported))\b",
    re.IGNORECASE,
)
OF_A_RUNTIME = re.compile(
    r"\b(?:runtimes?|versions?|requir\w+|DBR|databricks|minimum|compute|clusters?|note|A|scala|java|python|aws|"
    r"azure|gcp)\b",
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
    for sentence in _recommended(page, PHOTON):
        line = sentence.line_of(PHOTON)
        yield Problem(line, "real-time mode does not run with Photon", "advise readers to turn Photon off")


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
    if any(version >= MIN_RUNTIME for each in page.sentences for version, _ in _versions(each.text)):
        return
    yield from _sufficient(page)
    for sentence in page.claims(VERSION.pattern):
        for version, written in _low_versions(sentence):
            message = f"Databricks Runtime {version} does not support real-time mode"
            found = clauses(sentence.full_text, re.escape(written))
            is_subject = sentence.is_statement_of_table or all(map(sentence.has_plain_subject, found))
            if is_subject and any(clause.negations % 2 == 0 for clause in found):
                yield Problem(
                    sentence.line_of(re.escape(written)), message, "write 16.4 LTS or later, preferably 18 LTS"
                )


def _sufficient(page: Page) -> Iterator[Problem]:
    """Yield each version that is too low, although a sentence relates it to real-time mode as sufficient."""
    for sentence in page.relations(VERSION.pattern):
        for (major, minor), match in _versions(sentence.text):
            if suffices(sentence.full_text, match[0], is_named=sentence.is_context_about):
                message = f"Databricks Runtime {major}.{minor} does not support real-time mode"
                line = sentence.line_of(re.escape(match[0]))
                yield Problem(line, message, "write 16.4 LTS or later, preferably 18 LTS")


def _low_versions(sentence: Sentence) -> Iterator[tuple[str, str]]:
    """Yield each version that the sentence calls sufficient for real-time mode, and the text that names it."""
    if not VERSION.search(sentence.text):
        return
    text = plain(sentence.full_text)
    if not sentence.is_about:
        return
    label, colon, _ = text.partition(":")
    if (
        colon
        and len(label.split()) <= 6
        and not (names_topic(label) or OF_A_RUNTIME.search(label) or VERSION.search(label))
    ):
        return
    for version, match in _versions(text):
        requirement = REQUIREMENT.search(text)
        is_required = requirement is not None and requirement.end() <= match.start()
        is_confirmed = bool(CONFIRMED.search(text[match.end() :]))
        if BEYOND.search(text[: match.start()]):
            continue
        if match["more"] or match["later"] or is_required or is_confirmed:
            yield f"{version[0]}.{version[1]}", match[0]


def _versions(text: str) -> Iterator[tuple[tuple[int, int], re.Match[str]]]:
    """Yield each version of Databricks Runtime that a text names."""
    if VERSION.search(text):
        for match in VERSION.finditer(plain(text)):
            yield (int(match[1] or match["major"]), int(match[2] or match["minor"] or 0)), match


@COMPUTE_CLAIMS.add("claim-serverless", DATABRICKS_ONLY, subject="page")
def claim_serverless(page: Page) -> Iterator[Problem]:
    """
    Checks for the wrong advice to run real-time mode in serverless notebooks or jobs.

    Why: Serverless notebooks and jobs refuse unbounded triggers. Declarative pipelines can run real-time mode.

    Example:
        Spark's real-time mode runs on serverless compute.
    Use instead:
        Real-time mode runs on classic compute.
    Source: [setup]
    """
    for sentence in _recommended(page, SERVERLESS):
        if not PIPELINES.search(" ".join((*sentence.context[-2:], *sentence.context[:1], sentence.full_text))):
            message = "real-time mode does not run in serverless notebooks or jobs"
            yield Problem(sentence.line_of(SERVERLESS), message, "recommend classic compute or a declarative pipeline")


@COMPUTE_CLAIMS.add("claim-autoscaling", DATABRICKS_ONLY, subject="page")
def claim_autoscaling(page: Page) -> Iterator[Problem]:
    """
    Checks for the wrong advice to use autoscaling or spot instances with real-time mode.

    Why: A query holds its task slots for the batch and fails if it loses a node. Databricks discourages both options.

    Example:
        Enable autoscaling for Spark real-time mode clusters.
    Use instead:
        Turn autoscaling off for real-time mode clusters.
    Source: [setup]
    """
    message = "autoscaling and spot instances remove task slots that a real-time query holds for a whole batch"
    for subject in (AUTOSCALING, SPOT):
        for sentence in _recommended(page, subject):
            yield Problem(sentence.line_of(subject), message, "recommend a fixed number of on-demand workers")


def _recommended(page: Page, subject: str) -> Iterator[Sentence]:
    """Yield each sentence that recommends a subject, which is a pattern."""
    yield from (sentence for sentence, _ in page.advice(subject))
    found = [
        sentence
        for sentence in page.relations(subject)
        if recommends(sentence.full_text, subject, is_named=sentence.is_mode_just_named)
    ]
    if found and not page.is_denied(subject, apart_from=found):
        yield from found
