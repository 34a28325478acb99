"""Damaged, random and repetitive files: the linter never raises an error, and needs little time."""

import random
import re
import time

from hypothesis import given, settings
from hypothesis import strategies as st

from spark_rtm.lint.engine import lint_text
from tests.lint.case_files import cases_of_rules

TEXTS = list(cases_of_rules().values())
TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
SUFFIXES = st.sampled_from([".py", ".md", ".ipynb", ".json", ".yaml", ".scala", ".java", ".sql", ".tf"])
TOKENS = sorted({token for text in TEXTS for token in TOKEN.findall(text)})
MAX_SECONDS = 5.0
MAX_LENGTH = 1_000_000
"""The inputs of `stress.py` are longer."""


def damaged(text: str, seed: int) -> str:
    """Delete, swap and append tokens of a text, or truncate it."""
    rng = random.Random(seed)
    tokens = TOKEN.findall(text) or [""]
    for _ in range(rng.randint(1, 8)):
        first, second = rng.randrange(len(tokens)), rng.randrange(len(tokens))
        match rng.randrange(4):
            case 0:
                tokens[first] = ""
            case 1:
                tokens[first], tokens[second] = tokens[second], tokens[first]
            case 2:
                tokens[first] += tokens[second]
            case _:
                tokens = tokens[: max(first, 1)]
    return "".join(tokens)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(TEXTS), st.sampled_from(TEXTS), st.integers(), SUFFIXES)
def test_damaged_cases_cause_findings_but_no_errors(text: str, other: str, seed: int, suffix: str) -> None:
    """Every finding in a damaged case file names an existing line."""
    mixed = damaged(text, seed) + damaged(other, seed + 1)

    findings = lint_text(mixed, f"damaged{suffix}")

    assert all(1 <= finding.line <= mixed.count("\n") + 1 for finding in findings)
    assert not [finding for finding in findings if "the linter failed" in finding.message]


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="`~#|>-*[]() \n\t:.=\"'{}realTimRTM\\_\x00\ud7ff", max_size=300), SUFFIXES)
def test_random_texts_cause_findings_but_no_errors(text: str, suffix: str) -> None:
    """Every finding in a random text names an existing line."""
    full_text = f"real-time mode realTime\n{text}"

    findings = lint_text(full_text, f"random{suffix}")

    assert all(1 <= finding.line <= full_text.count("\n") + 1 for finding in findings)
    assert not [finding for finding in findings if "the linter failed" in finding.message]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from(TOKENS), min_size=1, max_size=3),
    st.sampled_from([100, 1000, 10_000, 100_000]),
    SUFFIXES,
)
def test_repeated_tokens_cause_no_long_checks(tokens: list[str], count: int, suffix: str) -> None:
    """One to three tokens of the case files, repeated up to 100,000 times, take at most 5 s of processor time."""
    unit = "".join(tokens)
    text = "real-time mode realTime rtm num_workers\n" + unit * min(count, MAX_LENGTH // len(unit))
    started_at = time.process_time()

    findings = lint_text(text, f"repetitive{suffix}")

    assert MAX_SECONDS >= time.process_time() - started_at
    assert not [finding for finding in findings if "the linter failed" in finding.message]
