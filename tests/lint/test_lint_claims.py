import io
from pathlib import Path

import pytest

from scripts.skills import main
from spark_rtm.lint.claims import OTHER, claims_in

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
