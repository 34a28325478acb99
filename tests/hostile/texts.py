"""Texts for `lint`: repeated, nested, damaged and encoded texts, each after a mistake that must be found."""

import json
import random
import re
from collections.abc import Callable

from tests.hostile.case import Case, file
from tests.lint.case_files import cases_of_rules
from tests.lint.stress import INCOMPLETE, INPUTS

SEED = 20261126
PYTHON = 'spark.readStream.format("kafka").load().writeStream.outputMode("update").trigger(realTime=True).start()\n'
SCALA = (
    'spark.readStream.format("kafka").load().writeStream.outputMode("append").trigger(Trigger.RealTime("5 minutes"))'
)
CLUSTER = '{"cluster_name": "rtm", "spark_version": "15.4.x-scala2.12", "num_workers": 4}'
TERRAFORM = 'resource "databricks_cluster" "rtm" {\n  cluster_name = "rtm"\n  spark_version = "15.4.x-scala2.12"\n}\n'
SQL = (
    "-- for queries in real-time mode\nSET pipelines.trigger = 'RealTime';\n"
    "SET spark.sql.streaming.stateStore.checkpointFormatVersion = 1;\n"
)
CELL = '{"cells": [{"cell_type": "code", "source": %s},\n {"cell_type": "code", "source": %s}]}'
MISTAKES: dict[str, Callable[[str], str]] = {
    ".py": lambda text: PYTHON + text,
    ".md": lambda text: f"# Real-time mode\n\nUse `.trigger(realTime=True)`.\n\n{text}",
    ".ipynb": lambda text: CELL % (json.dumps(PYTHON), json.dumps(text)),
    ".json": lambda text: f"[{CLUSTER}, {text}]",
    ".yaml": lambda text: f"a: {CLUSTER}\n{text}",
    ".tf": lambda text: f"{TERRAFORM}locals {{\n{text}\n}}\n",
    ".scala": lambda text: f"object Job {{ val mistake = {SCALA}.start() }}\n{text}",
    ".java": lambda text: f"class Job {{ void run() {{ {SCALA}.start(); }} }}\n{text}",
    ".sql": lambda text: f"{SQL}{text}",
}
"""The beginning of a text with a mistake, by format."""
TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
TEXTS = [text for _, text in sorted(cases_of_rules().items())]
TOKENS = sorted({token for text in TEXTS for token in TOKEN.findall(text)} - {"file-ignore"})
ATOMS = [
    "(", "[", "{", "<", '"', "'", '"""', "`", "```\n", "<!--", "/*", "#", "//", "--", "\\", "\n", "\t", " ", ":", "- ",
    "> ", "|", "${", "<<E\n", "&a ", "*a ", "!!python/object ", "? ", "if x:\n ", "lambda: ", "a.", "f(", "rtm: ",
    "realTime ", "\u2028", "\x0c", "\x00", "\x1b[2J", "\u202e", "0", "1e999 ", "-", "@a\n", "not ", "await ", "*", "**",
    "~", "$", "f'{", "é", "\U0001f600",
]  # fmt: skip
STYLES = [[], ["--format", "sarif"], ["--format", "json"], ["--format", "github"], ["--claims"]]


def _repeated(rng: random.Random, suffix: str) -> str:
    unit = "".join(rng.choice([*ATOMS, rng.choice(TOKENS)]) for _ in range(rng.randint(1, 3)))
    return MISTAKES[suffix](unit * (rng.choice([50, 1000, 10_000, 60_000, 250_000]) // len(unit) + 1))


def _damaged(rng: random.Random, suffix: str) -> str:
    parts = []
    for text in rng.sample(TEXTS, 2):
        tokens = TOKEN.findall(text) or [""]
        for _ in range(rng.randint(1, 9)):
            first, second = rng.randrange(len(tokens)), rng.randrange(len(tokens))
            tokens[first] = rng.choice(["", tokens[second], tokens[first] * 30, rng.choice(ATOMS)])
        parts.append("".join(tokens))
    return MISTAKES[suffix]("".join(parts))


def _text_cases(count: int, kind: str, text: Callable[[random.Random, str], str]) -> list[Case]:
    rng = random.Random(f"{SEED} {kind}")
    cases = []
    for number in range(count):
        suffix = list(MISTAKES)[number % len(MISTAKES)]
        name, style = f"{kind}{number}{suffix}", rng.choice(STYLES)
        named = [] if style == ["--claims"] else [name]
        cases.append(Case(f"lint {name}", ["lint", name, *style], file(name, text(rng, suffix)), named=named))
    return cases


def _encodings(text: str) -> dict[str, bytes]:
    plain = text.encode()
    return {
        "latin": text.replace("rtm", "rtm é").encode("latin-1"),
        "utf-16": text.encode("utf-16"),
        "utf-16-le": text.encode("utf-16-le"),
        "utf-16-be": text.encode("utf-16-be"),
        "utf-32": text.encode("utf-32"),
        "mark": b"\xef\xbb\xbf" + plain,
        "two-marks": b"\xef\xbb\xbf" * 2 + plain,
        "surrogate": plain + b"# \xed\xa0\x80\n",
        "cut": plain + b"# \xf0\x9f",
        "nul": plain + b"\0" * 5000,
        "nul-between": plain.replace(b" ", b" \0"),
        "carriage-returns": plain.replace(b"\n", b"\r"),
        "separators": plain.replace(b"\n", "\u2028\n\x85\n".encode()),
        "bytes": plain + bytes(range(256)) * 200,
        "long": plain + b" " * 3_000_000,
    }


CASES = [
    # The inputs at the limits of the linter; the output names the limit of those beyond it.
    *[
        Case(f"lint {name}", ["lint", "."], file(name, text), named=[INCOMPLETE[name]] if name in INCOMPLETE else [],
             is_complete=name not in INCOMPLETE)
        for name, text in INPUTS.items()
    ],
    *_text_cases(27, "repeated", _repeated),
    *_text_cases(27, "damaged", _damaged),
    *[
        Case(f"lint {kind}{suffix}", ["lint", f"{kind}{suffix}"], file(f"{kind}{suffix}", data),
             named=[f"{kind}{suffix}"])
        for suffix in (".py", ".md", ".yaml", ".scala")
        for kind, data in _encodings(MISTAKES[suffix]("")).items()
    ],
]  # fmt: skip
