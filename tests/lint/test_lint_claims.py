import io
from pathlib import Path

import pytest

from scripts.skills import main
from spark_rtm.lint.engine import lint_text
from spark_rtm.lint.files.prose import OTHER, claims_in
from spark_rtm.lint.rules.claim import REMOVED
from tests.lint.case_files import cases_in
from tests.lint.test_lint_cases import expected

LISTED = cases_in(Path(__file__).with_name("claims.cases"))
PAGE = """\
# Real-time mode on Databricks

Real-time mode works with Delta.
It needs Photon,
or a larger cluster.

| setting | value |
|---|---|
| interval | 5 minutes |

## Batch jobs

Use micro-batch mode for tables.
"""


def test_each_place_has_the_rule_that_decides() -> None:
    """Sentences and cells about the mode are listed with line and rule, and all others are omitted."""
    listed = list(claims_in(PAGE, "page.md"))

    assert [3, 4, 9, 9] == [int(line.split(":")[1]) for line in listed]
    assert "both: no Delta, no files, no foreachBatch" in listed[0]
    assert "Databricks: no Photon" in listed[1]
    assert "the interval is the time between commits" in listed[2]


def test_claims_are_listed_without_a_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "page.md").write_text(PAGE)
    (tmp_path / "job.py").write_text("# Real-time mode needs Photon\n")

    assert 0 == main(["lint", "--claims", str(tmp_path)])
    from_files = capsys.readouterr().out.replace(f"{tmp_path}/", "")
    monkeypatch.setattr("sys.stdin", io.StringIO(PAGE))
    assert 0 == main(["lint", "--claims", "--stdin-filename", "page.md", "-"])

    assert from_files == capsys.readouterr().out
    assert 4 == len(from_files.splitlines())


def test_sentence_that_no_rule_decides_is_listed_too() -> None:
    (listed,) = claims_in("# Spark\n\nReal-time mode was announced in a keynote.\n", "page.md")

    assert listed.endswith(f"[{OTHER}]")


@pytest.mark.parametrize("case", LISTED)
def test_phrases_of_removed_rules_are_listed(case: str) -> None:
    """Each marked sentence is listed, but no removed rule reports it."""
    listed = {int(line.split(":")[1]) for line in claims_in(LISTED[case], "page.md")}

    assert {line for line, _ in expected(LISTED[case])} <= listed
    assert set() == {finding.rule for finding in lint_text(LISTED[case], "page.md")} & REMOVED


def test_removed_rules_in_settings_and_comments_get_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "page.md").write_text(PAGE + "\n<!-- rtm: file-ignore[claim-continuous] -->\n")

    assert 0 == main(["lint", str(tmp_path), "--ignore", "claim-delta"])

    (line,) = [each for each in capsys.readouterr().err.splitlines() if each.startswith("information: ")]
    assert "no longer exist: claim-continuous, claim-delta; " in line
