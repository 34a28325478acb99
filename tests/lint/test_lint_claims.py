import io
from pathlib import Path

import pytest

from scripts.skills import main
from spark_rtm.lint.claims import OTHER, claims_in
from spark_rtm.lint.engine import lint_text

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


@pytest.mark.parametrize(
    "sentence",
    [
        "Enable Photon for real-time mode.",
        "Real-time mode with Photon is supported.",
        "Run real-time mode jobs on serverless compute.",
        "Use spot instances for real-time mode clusters.",
        "Real-time mode needs DBR 15.4 LTS or later.",
        "Use real-time mode only below 800 ms.",
        "Start real-time mode with `.trigger(realTime=True)`.",
        "Options: `mode=batch` or `mode=realtime` (below a second,\nPhoton on).",
    ],
)
def test_fixed_phrase_is_a_warning_and_its_denial_is_silent(sentence: str) -> None:
    """Every phrase is reported once, unless the sentence denies it."""
    page = f"# Spark\n\n{sentence}\n"

    assert ["warning"] == [finding.severity for finding in lint_text(page, "page.md")]
    assert [] == lint_text(page.replace(sentence, f"Never believe this: {sentence}"), "page.md")
