"""Damaged and random files: the linter never raises an error. `tests/hostile` has repetitive ones."""

import random
import re

from hypothesis import strategies as st

from tests.lint.case_files import cases_of_rules

TEXTS = list(cases_of_rules().values())
TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
SUFFIXES = st.sampled_from([".py", ".md", ".ipynb", ".json", ".yaml", ".scala", ".java", ".sql", ".tf"])


def damaged(text: str, seed: int) -> str:
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
