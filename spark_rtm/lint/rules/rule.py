"""Define lint rules with their sections and sources, and the groups that register them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from textwrap import indent
from typing import Any

from spark_rtm import DOCUMENTATION
from spark_rtm.lint.problem import Problem
from spark_rtm.lint.spark.module import Module
from spark_rtm.text.finding import DATABRICKS, ENGINES, OSS

BOTH, OSS_ONLY, DATABRICKS_ONLY = ENGINES, (OSS,), (DATABRICKS,)
ALLOWLIST_CONDITION = "OPERATOR_OR_SINK_NOT_IN_ALLOWLIST"
PART = re.compile(r"^(Why|Reported at|Both engines|OSS|Databricks|Example|Use instead|Source):[ \n]", re.MULTILINE)
LABEL = re.compile(r"\[([^\]]+)\](?!\()")
CODE_PARTS = {"Example", "Use instead"}
LABELS = {BOTH: "Both engines", OSS_ONLY: "OSS", DATABRICKS_ONLY: "Databricks"}
"""Docstring labels for findings on both engines, and on one engine only."""
AZURE = "https://learn.microsoft.com/en-us/azure/databricks/structured-streaming"
SDK = "https://databricks.github.io/sdk-js/api"
ERROR_LIST = "https://docs.databricks.com/gcp/en/error-messages/streaming-real-time-mode-error-class"

CITATIONS = {
    "async": f'{AZURE}/async-progress-checking "read 2026-11-23"',
    "error list": f'{ERROR_LIST} "read 2026-11-23"',
    "guide": 'https://spark.apache.org/docs/4.3.0/streaming/real-time-mode.html "read 2026-11-23"',
    "limitations": f'{AZURE}/real-time/limitations "read 2026-11-23"',
    "instances": f'{SDK}/interfaces/_databricks_sdk-jobs.v2.AwsAttributes.html "read 2026-11-24"',
    "pipelines": 'https://learn.microsoft.com/en-us/azure/databricks/ldp/real-time "read 2026-11-24"',
    "reference": f'{AZURE}/real-time/reference "read 2026-11-23"',
    "setup": f'{AZURE}/real-time/setup "read 2026-11-23"',
    "test": "../tests/lint/test_lint_programs_on_spark.py",
    "triggers": 'https://docs.databricks.com/aws/en/structured-streaming/triggers "read 2026-11-20"',
}
"""Each source's URL and the date on which it was read."""


Check = Callable[..., Iterator[Problem]]


@dataclass(frozen=True)
class Rule:
    """One lint rule. The docstring of `check` is the text of the rule's page section and of `lint --explain`."""

    id: str
    subject: str
    """The kind of object that the check takes: a `module`, a `page` or a `cluster`."""
    engines: tuple[str, ...]
    severity: str
    check: Check
    what: str = ""
    """The sentence that begins with "Checks for"."""
    why: str = ""
    reported_at: str = ""
    """The code that a finding points to, or an empty string for rules about text."""
    example: str = ""
    use_instead: str = ""
    source: str = ""
    """The labels of the sources in `CITATIONS`, such as `[setup]`."""
    cases: Mapping[str, str] = field(default_factory=dict, hash=False)
    """The text about each engine, keyed by its label from `LABELS`."""

    @cached_property
    def reported_words(self) -> list[str]:
        """Return the methods, options and keys in `reported_at`. A finding contains their columns."""
        return re.findall(r"`([\w.]+)`", self.reported_at)

    @property
    def definitions(self) -> list[str]:
        """Return a Markdown link definition for each label in `source`."""
        return [f"[{label}]: {CITATIONS[label]}" for label in LABEL.findall(self.source)]

    @property
    def help_uri(self) -> str:
        """Return the rule's URL on the site, or an empty string while the site has no address."""
        return f"{DOCUMENTATION}/references/lint_rules/{self.id}.html" if DOCUMENTATION else ""

    @property
    def engine_text(self) -> str:
        """Return the rule's severity and engines as text."""
        cases = [f"{label}: {text}" for label, text in self.cases.items() if text]
        if cases:
            return f"{self.severity.capitalize()}. {' '.join(cases)}"
        return f"{self.severity.capitalize()} on {next(iter(self.cases)).replace('Both', 'both')}."

    def explanation(self) -> str:
        """Return the rule's section as plain text, with the URLs of the sources."""
        # A source is a URL, or a path from the rules page to a test, which only a checkout contains.
        found = {
            label: re.sub(r"^\.\./(\S+)", r"\1 in the repository", CITATIONS[label])
            for label in LABEL.findall(self.source)
        }
        parts = {
            "What it does": self.what,
            "Why is this bad?": self.why,
            "Reported at": self.reported_at,
            "Example": self.example,
            "Use instead": self.use_instead,
            "Engines": self.engine_text,
            "Source": "\n".join(f"{label}: {source}" for label, source in found.items()) or self.source,
        }
        return "\n\n".join([self.id, *[f"{title}\n{indent(text, '  ')}" for title, text in parts.items() if text]])


def _parts(check: Check, engines: tuple[str, ...]) -> dict[str, Any]:
    """Return a rule's text fields, keyed by field name, from its check's docstring."""
    pieces = PART.split(inspect.getdoc(check) or "")
    parts = {
        name: inspect.cleandoc(text).strip() if name in CODE_PARTS else " ".join(text.split())
        for name, text in zip(["What", *pieces[1::2]], pieces[::2], strict=True)
    }
    cases = {label: parts.pop(label) for label in LABELS.values() if label in parts} or {LABELS[engines]: ""}
    return {"cases": cases, **{name.lower().replace(" ", "_"): text for name, text in parts.items()}}


RuleProblem = tuple[Rule, Problem]


class Rules(list[Rule]):
    """A group of rules in definition order."""

    def add(
        self, rule_id: str, engines: tuple[str, ...] = BOTH, severity: str = "error", subject: str = "module"
    ) -> Callable[[Check], Check]:
        """Return a decorator that registers a check. A check with the subject `query` runs on each real-time query."""

        def register(check: Check) -> Check:
            for_module, kind = (_of_each_query(check), "module") if subject == "query" else (check, subject)
            self.append(Rule(rule_id, kind, engines, severity, for_module, **_parts(check, engines)))
            return check

        return register


def _of_each_query(check: Check) -> Check:
    @wraps(check)
    def checked(module: Module) -> Iterator[Problem]:
        for query in module.real_time:
            yield from (replace(problem, lines=query.writer.lines) for problem in check(query))

    return checked


UNCHECKED = Rule("unchecked", "file", BOTH, "warning", lambda _: iter(()))
"""Rule for unchecked code and text. A finding is not a mistake in the code, but shows that a run was incomplete."""
