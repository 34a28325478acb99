import json
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from scripts.skills import main
from spark_rtm.lint import problem
from spark_rtm.lint.engine import lint_paths, lint_text
from spark_rtm.lint.sources import MAX_BYTES, is_relevant
from spark_rtm.text.finding import Finding

ROOT = Path(__file__).parents[2]
BAD = 'spark.readStream.format("kafka").load().writeStream.format("console").outputMode("update")'
BAD += ".trigger(realTime=True).start()\n"


def test_minimum_duration_of_one_file_applies_to_all_files(tmp_path: Path) -> None:
    """One module often builds the session that all modules share."""
    job = BAD.replace("True", '"1 second"')
    (tmp_path / "job.py").write_text(job)
    assert ["trigger-interval"] == [finding.rule for finding in lint_paths([tmp_path])]

    setting = 'spark.conf.set("spark.sql.streaming.realTimeMode.minBatchDuration", "1s")\n'
    (tmp_path / "session.py").write_text(setting)

    assert [] == lint_paths([tmp_path])


@pytest.mark.parametrize(
    ("opening", "severity"),
    [("spark = SparkSession.builder.getOrCreate()\n", "warning"), ("# Databricks notebook source\n", "information")],
)
def test_shuffle_partitions_do_not_depend_on_other_files(tmp_path: Path, opening: str, severity: str) -> None:
    """Pre-commit passes single files and CI passes all. A notebook gets its settings from its cluster."""
    counted = 'spark.readStream.format("kafka").load().groupBy("key").count().selectExpr("key AS value")'
    query = '.writeStream.format("console").outputMode("update").trigger(realTime="5 minutes").start()\n'
    (tmp_path / "job.py").write_text(f"{opening}name = dbutils.widgets.get('name')\n{counted}{query}")
    (tmp_path / "session.py").write_text('# realTime\nspark.conf.set("spark.sql.shuffle.partitions", "4")\n')

    findings = lint_paths([tmp_path / "job.py"])

    assert [("shuffle-partitions", severity)] == [(finding.rule, finding.severity) for finding in findings]
    assert findings == lint_paths([tmp_path])


@pytest.mark.parametrize(("receiver", "expected"), [("sensor", False), ("spark", True)])
def test_code_that_does_not_name_spark_is_not_checked(receiver: str, expected: bool) -> None:
    assert expected == is_relevant(f'"""Measures in real-time mode."""\n{receiver}.read().trigger()\n', ".py")


def test_own_examples_and_scripts_have_no_findings() -> None:
    assert [] == lint_paths([ROOT / "examples", ROOT / "scripts"])


def test_fences_of_a_page_share_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(problem, "MAX_STEPS", 20_000)
    lines = ["f0 = lambda: 1", *[f"f{n} = lambda: [{f'f{n - 1}(), ' * 14}]" for n in range(1, 4)]]
    fence = "\n".join(["```python", *lines, "f3()", "w.writeStream.trigger(realTime='5 s')", "```", ""])

    findings = lint_text(fence * 4, "page.md")

    assert ["trigger-interval"] == [finding.rule for finding in lint_text(fence, "page.md")]
    assert {"trigger-interval": 1, "unchecked": 3} == Counter(finding.rule for finding in findings)


@pytest.mark.parametrize("arguments", [[], ["--claims"]], ids=str)
def test_file_above_the_time_limit_is_reported_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    """
    The search for sentences in one page takes a second, and the limit is a twentieth of a second.

    The other page is checked.
    """
    monkeypatch.setattr(problem, "MAX_SECONDS", 0.05)
    (tmp_path / "long.md").write_text("# Real-time mode of Spark\n\n" + "It is on.\n" * 20_000)
    (tmp_path / "short.md").write_text("# Real-time mode of Spark\n\nUse `.trigger(realTime=True)`.\n")
    before = signal.getsignal(signal.SIGVTALRM)

    assert 2 == main(["lint", *arguments, str(tmp_path)])

    printed = capsys.readouterr()
    assert "more than 0.05 s of processor time" in printed.out + printed.err
    assert "long.md" in printed.out + printed.err
    assert "short.md:3:" in printed.out
    assert before == signal.getsignal(signal.SIGVTALRM)


class Spins:
    def __del__(self) -> None:
        spin(0.3)


def spin(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_time_limit_holds_although_python_drops_its_first_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python drops what is raised in `__del__` or in a callback of the garbage collector."""
    monkeypatch.setattr(problem, "MAX_SECONDS", 0.1)

    @problem.time_limit()
    def work() -> None:
        Spins()
        spin(5)

    with pytest.raises(problem.UncheckedError):
        work()


def unchecked(findings: list[Finding]) -> dict[str, str]:
    return {Path(finding.path).name: finding.message for finding in findings if finding.rule == "unchecked"}


def linted(findings: list[Finding], root: Path) -> list[str]:
    return [Path(each.path).relative_to(root).as_posix() for each in findings if each.rule == "trigger-duration"]


def test_folders_are_linted_without_environments_and_caches(tmp_path: Path) -> None:
    skipped = ("build", "dist", "site", ".venv", "node_modules", "src/__pycache__", ".git", "src/own-environment")
    checked = ("b", "a", "src/build", "src/dist", "src/site", "venv")
    for folder in (*skipped, *checked):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "job.py").write_text(BAD)
    (tmp_path / "src/own-environment/pyvenv.cfg").touch()

    findings = lint_paths([tmp_path])

    assert sorted(f"{folder}/job.py" for folder in checked) == linted(findings, tmp_path)
    assert ["job.py"] == linted(lint_paths([tmp_path / "build"]), tmp_path / "build")


def test_files_that_need_no_check_are_skipped_silently(tmp_path: Path) -> None:
    (tmp_path / "picture.png").write_bytes(b"realTime=True")
    (tmp_path / "gone.py").symlink_to(tmp_path / "nowhere.py")
    (tmp_path / "long.json").write_text("[" + "1," * MAX_BYTES + "1]")
    (tmp_path / "latin.py").write_bytes("# réal\n".encode("latin-1"))
    (tmp_path / "old.py").write_text("print 'continuous'\n")
    (tmp_path / "slider.ipynb").write_text('{"cells": ["spark continuous_update=False' + " " * MAX_BYTES + '"]}')
    (tmp_path / "report.md").write_text("Real-time reporting with Spark.\n" + " " * MAX_BYTES)
    lambdas = "".join(f"f{n} = lambda: [{f'f{n - 1}(), ' * 40}]\n" for n in range(1, 9))
    (tmp_path / "memory.py").write_text(f"import spark\nw.trigger(continuous='1 s')\nf0 = lambda: 1\n{lambdas}f8()\n")
    (tmp_path / "Sink.scala").write_text("// spark ForeachWriter trigger\n" + "f(" * 400_000)

    assert [] == lint_paths([tmp_path, tmp_path / "missing.py"])


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("# é realTime=True\n".encode("latin-1"), "not encoded in UTF-8"),
        ("# realTime=True\n".encode("utf-16-le"), "not encoded in UTF-8"),
        (b"#" + b" " * (2 * MAX_BYTES) + b"realTime\n", "more than 2,000,000 bytes"),
        (b"writer.trigger(realTime=True\n", "cannot be parsed"),
        (b"x = a" + b".b" * 5000 + b".realTime\n", "cannot be parsed"),
    ],
    ids=["latin-1", "utf-16", "long", "syntax", "nesting"],
)
def test_file_that_cannot_be_checked_is_reported(tmp_path: Path, data: bytes, reason: str) -> None:
    """A file about real-time mode that cannot be checked causes one warning with the reason."""
    (tmp_path / "job.py").write_bytes(data)

    findings = lint_paths([tmp_path])

    assert [("unchecked", "warning")] == [(finding.rule, finding.severity) for finding in findings]
    assert reason in findings[0].message


def test_linted_code_is_neither_executed_nor_changed(tmp_path: Path) -> None:
    """The linter parses modules and notebooks; importing or running them would create a file."""
    code = f"open({str(tmp_path / 'executed')!r}, 'w').close()\n{BAD}"
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": code}
    texts = {"job.py": code, "notebook.ipynb": json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4})}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)

    findings = lint_paths([tmp_path])

    assert set(texts) == set(linted(findings, tmp_path))
    assert texts == {path.name: path.read_text() for path in tmp_path.iterdir()}


def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    for folder in ("project", "shared", "private"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{folder}.py").write_text(BAD)
    (tmp_path / "project/inside.py").symlink_to("../shared/shared.py")
    (tmp_path / "project/outside.py").symlink_to("../private/private.py")

    findings = lint_paths([tmp_path / "project", tmp_path / "shared"])

    assert ["project/inside.py", "project/project.py", "shared/shared.py"] == linted(findings, tmp_path)
    assert ["outside.py"] == list(unchecked(findings))


def test_definition_that_cannot_be_parsed_is_reported() -> None:
    broken = '{"cluster_name": "rtm", "spark_version": "15.4.x", {{ variable }}'

    assert ["unchecked"] == [each.rule for each in lint_text(broken, "job.json")]
    assert [] == lint_text(broken.replace("spark_version", "version"), "job.json")
