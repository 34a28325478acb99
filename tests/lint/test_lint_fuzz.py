"""Random Python, Markdown and JSON: the linter never fails, whatever it is given."""

import random
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from scripts.lint.engine import lint_text
from tests.lint.test_lint_cases import FILES

TEXTS = [path.read_text(encoding="utf-8") for path in FILES]
TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
SUFFIXES = st.sampled_from([".py", ".md", ".ipynb", ".json", ".yaml", ".scala"])


def damaged(text: str, seed: int) -> str:
    """Delete, swap and double tokens of a text, or cut it off."""
    chance = random.Random(seed)
    tokens = TOKEN.findall(text) or [""]
    for _ in range(chance.randint(1, 8)):
        here, there = chance.randrange(len(tokens)), chance.randrange(len(tokens))
        match chance.randrange(4):
            case 0:
                tokens[here] = ""
            case 1:
                tokens[here], tokens[there] = tokens[there], tokens[here]
            case 2:
                tokens[here] += tokens[there]
            case _:
                tokens = tokens[: max(here, 1)]
    return "".join(tokens)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(TEXTS), st.sampled_from(TEXTS), st.integers(), SUFFIXES)
def test_damaged_cases_give_findings_and_no_failure(text: str, other: str, seed: int, suffix: str) -> None:
    """Whatever is left of a case, each finding names a line of it."""
    mixed = damaged(text, seed) + damaged(other, seed + 1)

    found = lint_text(mixed, f"damaged{suffix}")

    assert all(1 <= finding.line <= mixed.count("\n") + 1 for finding in found)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="`~#|>-*[]() \n\t:.=\"'{}realTimRTM\\_\x00\ud7ff", max_size=300), SUFFIXES)
def test_random_texts_give_findings_and_no_failure(text: str, suffix: str) -> None:
    """Not even text without any sense makes the linter fail."""
    whole = f"real-time mode realTime\n{text}"

    found = lint_text(whole, f"random{suffix}")

    assert all(1 <= finding.line <= whole.count("\n") + 1 for finding in found)
