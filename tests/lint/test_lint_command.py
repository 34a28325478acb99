import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scripts.pack.files import ROOT
from scripts.skills import main
from spark_rtm.lint.engine import RULES
from tests.lint.test_lint_sources import BAD

WARNING = 'spark.readStream.format("kafka").load().withColumn("latency", F.unix_millis(F.current_timestamp()))'
WARNING += '.writeStream.format("console").outputMode("update").trigger(realTime="5 minutes").start()\n'
GOOD = BAD.replace("True", '"5 minutes"')


def lint(*arguments: object) -> int:
    return main(["lint", *map(str, arguments)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
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
    """Warnings are printed, but only errors cause status 1, unless `--strict` is given."""
    assert status == lint(folder / arguments[0], *arguments[1:])


def test_explain_prints_the_section_of_a_rule(capsys: pytest.CaptureFixture[str]) -> None:
    """The section has all headings; ALL lists every rule; an unknown rule is a usage error."""
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
    page = "Use `.trigger(realTime=True)`.\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(page))
    assert 1 == lint("--strict", "--stdin-filename", "docs/page.md", "-")

    assert capsys.readouterr().out.startswith("docs/page.md:1:15: warning: trigger-duration: ")

    monkeypatch.setattr("sys.stdin", io.StringIO(page))
    assert 0 == lint("--stdin-filename", "docs/page.md", "--exclude", "docs")


def test_standard_input_has_at_most_two_million_characters(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for size, status in ((2_000_000, 0), (2_000_001, 2)):
        monkeypatch.setattr("sys.stdin", io.StringIO("#" * size))
        assert status == lint("--stdin-filename", "job.py")
    assert "standard input has more than 2,000,000 characters, so nothing was checked" in capsys.readouterr().err


def test_fixed_standard_input_goes_to_standard_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
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


def test_rules_are_explained_by_a_command_until_the_site_has_an_address(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = ["frozen-clock", "trigger-duration"]

    def details() -> tuple[list[str], dict[str, Any]]:
        lint(folder)
        printed = capsys.readouterr().err.splitlines()[1:]
        lint(folder, "--format", "sarif")
        return printed, json.loads(capsys.readouterr().out)["runs"][0]["tool"]["driver"]

    printed, driver = details()
    assert [f"rtm lint --explain {rule}" for rule in rules] == printed
    assert rules == [rule["id"] for rule in driver["rules"]]
    assert all(rule["shortDescription"]["text"].startswith("Checks for ") for rule in driver["rules"])
    assert not any("elpUri" in str(part) or "informationUri" in part for part in (driver, *driver["rules"]))

    monkeypatch.setattr("spark_rtm.lint.rules.rule.DOCUMENTATION", "https://a.b")
    printed, driver = details()
    pages = [f"https://a.b/references/lint_rules/{rule}.html" for rule in rules]
    assert [f"{rule}: {page}" for rule, page in zip(rules, pages, strict=True)] == printed
    assert pages == [rule["helpUri"] for rule in driver["rules"]]


def test_fix_changes_only_what_diff_shows(tmp_path: Path) -> None:
    job, link = tmp_path / "job.py", tmp_path / "link.py"
    job.write_bytes(f"\ufeffimport os\r\n{BAD}x = 1\r\n".encode())
    job.chmod(0o750)
    link.symlink_to(job)

    assert 0 == lint(link, "--fix")

    assert f"\ufeffimport os\r\n{GOOD}x = 1\r\n".encode() == job.read_bytes()
    assert (0o750, True) == (job.stat().st_mode & 0o777, link.is_symlink())
    assert [job, link] == sorted(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("option", "unread", "answered"),
    [
        ("--fix", "a.py:1:1: warning: unchecked: ", GOOD),
        ("--diff", "files that were not checked: 1", f"-{BAD}+{GOOD}"),
        (
            "--claims",
            "a.md: the file is not encoded in UTF-8",
            "b.md:3: Real-time mode of Spark answers \\x1b[2J.",
        ),
    ],
)
def test_file_that_cannot_be_read_is_named_and_others_are_answered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, unread: str, answered: str
) -> None:
    for name in ("a.md", "a.py"):
        (tmp_path / name).write_bytes("# \xe9 Spark realTime=True\n".encode("latin-1"))
    (tmp_path / "b.md").write_text("# Real-time mode\n\nReal-time mode of Spark answers \x1b[2J.\n")
    (tmp_path / "error.py").write_text(BAD)

    assert 2 == lint(*tmp_path.glob("*.md" if option == "--claims" else "*.py"), option)

    printed = capsys.readouterr()
    assert unread in printed.out + printed.err
    assert answered in printed.out + (tmp_path / "error.py").read_text()


def test_fix_that_cannot_be_written_leaves_the_file_and_the_others(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    full = folder / "a_full.py"
    full.write_text(BAD)
    write = Path.write_bytes

    def write_unless_full(path: Path, data: bytes) -> int:
        if path.name == full.name:
            write(path, data[:5])
            raise OSError(28, "No space left on device")
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", write_unless_full)

    assert 2 == lint(folder, "--fix")
    assert (BAD, GOOD) == (full.read_text(), (folder / "error.py").read_text())
    assert "a_full.py was not corrected: No space left on device" in capsys.readouterr().err
    assert ["a_full.py", "error.py", "warning.py"] == sorted(path.name for path in folder.iterdir())


def test_summary_counts_findings_and_corrections(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Standard error also names the command that explains each rule. A number without a unit cannot be corrected."""
    (folder / "number.py").write_text(BAD.replace("True", "300"))

    lint(folder)

    printed = capsys.readouterr()
    assert [
        "2 errors, 1 warning (3 files checked); 1 fixable with --fix",
        "rtm lint --explain frozen-clock",
        "rtm lint --explain trigger-duration",
    ] == printed.err.splitlines()
    assert f"{folder}/error.py:1:{BAD.index('realTime') + 1}: error: trigger-duration: " in printed.out


@pytest.mark.parametrize(
    ("is_terminal", "environment", "is_colored"),
    [(True, {}, True), (False, {}, False), (True, {"NO_COLOR": "1"}, False), (True, {"TERM": "dumb"}, False)],
)
def test_only_terminals_get_colors(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    is_terminal: bool,
    environment: dict[str, str],
    is_colored: bool,
) -> None:
    """Output to pipes and files, or with NO_COLOR set, is plain text."""
    for name, value in {"NO_COLOR": "", "TERM": "xterm", **environment}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout.isatty", lambda: is_terminal)

    lint(folder)

    assert is_colored == ("\x1b[31merror\x1b[0m" in capsys.readouterr().out)


@pytest.mark.parametrize(
    ("call", "status", "lines"),
    [
        ("{lint} job.py > /dev/full", 2, 1),
        ("rmdir $PWD && {lint} .", 2, 1),
        ("{lint} job.py >&-", 1, 2),
        ("{lint} job.py | head -n 1; exit ${{PIPESTATUS[0]}}", 1, 0),
    ],
    ids=["full disk", "deleted folder", "closed output", "reader that stops early"],
)
def test_unusual_stream_or_folder_ends_without_traceback(tmp_path: Path, call: str, status: int, lines: int) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    if "rmdir" not in call:
        (folder / "job.py").write_text(BAD * 1000)
    command = f"{sys.executable} {ROOT / 'scripts/skills.py'} lint"

    done = subprocess.run(
        ["bash", "-c", call.format(lint=command)], cwd=folder, capture_output=True, check=False, timeout=60
    )

    assert (status, lines) == (done.returncode, len(done.stderr.splitlines())), done.stderr


@pytest.mark.parametrize(
    ("arguments", "is_terminal", "printed"),
    [
        (("good.py", "good.md"), True, "All checks passed (2 files checked)\n"),
        (("good.py", "good.md"), False, ""),
        (("micro.py",), True, "information: the queries in "),
        ((".",), True, "All checks passed (2 files checked)\n"),
        (("empty",), False, "warning: no file was checked, because the paths contain no file that lint reads ("),
        (("good.py", "--exclude", "good.py", "--format=json"), True, "warning: no file was checked"),
        (("-", "--stdin-filename=job.py"), True, "information: the queries in job.py have no real-time trigger"),
    ],
    ids=str,
)
def test_silence_is_explained(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    is_terminal: bool,
    printed: str,
) -> None:
    """A terminal shows how many files were checked, and every reader learns that no file was checked."""
    for name, text in {"good.py": GOOD, "good.md": "# Page\n", "micro.py": MICRO_BATCH, "empty/notes.txt": ""}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO(MICRO_BATCH))
    monkeypatch.setattr("sys.stderr.isatty", lambda: is_terminal)

    assert 0 == lint(*arguments)

    errors = capsys.readouterr().err
    assert (True, bool(printed)) == (printed in errors, bool(errors)), errors
    assert ("All checks passed" in errors) == ("All checks passed" in printed)


TRIGGER = "words.writeStream.trigger(realTime=True)\n"
CELLS = [
    {"cell_type": "markdown", "source": "# Real-time mode"},
    {"cell_type": "code", "source": ["x = 1  # rtm: ignore\n", "y = 'ä\"'\n", f"  \n{TRIGGER}", TRIGGER]},
]


@pytest.mark.parametrize("indent", [None, 1], ids=["one line", "indented"])
def test_finding_in_a_notebook_has_its_cell(tmp_path: Path, capsys: pytest.CaptureFixture[str], indent: None) -> None:
    """
    Line and column are those in the cell, in both file formats of a notebook.

    Other tools get only a line of the file.
    """
    path, column = tmp_path / "nb.ipynb", TRIGGER.index("realTime") + 1
    path.write_text(json.dumps({"cells": CELLS}, indent=indent))
    for name in ("text", "full", "json", "github", "sarif", "gitlab"):
        lint(path, "--format", name)
    lines = path.read_text().split("\n")
    printed = capsys.readouterr().out

    rows = json.loads(printed[printed.index("[\n") : printed.index("\n]") + 2])
    for at in (4, 5):
        assert 2 == printed.count(f"{path}:cell 2:{at}:{column}: error: trigger-duration: ")  # text and full
    assert [(2, at, column) for at in (4, 5)] == [(row["cell"], row["cell_line"], row["column"]) for row in rows]
    assert all("realTime" in lines[row["line"] - 1] for row in rows)
    assert f" 4 | {TRIGGER}   | {' ' * (column - 1)}^^^^^^^^\n" in printed
    assert ",col=" not in printed
    assert "startColumn" not in printed


MICRO_BATCH = """events = spark.readStream.format("kafka").option("maxOffsetsPerTrigger", 100).load()
events.select("value").writeStream.format("delta").trigger(processingTime="1 second").start("/tables/events")
"""


@pytest.mark.parametrize(("arguments", "rules"), [([], []), (["--as-real-time"], ["option", "sink", "output-mode"])])
def test_micro_batch_job_is_named_or_checked_as_real_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], rules: list[str]
) -> None:
    """Without the option, one line states that nothing was checked for real-time mode."""
    (tmp_path / "job.py").write_text(MICRO_BATCH)
    (tmp_path / "page.md").write_text(f"# Micro-batch\n\n```python\n{MICRO_BATCH}```\n")

    assert lint(tmp_path, *arguments) == bool(rules)

    printed = capsys.readouterr()
    assert rules == [line.split(": ")[2] for line in printed.out.splitlines()]
    assert ("were not checked for real-time mode" in printed.err) is not bool(rules)
