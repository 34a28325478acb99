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
    lines = [line for verdict in content["verdicts"] for line in _lines(verdict)]
    lines.append(summary([Verdict(**verdict) for verdict in content["verdicts"]]))
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


def _lines(verdict: dict[str, Any]) -> list[str]:
    place = f"{verdict['path']}:{verdict['line']}: " if verdict["line"] else ""
    page = f"see {verdict['page']}" if verdict["page"] else ""
    text = "; ".join(part for part in (f"{place}{verdict['evidence']}", verdict["fix"], page) if part)
    first = f"{verdict['status']:<9} {verdict['check']:<8} "
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=INDENT, break_on_hyphens=False)
