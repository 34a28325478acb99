"""Render the published runs of `prove`: the output for one query, and the verdicts on every query of the repository."""

import textwrap
from pathlib import Path
from typing import Any

from benchmarks.results.format import measured, table
from spark_rtm.prove.verdicts.verdict import Verdict, summary

PROVE = "references/measured/prove.json"
EXAMPLES = "references/measured/prove_examples.json"
COMMAND = "python scripts/skills.py prove examples/alerts/payments_to_flagged.py:payments_to_flagged"
WIDTH = 110
INDENT = " " * 19


def output(root: Path, _: str) -> str:
    """Return the command, its conditions and its output, with long lines wrapped."""
    content = measured(root, PROVE, f"{COMMAND} --format json > {PROVE}")
    known = content["conditions"]
    verdicts = [Verdict(**verdict) for verdict in content["verdicts"]]
    options: dict[str, Any] = {"width": WIDTH, "subsequent_indent": INDENT, "break_on_hyphens": False}
    lines = [line for verdict in verdicts for line in textwrap.wrap(verdict.text, **options)]
    lines.append(summary(verdicts))
    return (
        f"Output of `{known['command']}` on {known['date']}, after {known['seconds']} s on {known['cores']} cores with "
        f"PySpark {known['pyspark']}; long lines are wrapped here:\n\n```text\n" + "\n".join(lines) + "\n```\n"
    )


def examples(root: Path, _: str) -> str:
    """Return a table of this repository's queries, with the number of checks and the verdicts that are not good."""
    content = measured(root, EXAMPLES, "make prove-examples")
    known = content["conditions"]
    named = [(row["target"].rpartition(":")[2], row["verdicts"]) for row in content["targets"]]
    rows = [(f"`{name}`", str(len(verdicts)), _rest(verdicts)) for name, verdicts in named]
    text = f"Output of `{known['command']}`, {known['date']}, PySpark {known['pyspark']}:\n"
    return f"{text}\n{table(('query', 'checks', 'not good'), rows)}"


def _rest(verdicts: dict[str, str]) -> str:
    found = [f"`{check}` {textwrap.shorten(text, 120)}" for check, text in verdicts.items() if text != "good"]
    return "; ".join(found) or "none"
