"""The command `lint`: arguments, output and exit status."""

import io
import json
from pathlib import Path

import pytest

from scripts.skills import main
from spark_rtm import DOCUMENTATION
from spark_rtm.lint.engine import RULES
from tests.lint.test_lint import BAD

WARNING = 'spark.readStream.format("kafka").load().withColumn("latency", F.unix_millis(F.current_timestamp()))'
WARNING += '.writeStream.format("console").outputMode("update").trigger(realTime="5 minutes").start()\n'
GOOD = BAD.replace("True", '"5 minutes"')


def lint(*arguments: object) -> int:
    """Run `lint` in this process and return its exit status."""
    return main(["lint", *map(str, arguments)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with an error and a warning."""
    (tmp_path / "error.py").write_text(BAD)
    (tmp_path / "warning.py").write_text(WARNING)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("error.py",), 1),
        (("warning.py",), 0),
        (("warning.py", "--strict"), 1),
        (("warning.py", "--strict", "--ignore", "frozen-clock"), 0),
        (("error.py", "--select", "frozen-clock"), 0),
        (("error.py", "--exclude", "error.py"), 0),
    ],
    ids=str,
)
def test_exit_status_depends_on_errors_unless_strict(folder: Path, arguments: tuple[str, ...], status: int) -> None:
    """Warnings are printed, but only errors give status 1, unless `--strict` is given."""
    assert status == lint(folder / arguments[0], *arguments[1:])


def test_statistics_count_findings_by_rule(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Statistics have one line for each rule, with its severity."""
    assert 1 == lint(folder, "--statistics")

    assert [["1", "warning", "frozen-clock"], ["1", "error", "trigger-duration"]] == [
        line.split() for line in capsys.readouterr().out.splitlines()
    ]


def test_explain_prints_the_section_of_a_rule(capsys: pytest.CaptureFixture[str]) -> None:
    """The section has all headings; ALL lists every rule; an unknown rule is wrong usage."""
    assert 0 == lint("--explain", "output-mode")
    section = capsys.readouterr().out
    assert 0 == lint("--explain", "ALL")
    listed = capsys.readouterr().out

    assert all(
        f"\n{heading}\n" in section
        for heading in ("What it does", "Why is this bad?", "Example", "Use instead", "Engines")
    )
    assert [rule.id for rule in RULES] == [line.split()[0] for line in listed.splitlines()]
    assert 2 == lint("--explain", "no-rule")


def test_standard_input_is_checked_under_its_file_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The given name decides the format and appears in the findings."""
    page = "Use `.trigger(realTime=True)`.\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(page))
    assert 1 == lint("--stdin-filename", "docs/page.md", "-")

    assert capsys.readouterr().err.startswith("docs/page.md:1: trigger-duration: ")

    monkeypatch.setattr("sys.stdin", io.StringIO(page))
    assert 0 == lint("--stdin-filename", "docs/page.md", "--exclude", "docs")


def test_fixed_standard_input_goes_to_standard_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An editor receives the corrected text."""
    monkeypatch.setattr("sys.stdin", io.StringIO(BAD))

    assert 0 == lint("--fix", "--stdin-filename", "job.py")
    assert GOOD == capsys.readouterr().out


def test_diff_shows_what_fix_writes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--diff` exits with status 1 and changes nothing; `--fix` writes the change and reports what is left."""
    assert 1 == lint(folder, "--diff")
    difference = capsys.readouterr().out
    unchanged = (folder / "error.py").read_text()
    assert 0 == lint(folder, "--fix")

    assert BAD == unchanged
    assert f"-{BAD}+{GOOD}" in difference
    assert GOOD == (folder / "error.py").read_text()
    assert 0 == lint(folder, "--diff")


def test_sarif_links_the_help_of_each_rule(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each rule with a finding has a help address, a description and its section."""
    lint(folder, "--format", "sarif")

    rules = json.loads(capsys.readouterr().out)["runs"][0]["tool"]["driver"]["rules"]
    assert ["frozen-clock", "trigger-duration"] == [rule["id"] for rule in rules]
    pages = [f"{DOCUMENTATION}/references/lint_rules/{rule['id']}.html" for rule in rules]
    assert pages == [rule["helpUri"] for rule in rules]
    assert all(rule["helpUri"].startswith("https://") for rule in rules)
    assert all(rule["shortDescription"]["text"].startswith("Checks for ") for rule in rules)
