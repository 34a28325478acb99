"""Render the published run of `prove`: the output for one query."""

import textwrap
from pathlib import Path
from typing import Any

from benchmarks.results.format import measured
from spark_rtm.prove.verdicts import Verdict, summary

PROVE = "references/measured/prove.json"
COMMAND = "rtm prove examples/alerts/payments_to_flagged.py:payments_to_flagged"
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
