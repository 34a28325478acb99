"""Files and folders, engines, silenced lines, and the four renderings of findings."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.lint.engine import RULES, lint_paths, lint_text
from scripts.text.finding import DATABRICKS, ENGINES, OSS, Finding, render

ROOT = Path(__file__).parents[2]
BAD = 'spark.readStream.format("kafka").load().writeStream.format("console").outputMode("update")'
BAD += ".trigger(realTime=True).start()\n"


def test_folders_are_walked_without_what_others_made(tmp_path: Path) -> None:
    """Findings come from every file but those of environments, caches and sites, and are sorted."""
    for folder in ("b", "a", ".venv", "site", "node_modules", "__pycache__", ".git"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "job.py").write_text(BAD)

    found = lint_paths([tmp_path])

    assert [(tmp_path / "a/job.py").as_posix(), (tmp_path / "b/job.py").as_posix()] == [f.path for f in found]


def test_files_that_cannot_be_read_are_left_out(tmp_path: Path) -> None:
    """Other encodings, other formats and broken links neither fail nor count."""
    (tmp_path / "latin.py").write_bytes("# réal realTime=True\n".encode("latin-1"))
    (tmp_path / "gone.py").symlink_to(tmp_path / "nowhere.py")
    (tmp_path / "picture.png").write_bytes(b"realTime=True")

    assert [] == lint_paths([tmp_path, tmp_path / "missing.py"])


def test_a_file_that_cannot_be_parsed_is_a_warning_only_if_it_is_about_real_time_mode() -> None:
    """Silence about a broken file would pass for approval; old Python that has nothing to do with it is left alone."""
    about = lint_text("writer.trigger(realTime=True\n", "job.py")

    assert [("unreadable", "warning")] == [(finding.rule, finding.severity) for finding in about]
    assert [] == lint_text("print 'continuous'\n", "old.py")


def test_a_minimum_that_one_file_sets_counts_for_its_neighbours(tmp_path: Path) -> None:
    """The session of a project is built in one module and used in others."""
    job = BAD.replace("True", '"1 second"')
    (tmp_path / "job.py").write_text(job)
    assert ["trigger-interval"] == [finding.rule for finding in lint_paths([tmp_path])]

    setting = 'spark.conf.set("spark.sql.streaming.realTimeMode.minBatchDuration", "1s")\n'
    (tmp_path / "session.py").write_text(setting)

    assert [] == lint_paths([tmp_path])


@pytest.mark.parametrize(
    ("engine", "expected"), [(OSS, ["python-state"]), (DATABRICKS, ["event-time-timer"]), (None, None)]
)
def test_only_what_matters_on_the_engine_is_reported(engine: str | None, expected: list[str] | None) -> None:
    """Python state is refused in one place, event-time timers in the other; without a choice both count."""
    text = 'spark.readStream.format("kafka").load().groupBy("key")'
    text += '.transformWithState(p, "key int", "update", "EventTime").writeStream.format("console")'
    text += '.outputMode("update").trigger(realTime="5 minutes").start()\n'

    found = [finding.rule for finding in lint_text(text, "job.py", engine)]

    assert (expected or ["event-time-timer", "python-state"]) == found


def test_the_linter_needs_nothing_but_python(tmp_path: Path) -> None:
    """An interpreter without any package finds the same."""
    (tmp_path / "job.py").write_text(BAD)
    program = "import sys; from scripts.lint.engine import lint_paths; print(len(lint_paths(sys.argv[1:])))"

    run = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); {program}", tmp_path],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert ("1\n", "", 0) == (run.stdout, run.stderr, run.returncode)


def test_the_pack_itself_has_no_finding() -> None:
    """What the linter tells others holds here."""
    assert [] == lint_paths([ROOT / "examples", ROOT / "scripts"])


def test_rules_have_names_of_their_own() -> None:
    """No two rules share an id."""
    assert len(RULES) == len({rule.id for rule in RULES})


FINDING = Finding("a,b.py", 3, "sink", "100% wrong\nhere", "write it", "warning", (OSS,))


def test_text_is_one_line_for_each_finding_in_order() -> None:
    """Sorted by path and line, each once."""
    other = Finding("a.py", 9, "source", "m", "f")

    assert "a.py:9: source: m; f\na.py:10: source: m; f" == render(
        [Finding("a.py", 10, "source", "m", "f"), other, other]
    )
    assert not render([])


def test_json_has_every_field() -> None:
    """A list of objects, empty without findings."""
    expected = {"path": "a,b.py", "line": 3, "rule": "sink", "message": "100% wrong\nhere", "fix": "write it"}

    assert [{**expected, "severity": "warning", "engine": [OSS]}] == json.loads(render([FINDING], "json"))
    assert [] == json.loads(render([], "json"))


def test_annotations_are_escaped_for_github() -> None:
    """A line break or a comma would end the annotation early."""
    expected = "::warning file=a%2Cb.py,line=3,title=sink::100%25 wrong%0Ahere; write it"

    assert expected == render([FINDING], "github")


def test_sarif_names_version_rule_level_and_place() -> None:
    """What code scanning needs to show a finding."""
    log = json.loads(render([FINDING], "sarif"))

    result = log["runs"][0]["results"][0]
    place = result["locations"][0]["physicalLocation"]
    assert ("2.1.0", ["sink"]) == (log["version"], [rule["id"] for rule in log["runs"][0]["tool"]["driver"]["rules"]])
    assert ("sink", "warning", "100% wrong\nhere; write it") == (
        result["ruleId"],
        result["level"],
        result["message"]["text"],
    )
    assert ("a,b.py", 3) == (place["artifactLocation"]["uri"], place["region"]["startLine"])


def test_an_unknown_style_is_refused_with_those_that_exist() -> None:
    """The message lists what is allowed."""
    with pytest.raises(ValueError, match="'xml'; use one of text, json, github, sarif"):
        render([], "xml")


def test_a_finding_holds_for_both_engines_unless_it_says_otherwise() -> None:
    """Most refusals are common to both."""
    assert ENGINES == Finding("a.py", 1, "sink", "m", "f").engine
