import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from scripts.pack import files
from scripts.pack.checks.advice import check_advice
from scripts.pack.checks.evidence import check_evidence
from scripts.pack.checks.fences import check_blocking, check_fences
from scripts.pack.checks.links import check_links, check_orphans
from scripts.pack.checks.owners import check_owners
from scripts.pack.checks.skill import (
    MAX_PAGES,
    MAX_PAGES_BYTES,
    MAX_SKILL_BYTES,
    check_budgets,
    check_frontmatter,
)
from scripts.pack.manifest import SCHEMA
from scripts.pack.validate import CHECKS, check_generated, validate
from spark_rtm.text.finding import Finding

Check = Callable[[Path], Iterator[Finding]]
PAGE, LOST = "references/real_time_mode.md", "references/lost.md"
SKILL, MANIFEST = files.SKILL, files.MANIFEST
TICKS = "```"


def _write(root: Path, path: str, text: str) -> None:
    (root / path).write_text(text, encoding="utf-8")


def _replace(root: Path, path: str, old: str, new: str, count: int = 1) -> None:
    text = (root / path).read_text(encoding="utf-8")
    assert old in text, f"{path} no longer contains {old!r}"
    _write(root, path, text.replace(old, new, count))


def _append(root: Path, path: str, text: str) -> None:
    _write(root, path, (root / path).read_text(encoding="utf-8") + text)


def _remove(root: Path, path: str) -> None:
    (root / path).unlink()


ROWS = "\n| what | evidence |\n|---|---|\n| "
SILENT = "[set here](../examples/attribution/pipeline.py)"
LONG = "\n".join(f"Line {number}." for number in range(201))
FAULTS: dict[Check, dict[str, tuple[Any, ...]]] = {
    check_generated: {
        "excerpt": ("out of date.*assert_it", _replace, PAGE, "def assert_real_time", "def assert_it"),
        "hash": ("out of date", _append, "examples/attribution/settings.py", "# more\n"),
        "unknown-part": ("unknown generated part", _append, PAGE, "<!-- generated: no -->\n<!-- end -->\n"),
        "no-manifest": ("out of date", _remove, MANIFEST),
    },
    check_frontmatter: {
        "no-skill": ("does not exist", _remove, SKILL),
        "name": ("lowercase", _replace, SKILL, "name: spark-real-time-mode", "name: Spark"),
    },
    check_budgets: {
        "page-lines": ("more than the 200 allowed", _append, PAGE, LONG),
        "skill-lines": ("more than the 150 allowed", _append, SKILL, "\n" * 150),
        "skill-bytes": ("bytes, more than the", _append, SKILL, "word " * 400),
        "pages": ("pages, more than the", _write, LOST, "# Lost\n"),
        "pages-bytes": ("bytes, more than the", _append, "references/concepts.md", "word " * 6_000),
        "skill-fence": ("a fence has 11", _append, SKILL, f"{TICKS}text\n" + "x\n" * 11 + TICKS),
        "contents": ("no table of contents", _replace, "references/state.md", "](#", "](errors.md#", -1),
    },
    check_blocking: {
        "blocking-target": ("make services", _replace, SKILL, "until Ctrl-C", "for trials"),
        "blocking-module": (
            "notify lifts.* blocks the reader's shell without a warning",
            _replace,
            "references/alerts.md",
            "runs until Ctrl-C; reads",
            "reads",
        ),
        "blocking-call": (
            r"keep\(spark, .* blocks",
            _replace,
            "references/production.md",
            " The last call of the job blocks.",
            "",
        ),
    },
    check_owners: {
        "no-link-to-owner": ("its owner, kafka_patterns.md", _append, PAGE, "\nThe sink has a limit of 1 MiB.\n"),
        "message-without-owner": (
            "a message states the deleted records that the query has not read without naming its owner, errors",
            _replace,
            "spark_rtm/inspect/findings.py",
            "errors_kafka.md",
            "errors.md",
        ),
        "no-owner": (
            "does not state the producer buffer, which it owns",
            _replace,
            "references/kafka_patterns.md",
            "buffer of 32 MB",
            "buffer",
        ),
    },
    check_evidence: {
        "silent-evidence": (
            "contains no name from the row",
            _append,
            "references/tuning.md",
            f"{ROWS}`kafka.linger.ms` | {SILENT} |\n",
        ),
        "evidence": ("no evidence", _append, PAGE, "\n| what | OSS 4.3.0 | evidence |\n|---|---|---|\n| a | b | |\n"),
        "undated": ("without a date", _append, PAGE, f"{ROWS}a | [x](https://spark.apache.org) |\n"),
        "ambiguous-date": ("without a date", _append, PAGE, f"{ROWS}a | [x](https://spark.apache.org) 2026-11-20 |\n"),
        "undefined-reference": (
            "link 'y', which the page does not",
            _append,
            PAGE,
            f"{ROWS}a | [test](errors.md), [x][y] |\n",
        ),
        "no-column": ("no column", _append, PAGE, "\n| what | OSS 4.3.0 |\n|---|---|\n| a | b |\n"),
    },
    check_links: {
        "link": ("'nowhere.md' does not exist", _append, PAGE, "\n[x](nowhere.md)\n"),
        "anchor": ("does not exist in errors.md", _append, PAGE, "\n[x](errors.md#nowhere)\n"),
        "outside": ("outside the repository", _append, PAGE, "\n[x](../../secret.md)\n"),
        "link-top": ("not exist in README.md", _append, "SECURITY.md", "\n[x](README.md#no)\n"),
        "twice": ("appears twice", _append, PAGE, "\n## When to use real-time mode\n"),
    },
    check_orphans: {
        "read-when": (r"no line `\*Read when", _replace, PAGE, "*Read when", "*Look when"),
        "unrouted": ("not linked from SKILL.md", _write, LOST, "# Lost\n\n*Read when lost.*\n"),
        "untested": ("does not link to a test", _write, LOST, "# Lost\n\n*Read when lost.*\n"),
        "module": ("not linked from a page", _write, "examples/lost.py", '"""Lost."""\n'),
        "unlinked": ("does not link to its module", _write, "examples/real_time_mode.py", "A = 1\n"),
    },
    check_fences: {
        "language": ("language 'pythn'", _append, PAGE, f"\n{TICKS}pythn\nx\n{TICKS}\n"),
        "braces": ("outside braces", _append, PAGE, f'\n{TICKS}python raises="X"\nx\n{TICKS}\n'),
        "option": (r"unknown options: raise", _append, PAGE, f'\n{TICKS}python {{raise="X"}}\nx\n{TICKS}\n'),
        "syntax": ("is not valid Python", _append, PAGE, f"\n{TICKS}python\nx = = 1\n{TICKS}\n"),
        "two-outcomes": (
            "more than one of",
            _append,
            PAGE,
            f'\n{TICKS}python {{raises="X" requires="databricks"}}\nx\n{TICKS}\n',
        ),
        "other-engine": ("requires 'luck'", _append, PAGE, f'\n{TICKS}python {{requires="luck"}}\nx\n{TICKS}\n'),
        "mode": ("mode 'fast'", _append, PAGE, f'\n{TICKS}python {{mode="fast"}}\nx\n{TICKS}\n'),
        "too-many": (
            "require Databricks",
            _append,
            PAGE,
            f'\n{TICKS}python {{requires="databricks"}}\nx\n{TICKS}\n' * 60,
        ),
    },
    check_advice: {
        "advice": ("True", _replace, PAGE, '(realTime="5 minutes")\n    .start', "(realTime=True)\n    .start"),
        "advice-code": (
            "True",
            _append,
            "examples/attribution/settings.py",
            "\ndef start(w):\n    w.writeStream.trigger(realTime=True).start()\n",
        ),
    },
}
"""For each check: the reported problem, a change, and its arguments, of which the first is the reported file."""
ELSEWHERE = {"hash": MANIFEST, "pages": "references", "pages-bytes": "references", "unlinked": PAGE}
"""The reported file of a change in another one."""


@pytest.mark.parametrize(("check", "name"), [(check, name) for check, faults in FAULTS.items() for name in faults])
def test_fault_is_found_with_file_and_remedy(copied: Path, check: Check, name: str) -> None:
    problem, change, path, *arguments = FAULTS[check][name]
    change(copied, path, *arguments)

    findings = [finding for finding in check(copied) if re.search(problem, finding.message)]

    assert [ELSEWHERE.get(name, path)] == sorted({finding.path for finding in findings}), list(check(copied))
    assert all(finding.line >= 1 and finding.fix for finding in findings)


def test_each_check_has_a_fault() -> None:
    assert set(CHECKS) == set(FAULTS)


def test_manifest_conforms_to_its_schema() -> None:
    content, schema = (json.loads((files.ROOT / name).read_text()) for name in (MANIFEST, SCHEMA))

    jsonschema.validate(content, schema)


def test_pack_as_it_is_has_no_findings() -> None:
    assert [] == validate(files.ROOT)


@pytest.mark.parametrize(
    "limit", [f"{MAX_SKILL_BYTES:,} bytes for `SKILL.md`", f"{MAX_PAGES} pages and {MAX_PAGES_BYTES:,} bytes"]
)
def test_stated_sizes_are_the_enforced_ones(limit: str) -> None:
    assert limit in (files.ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
