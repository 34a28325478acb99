"""
Cases for the rules about prose: rules are developed on most of them, and measured on those in the folder `held`.

A case file holds many cases. Each case begins with `=== name | kind | theme | source` and is a page, a Markdown cell of
a notebook, or a Python module. A comment `<!-- expect: rule -->` marks each line that must be reported; the linter does
not see these comments. The cases repeat what public pages say, in other words; `SOURCES` lists these pages.

As a program, this module prints how many marked lines the linter finds, and how many other lines it reports.
With `--show`, it also prints each miss and each false alarm of the half that is used for development.
"""

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from spark_rtm.lint.engine import lint_text

FOLDER = Path(__file__).with_name("prose")
HELD = FOLDER / "held"
DEVELOPMENT, UNSEEN = "development", "unseen"
MARK = re.compile(r"[ ]*<!-- expect: ([a-z-]+(?:, [a-z-]+)*) -->")
HEADER = re.compile(r"^=== ([\w-]+) \| ([\w-]+) \| ([\w-]+) \| ([\w-]+)\n", re.MULTILINE)
SOURCES = {
    "blogposts": "https://github.com/databricks-solutions/databricks-blogposts/pull/78",
    "concepts": "https://docs.databricks.com/gcp/en/structured-streaming/real-time/concepts",
    "cralle": "https://medium.com/@cralle/sub-second-latency-in-spark-real-time-mode-is-generally-available-d679f1d577fc",
    "dais": "README of a public demonstration of RTM from the Data and AI Summit 2025",
    "demo": "public notes of a demonstration that sets `spark.sql.streaming.realTimeMode.enabled`",
    "flink": "public notes on sub-second latency, https://www.youtube.com/watch?v=w6R0aUlZaAQ",
    "fraud": "public notebooks on fraud detection in real-time mode",
    "internals": "https://books.japila.pl/spark-structured-streaming-internals/real-time-mode",
    "kafka-skill": "public skill file named kafka-to-kafka-streaming-realtime",
    "limits": "https://docs.databricks.com/compute/serverless/limitations",
    "meme": "https://www.streamingmeme.com/articles/sub-second-latency-in-spark-real-time-mode-is-generally-available"
    "-on-databricks-by-christian-hansen-apr-2026-medium",
    "own": "written for the rules before they ran on these cases",
    "shirokoff": "https://shirokoff.ca/blog/spark-real-time-mode-streaming.md",
    "sparkingscala": "https://sparkingscala.com/latest/2026/03/28/structured-streaming-real-time-mode",
    "start": "https://docs.databricks.com/gcp/en/structured-streaming/real-time-get-started",
    "summit": "https://databricks.com/dataaisummit/session/real-time-mode-technical-deep-dive-how-we-built-sub-300"
    "-millisecond",
    "flare": "https://github.com/moderndatacompany/dataos.info/blob/main/docs/resources/stacks/flare/case_scenario/streaming_jobs.md",
    "photon-docs": "https://docs.azure.cn/databricks/clusters/photon",
    "tiers": "https://tadata.fr/posts/real-time-analytics",
    "tothenew": "https://www.tothenew.com/blog/spark-structured-streaming/",
    "tuning-skill": "public skill files named trigger-tuning and trigger-and-cost-optimization",
    "guide": "https://spark.apache.org/docs/4.3.0/streaming/real-time-mode.html",
    "kit": "https://github.com/databricks-solutions/ai-dev-kit/pull/321",
    "ldp": "https://docs.databricks.com/aws/en/ldp/real-time",
    "other": "public pages of other products with a real-time mode",
    "reference": "https://docs.databricks.com/aws/en/structured-streaming/real-time/reference",
    "setup": "https://docs.databricks.com/gcp/en/structured-streaming/real-time/setup",
    "show": "https://github.com/lisancao/lakehouse-at-home",
    "skills": "https://github.com/databricks/databricks-agent-skills/pull/157",
    "spark-pr": "https://github.com/apache/spark/pull/56314",
    "waymark": "https://mcp.waymark.network/r/1027b704-a93f-4f91-ab8a-9b69d0d5f1cf",
}
"""The public pages whose statements and forms the cases repeat."""

Found = frozenset[tuple[int, str]]


@dataclass(frozen=True)
class Case:
    """A text, the form in which it is linted, and the lines and rules that the linter must report."""

    name: str
    kind: str
    theme: str
    source: str
    text: str
    expected: Found
    half: str
    """Whether the rules were developed on the case."""

    def found(self) -> Found:
        """Return the lines of the case and the rules that the linter reports for them."""
        if self.kind == "cell":
            return self.found_in_notebook()
        suffix = ".py" if self.kind in {"comment", "docstring", "module"} else ".md"
        return frozenset((finding.line, finding.rule) for finding in lint_text(self.text, self.name + suffix))

    def found_in_notebook(self) -> Found:
        """Return the lines that the linter reports if the case is a cell of an `.ipynb` file."""
        cell = {"cell_type": "markdown", "source": self.text.splitlines(keepends=True)}
        text = json.dumps({"cells": [cell]}, indent=1)
        first_line = text[: text.index('"source"')].count("\n") + 1
        return frozenset((finding.line - first_line, finding.rule) for finding in lint_text(text, "case.ipynb"))

    def found_in_export(self) -> Found:
        """Return the lines that the linter reports if the case is a cell of an exported Databricks notebook."""
        lines = ["# Databricks notebook source", "# MAGIC %md"]
        lines += [f"# MAGIC {line}".rstrip() for line in self.text.splitlines()]
        return frozenset((finding.line - 2, finding.rule) for finding in lint_text("\n".join(lines), "case.py"))


@cache
def all_cases() -> tuple[Case, ...]:
    """Return the cases of all case files."""
    return tuple(
        case
        for path in sorted(FOLDER.rglob("*.cases"))
        for case in cases_of(path.read_text("utf-8"), UNSEEN if path.parent == HELD else DEVELOPMENT)
    )


def cases_of(text: str, half: str) -> Iterable[Case]:
    """Yield the cases of a case file."""
    pieces = HEADER.split(text)
    for name, kind, theme, source, marked in zip(*[iter(pieces[1:])] * 5, strict=True):
        lines = marked.rstrip().splitlines()
        expected = {
            (number, rule)
            for number, line in enumerate(lines, 1)
            for match in MARK.finditer(line)
            for rule in match[1].split(", ")
        }
        yield Case(name, kind, theme, source, MARK.sub("", "\n".join(lines)) + "\n", frozenset(expected), half)


@dataclass(frozen=True)
class Score:
    """How many of the expected findings were found, and how many other findings there were."""

    found: int
    missed: int
    false_alarms: int

    @property
    def precision(self) -> float:
        """The share of findings that were expected, and 1 without findings."""
        findings = self.found + self.false_alarms
        return self.found / findings if findings else 1.0

    @property
    def recall(self) -> float:
        """The share of expected findings that were found, and 1 if none was expected."""
        expected = self.found + self.missed
        return self.found / expected if expected else 1.0


def score(cases: Iterable[Case]) -> Score:
    """Return the score of the linter on the given cases."""
    pairs = [(case.expected, case.found()) for case in cases]
    return Score(
        sum(len(expected & found) for expected, found in pairs),
        sum(len(expected - found) for expected, found in pairs),
        sum(len(found - expected) for expected, found in pairs),
    )


def main() -> None:
    """Print the score of each half and kind, and with `--show` the mistakes in the half for development."""
    groups: dict[tuple[str, str], list[Case]] = defaultdict(list)
    for case in all_cases():
        groups[case.half, case.kind].append(case)
        groups[case.half, "all"].append(case)
        groups[case.half, f"theme {case.theme}"].append(case)
    for (half, kind), cases in sorted(groups.items()):
        result = score(cases)
        sys.stdout.write(
            f"{half:12} {kind:18} cases {len(cases):3}  found {result.found:3}  missed {result.missed:3}  "
            f"false {result.false_alarms:3}  precision {result.precision:.3f}  recall {result.recall:.3f}\n"
        )
    if "--show" in sys.argv:
        for case in groups[DEVELOPMENT, "all"]:
            found = case.found()
            for label, problems in (("missed", case.expected - found), ("false", found - case.expected)):
                for line, rule in sorted(problems):
                    sys.stdout.write(f"{label} {case.name} {rule}: {case.text.splitlines()[line - 1]}\n")


if __name__ == "__main__":
    main()
