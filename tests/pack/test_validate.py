"""Every check of `validate` reports its faults with file, line and remedy."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scripts.pack import files
from scripts.pack.checks.advice import check_advice, check_triggers, wrong_triggers
from scripts.pack.checks.evidence import check_evidence
from scripts.pack.checks.fences import check_blocking, check_fences
from scripts.pack.checks.generated import check_generated, check_manifest
from scripts.pack.checks.links import check_links, check_navigation, check_orphans
from scripts.pack.checks.owners import check_owners
from scripts.pack.checks.skill import (
    MAX_PAGES,
    MAX_PAGES_BYTES,
    MAX_SKILL_BYTES,
    check_budgets,
    check_frontmatter,
    check_rule_engines,
)
from scripts.pack.validate import CHECKS, validate
from spark_rtm.text.finding import Finding

Check = Callable[[Path], Iterator[Finding]]
PAGE = "references/real_time_mode.md"
TICKS = "```"


def _replace(path: str, old: str, new: str) -> Callable[[Path], None]:
    def introduce(root: Path) -> None:
        text = (root / path).read_text(encoding="utf-8")
        assert old in text, f"{path} no longer contains {old!r}"
        (root / path).write_text(text.replace(old, new, 1), encoding="utf-8")

    return introduce


def _replace_all(path: str, old: str, new: str) -> Callable[[Path], None]:
    return lambda root: _write(path, (root / path).read_text(encoding="utf-8").replace(old, new))(root)


def _append(path: str, text: str) -> Callable[[Path], None]:
    def introduce(root: Path) -> None:
        with (root / path).open("a", encoding="utf-8") as file:
            file.write(text)

    return introduce


def _remove(path: str) -> Callable[[Path], None]:
    return lambda root: (root / path).unlink()


def _write(path: str, text: str) -> Callable[[Path], None]:
    def introduce(root: Path) -> None:
        (root / path).write_text(text, encoding="utf-8")

    return introduce


def _manifest(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def introduce(root: Path) -> None:
        content = json.loads((root / files.MANIFEST).read_text())
        change(content)
        (root / files.MANIFEST).write_text(json.dumps(content))

    return introduce


SILENT = "[set here](../examples/attribution/pipeline.py)"
LONG = "\n".join(f"Line {number}." for number in range(201))
FAULTS: dict[str, tuple[Check, Callable[[Path], None], str, str]] = {
    "excerpt": (
        check_generated,
        _replace(PAGE, "def assert_real_time", "def assert_it"),
        PAGE,
        "out of date.*assert_it",
    ),
    "router": (
        check_generated,
        _replace("SKILL.md", "](references/errors.md)", "](references/x.md)"),
        "SKILL.md",
        "out of",
    ),
    "hash": (check_generated, _append("examples/attribution/settings.py", "# more\n"), "manifest.json", "out of date"),
    "unknown-part": (
        check_generated,
        _append(PAGE, "<!-- generated: no -->\n<!-- end -->\n"),
        PAGE,
        "unknown generated part",
    ),
    "no-manifest": (check_manifest, _remove("manifest.json"), "manifest.json", "cannot be read"),
    "schema": (check_manifest, _manifest(lambda m: m.update(version="one")), "manifest.json", "version: 'one'"),
    "hash-form": (
        check_manifest,
        _manifest(lambda m: m["files"][0].update(sha256="x")),
        "manifest.json",
        "files/0/sha256",
    ),
    "gone": (
        check_manifest,
        _remove("examples/attribution/settings.py"),
        "manifest.json",
        "'examples/attribution/settings.py', which does not",
    ),
    "no-skill": (check_frontmatter, _remove("SKILL.md"), "SKILL.md", "does not exist"),
    "name": (
        check_frontmatter,
        _replace("SKILL.md", "name: spark-real-time-mode", "name: Spark"),
        "SKILL.md",
        "lowercase",
    ),
    "description": (
        check_frontmatter,
        _replace("SKILL.md", "description: ", "description: " + "x" * 1000),
        "SKILL.md",
        "1024",
    ),
    "field": (check_frontmatter, _replace("SKILL.md", "license:", "licence:"), "SKILL.md", "licence"),
    "yaml": (check_frontmatter, _replace("SKILL.md", "license: Apache", "license: [Apache"), "SKILL.md", "YAML"),
    "page-lines": (check_budgets, _append(PAGE, LONG), PAGE, "more than the 200 allowed"),
    "skill-lines": (check_budgets, _append("SKILL.md", "\n" * 150), "SKILL.md", "more than the 150 allowed"),
    "skill-bytes": (check_budgets, _append("SKILL.md", "word " * 400), "SKILL.md", "bytes, more than the"),
    "pages": (check_budgets, _write("references/lost.md", "# Lost\n"), "references", "pages, more than the"),
    "pages-bytes": (
        check_budgets,
        _append("references/concepts.md", "word " * 6_000),
        "references",
        "bytes, more than the",
    ),
    "skill-fence": (
        check_budgets,
        _append("SKILL.md", f"{TICKS}text\n" + "x\n" * 11 + TICKS),
        "SKILL.md",
        "a fence has 11",
    ),
    "contents": (
        check_budgets,
        _replace_all("references/state.md", "](#", "](errors.md#"),
        "references/state.md",
        "no table of contents",
    ),
    "silent-evidence": (
        check_evidence,
        _append("references/tuning.md", f"\n| option | evidence |\n|---|---|\n| `kafka.linger.ms` | {SILENT} |\n"),
        "references/tuning.md",
        "contains no name from the row",
    ),
    "link": (check_links, _append(PAGE, "\n[x](nowhere.md)\n"), PAGE, "'nowhere.md' does not exist"),
    "anchor": (check_links, _append(PAGE, "\n[x](errors.md#nowhere)\n"), PAGE, "does not exist in errors.md"),
    "own-anchor": (check_links, _append(PAGE, "\n[x](#nowhere)\n"), PAGE, "refers to an anchor"),
    "outside": (check_links, _append(PAGE, "\n[x](../../secret.md)\n"), PAGE, "outside the repository"),
    "link-evals": (
        check_links,
        _append("evals/README.md", "\n[x](nowhere.md)\n"),
        "evals/README.md",
        "'nowhere.md' does not exist",
    ),
    "link-top": (check_links, _append("SECURITY.md", "\n[x](README.md#no)\n"), "SECURITY.md", "not exist in README.md"),
    "twice": (check_links, _append(PAGE, "\n## When to use real-time mode\n"), PAGE, "appears twice"),
    "read-when": (check_orphans, _replace(PAGE, "*Read when", "*Look when"), PAGE, r"no line `\*Read when"),
    "unrouted": (
        check_orphans,
        _write("references/lost.md", "# Lost\n\n*Read when lost.*\n"),
        "references/lost.md",
        "not linked from SKILL.md",
    ),
    "untested": (
        check_orphans,
        _write("references/lost.md", "# Lost\n\n*Read when lost.*\n"),
        "references/lost.md",
        "does not link to a test",
    ),
    "navigation": (
        check_navigation,
        _replace("mkdocs.yml", "- references/faults.md", "# - references/faults.md"),
        "mkdocs.yml",
        "`nav` does not contain references/faults.md",
    ),
    "module": (
        check_orphans,
        _write("examples/lost.py", '"""Lost."""\n'),
        "examples/lost.py",
        "not linked from a page",
    ),
    "unlinked": (check_orphans, _write("examples/real_time_mode.py", "A = 1\n"), PAGE, "does not link to its module"),
    "test": (check_orphans, _write("tests/test_lost.py", '"""Lost."""\n'), "tests/test_lost.py", "no module or page"),
    "language": (check_fences, _append(PAGE, f"\n{TICKS}pythn\nx\n{TICKS}\n"), PAGE, "language 'pythn'"),
    "braces": (check_fences, _append(PAGE, f'\n{TICKS}python raises="X"\nx\n{TICKS}\n'), PAGE, "outside of braces"),
    "option": (
        check_fences,
        _append(PAGE, f'\n{TICKS}python {{raise="X"}}\nx\n{TICKS}\n'),
        PAGE,
        r"unknown options: raise",
    ),
    "syntax": (check_fences, _append(PAGE, f"\n{TICKS}python\nx = = 1\n{TICKS}\n"), PAGE, "is not valid Python"),
    "two-outcomes": (
        check_fences,
        _append(PAGE, f'\n{TICKS}python {{raises="X" requires="databricks"}}\nx\n{TICKS}\n'),
        PAGE,
        "more than one of the options",
    ),
    "other-engine": (
        check_fences,
        _append(PAGE, f'\n{TICKS}python {{requires="luck"}}\nx\n{TICKS}\n'),
        PAGE,
        "requires 'luck'",
    ),
    "mode": (check_fences, _append(PAGE, f'\n{TICKS}python {{mode="fast"}}\nx\n{TICKS}\n'), PAGE, "mode 'fast'"),
    "too-many": (
        check_fences,
        _append(PAGE, f'\n{TICKS}python {{requires="databricks"}}\nx\n{TICKS}\n' * 60),
        PAGE,
        "require Databricks",
    ),
    "blocking-target": (
        check_blocking,
        _replace("SKILL.md", "until Ctrl-C", "for trials"),
        "SKILL.md",
        "make services",
    ),
    "blocking-module": (
        check_blocking,
        _replace("references/alerts.md", "runs until Ctrl-C; reads", "reads"),
        "references/alerts.md",
        "notify lifts.* blocks, and nothing beside it says so",
    ),
    "blocking-call": (
        check_blocking,
        _replace("references/production.md", " Its last call blocks.", ""),
        "references/production.md",
        r"keep\(spark, .* blocks",
    ),
    "blocking-duration": (
        check_blocking,
        _replace("references/workers.md", " The last one runs until Ctrl-C.", ""),
        "references/workers.md",
        "--master .* blocks",
    ),
    "no-link-to-owner": (
        check_owners,
        _append(PAGE, "\nThe sink has a limit of 1 MiB.\n"),
        PAGE,
        "kafka_patterns.md owns",
    ),
    "no-owner": (
        check_owners,
        _replace("references/kafka_patterns.md", "buffer of 32 MB", "buffer"),
        "references/kafka_patterns.md",
        "does not state what it owns, the buffer of the producer",
    ),
    "evidence": (
        check_evidence,
        _append(PAGE, "\n| what | OSS 4.3.0 | evidence |\n|---|---|---|\n| a | b | |\n"),
        PAGE,
        "no evidence",
    ),
    "undated": (
        check_evidence,
        _append(PAGE, "\n| what | evidence |\n|---|---|\n| a | [x](https://spark.apache.org) |\n"),
        PAGE,
        "without a date",
    ),
    "ambiguous-date": (
        check_evidence,
        _append(PAGE, "\n| what | evidence |\n|---|---|\n| a | [x](https://spark.apache.org) 2026-11-20 |\n"),
        PAGE,
        "without a date",
    ),
    "undated-reference": (
        check_evidence,
        _append(PAGE, "\n| what | evidence |\n|---|---|\n| a | [x] |\n\n[x]: https://spark.apache.org\n"),
        PAGE,
        "without a date",
    ),
    "undefined-reference": (
        check_evidence,
        _append(PAGE, "\n| what | evidence |\n|---|---|\n| a | [test](errors.md), [x][y] |\n"),
        PAGE,
        "the link 'y', which the page does not define",
    ),
    "no-column": (check_evidence, _append(PAGE, "\n| what | OSS 4.3.0 |\n|---|---|\n| a | b |\n"), PAGE, "no column"),
    "advice": (
        check_advice,
        _replace(PAGE, 'trigger(realTime="5 minutes")\n    .start', "trigger(realTime=True)\n    .start"),
        PAGE,
        "True",
    ),
    "trigger": (check_triggers, _append("AGENTS.md", "Use realTime=True.\n"), "AGENTS.md", "is not a duration"),
    "advice-code": (
        check_advice,
        _append(
            "examples/attribution/settings.py", "\ndef start(w):\n    w.writeStream.trigger(realTime=True).start()\n"
        ),
        "examples/attribution/settings.py",
        "True",
    ),
    "rule-engine": (
        check_rule_engines,
        _replace("SKILL.md", "| OSS | no stream-stream join |", "| all | no stream-stream join |"),
        "SKILL.md",
        "the rule 'all' does not begin with its engine",
    ),
    "rule-column": (
        check_rule_engines,
        _replace("SKILL.md", "| engine | rule |", "| where | rule |"),
        "SKILL.md",
        "the rule 'both' does not begin with its engine",
    ),
    "no-rules": (
        check_rule_engines,
        _replace("SKILL.md", "| engine | rule |", "| engine | law |"),
        "SKILL.md",
        "has no table with a column 'rule'",
    ),
}


@pytest.mark.parametrize(("check", "introduce", "path", "problem"), FAULTS.values(), ids=FAULTS)
def test_fault_is_found_with_file_and_remedy(
    copied: Path, check: Check, introduce: Callable[[Path], None], path: str, problem: str
) -> None:
    introduce(copied)

    findings = [finding for finding in check(copied) if re.search(problem, finding.message)]

    assert [path] == sorted({finding.path for finding in findings}), list(check(copied))
    assert all(finding.line >= 1 and finding.fix for finding in findings)


def test_each_check_has_a_fault() -> None:
    """Every check in `CHECKS` has at least one fault that makes it fail."""
    assert set(CHECKS) == {check for check, *_ in FAULTS.values()}


def test_pack_as_it_is_has_no_findings() -> None:
    assert [] == validate(files.ROOT)


def test_wrong_trigger_anywhere_in_the_pack_is_found() -> None:
    """If any valid trigger of a page or an example becomes `True`, `validate` reports its line and the valid form."""
    valid_trigger = re.compile(r"realTime=f?\"[^\"]*\"")
    checked = 0
    for path in {*files.pages(files.ROOT), *files.modules(files.ROOT)}:
        text = path.read_text(encoding="utf-8")
        for match in valid_trigger.finditer(text):
            wrong = f"{text[: match.start()]}realTime=True{text[match.end() :]}"
            line = text.count("\n", 0, match.start()) + 1

            findings = list(wrong_triggers(wrong, path.name))

            assert [(line, 'write realTime="5 minutes"')] == [(finding.line, finding.fix) for finding in findings]
            checked += 1
    assert checked > 40


@pytest.mark.parametrize(
    "limit", [f"{MAX_SKILL_BYTES:,} bytes for `SKILL.md`", f"{MAX_PAGES} pages and {MAX_PAGES_BYTES:,} bytes"]
)
def test_stated_sizes_are_the_enforced_ones(limit: str) -> None:
    """CONTRIBUTING.md names the limits of `check_budgets`."""
    assert limit in (files.ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
