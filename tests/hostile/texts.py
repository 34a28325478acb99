"""Hostile texts for `lint`: repeated, nested, damaged and encoded, each after a mistake that must be found."""

import json
import random
import re
from collections.abc import Callable

from tests.hostile.case import INPUT, Case, file
from tests.lint.case_files import cases_of_rules

SEED = 20261126
PYTHON = 'spark.readStream.format("kafka").load().writeStream.outputMode("update").trigger(realTime=True).start()\n'
SCALA = (
    'spark.readStream.format("kafka").load().writeStream.outputMode("append").trigger(Trigger.RealTime("5 minutes"))'
)
CLUSTER_JSON = '{"cluster_name": "rtm", "spark_version": "15.4.x-scala2.12", "num_workers": 4}'
TERRAFORM = 'resource "databricks_cluster" "rtm" {\n  cluster_name = "rtm"\n  spark_version = "15.4.x-scala2.12"\n}\n'
SQL = (
    "-- for queries in real-time mode\nSET pipelines.trigger = 'RealTime';\n"
    "SET spark.sql.streaming.stateStore.checkpointFormatVersion = 1;\n"
)
CELLS = '{"cells": [{"cell_type": "code", "source": %s},\n {"cell_type": "code", "source": %s}]}'
MISTAKES: dict[str, Callable[[str], str]] = {
    ".py": lambda text: PYTHON + text,
    ".md": lambda text: f"# Real-time mode of Spark\n\nUse `.trigger(realTime=True)`.\n\n{text}",
    ".ipynb": lambda text: CELLS % (json.dumps(PYTHON), json.dumps(text)),
    ".json": lambda text: f"[{CLUSTER_JSON}, {text}]",
    ".yaml": lambda text: f"a: {CLUSTER_JSON}\n{text}",
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
        "mark": b"\xef\xbb\xbf" + plain,
        "cut": plain + b"# \xf0\x9f",
        "nul": plain + b"\0" * 5000,
        "nul-between": plain.replace(b" ", b" \0"),
        "carriage-returns": plain.replace(b"\n", b"\r"),
        "bytes": plain + bytes(range(256)) * 200,
        "long": plain + b" " * 3_000_000,
    }


WORDS = "# Real-time mode of Spark\n\n"
CODE = "# spark realTime\n"
CLUSTER = "name: rtm\njob:\n  spark_version: x\n"
ALIASES = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10))
LAMBDAS = "f0 = lambda: 1\n" + "".join(f"f{n} = lambda: [{', '.join([f'f{n - 1}()'] * 40)}]\n" for n in range(1, 9))
CELL = '{{"cells": [{{"cell_type": "code", "source": [{}]}}]}}'

INPUTS = {
    "file-ignore-comments.py": "# rtm realTime spark\n" + "# rtm: file-ignore[\n" * 80_000,
    "blank-lines.md": "<!-- rtm realTime spark\n\nfile-ignore\n" + "\n" * 700_000,
    "aliases.yaml": CLUSTER + ALIASES,
    "list-of-itself.py": CODE + "a = [1]\n" + "a = [a, a]\n" * 60 + "foo(a)\n",
    "lambdas.py": CODE + LAMBDAS + "f8()\n",
    "doubled-text.py": CODE + "a = 'x'\n" + "a = a + a\n" * 45,
    "comments.scala": "// RealTime spark\n" + "/* x " * 40_000,
    "brackets.java": "// RealTime spark\n" + "f(" * 100_000,
    "lambdas.scala": "// RealTime spark\n" + "a => b -> c(d -> { e => f }) => " * 5000,
    "heredocs.tf": "# rtm spark_version\n" + "a = <<E\n" * 40_000,
    "settings.sql": "-- rtm\n" + "SET a.b = " * 100_000 + "SET a.b = 1;" * 50_000,
    "quotes.md": WORDS + ">" * 10_000 + "```python\n" + "> x\n" * 1000,
    "cell-lines.ipynb": CELL.format(",".join(f'\n"# realTime {n} \\u00e9\\n"' for n in range(4000))),
    "fences.md": WORDS + "```python\nrealTime\n```\ntext:\n" * 2000,
    # Inputs whose time would grow with the square of their length.
    "blank-lines.py": PYTHON + "\n" * 120_000,
    "one-line.json": f"[{', '.join([CLUSTER_JSON] * 6000)}]",
    "wide-rows.md": WORDS + "| a | b |\n|---|---|\n| " + "x | y " * 10_000 + "|\n| " + "`realTime=5` |" * 8000 + "\n",
    "questions.md": WORDS + "realTime " + "? " * 60_000 + "realTime\n",
    # Inputs whose memory would grow with the square of their length, and the largest files.
    "chain-of-options.py": CODE + "w = df.writeStream\n" + "".join(f"w = w.option('{n}', 1)\n" for n in range(20_000)),
    "queries-of-operators.py": CODE
    + "df = spark.readStream.load()\n"
    + "df = df.limit(1)\n" * 500
    + 'df.writeStream.trigger(realTime="5 minutes").start()\n' * 500,
    "too-many-lines.py": PYTHON + "x = 1\n" * 330_000,
    "f-string.py": CODE + "f'" + "{a}" * 100_000 + "'\n",
    "sequence.yaml": CLUSTER + "x: [" + "1," * 300_000 + "]\n",
    "dense-code.py": CODE + "a;" * 195_000,
    "too-dense-code.scala": "// RealTime spark\n" + "f()\n" * 110_000,
    "wide-table.md": WORDS + "a|" * 50_000 + "\n" + "-|" * 50_000 + "\n" + "|a|\n" * 50_000,
    "many-values.json": '{"name": "rtm", "num_workers": [' + "[]," * 600_000 + "0]}",
    "large-number.py": "w.trigger(realTime=0x" + "f" * 4000 + ")\nx = f'{0x" + "f" * 5000 + "}'\n",
}
"""Inputs at the limits of the linter, by file name."""

INCOMPLETE = {
    "lambdas.py": "too many paths",
    "chain-of-options.py": "too many paths",
    "too-dense-code.scala": "more than 300,000 tokens",
    "f-string.py": "more than 10,000 fields",
    "sequence.yaml": "more than 150,000 tokens",
    "too-many-lines.py": "more than 400,000 tokens",
    "file-ignore-comments.py": "more than 400,000 tokens",
    "many-values.json": "more than 400,000 tokens",
}
"""Inputs that are not checked to the end, with a part of the reported reason."""

WRITE = '.writeStream.format("console").outputMode("append").trigger(realTime=True).start()\n'
WRONG = 'spark.readStream.format("kafka").load()' + WRITE
USERS = "u = spark.read.table('u')\n"
FIXED = {
    "form feeds and tabs": "\x0cif x:\n\t" + WRONG + "\x0c\n",
    "mixed ends": WRONG + "x = 1\r\n" + WRONG + "y = 2\r" + WRONG,
    "letters": "é = '\U0001f600'; " + WRONG,
    "commented": "(" + WRONG.strip().replace(".trigger(", "# a\n.trigger( # b\n") + ")\n",
    "nested": "f(" * 80 + WRONG.strip() + ")" * 80 + "\n",
    "stars": WRONG.replace("realTime=True", "*a, **{'realTime': True}"),
    "import and code": "from pyspark.sql.streaming import Trigger; x = 1\n" + WRONG,
    "mark": "\ufeff" + WRONG.strip(),
    "many joins": USERS + "v = spark.readStream.load()\n" + "v = v.join(u, 'k')\n" * 400 + "v" + WRITE,
    "trigger in trigger": WRONG.replace("True", WRONG.strip()),
}
"""Python files for `lint --fix`, which may change them, but not damage them."""
_RNG = random.Random(f"{SEED} fixes")

CASES = [
    # The output names the limit of inputs beyond it.
    *[
        Case(f"lint {name}", ["lint", "."], file(name, text), named=[INCOMPLETE[name]] if name in INCOMPLETE else [],
             is_complete=name not in INCOMPLETE)
        for name, text in INPUTS.items()
    ],
    *_text_cases(36, "repeated", _repeated),
    *_text_cases(80, "damaged", _damaged),
    *[
        Case(f"lint --fix {name}", ["lint", "--fix", "."], file("job.py", text), writes=(f"{INPUT}/job.py",))
        for name, text in (FIXED | {f"damaged {number}": _damaged(_RNG, ".py") for number in range(20)}).items()
    ],
    *[
        Case(f"lint {kind}{suffix}", ["lint", f"{kind}{suffix}"], file(f"{kind}{suffix}", data),
             named=[f"{kind}{suffix}"])
        for suffix in (".py", ".md", ".yaml", ".scala")
        for kind, data in _encodings(MISTAKES[suffix]("")).items()
    ],
]  # fmt: skip
