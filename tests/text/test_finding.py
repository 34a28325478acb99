import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from spark_rtm.text.finding import DATABRICKS, OSS, Finding, RuleDetails, render

FINDING = Finding("a,b.py", 3, "sink", "100% wrong\nhere", "write it", "warning", (OSS,))


def test_text_has_one_line_for_each_finding_by_line_and_column() -> None:
    """The line names the engine if the finding applies to one engine only."""
    first, second = Finding("a.py", 9, "source", "m", "f", column=60), Finding("a.py", 10, "sink", "m", "f", column=1)
    only = replace(first, column=5, rule="trigger", engine=(DATABRICKS,))

    assert [
        "a.py:9:5: error: trigger: on Databricks, m; f",
        "a.py:9:60: error: source: m; f",
        "a.py:10:1: error: sink: m; f",
    ] == render([second, first, first, only]).splitlines()
    assert not render([])


def test_json_contains_all_fields_of_findings() -> None:
    expected: dict[str, object] = {"path": "a,b.py", "line": 3, "rule": "sink"}
    expected |= {"message": "100% wrong\nhere", "fix": "write it"}
    expected |= {"severity": "warning", "engine": [OSS], "column": 7, "end_column": 11, "url": "https://example.org"}
    expected |= {"cell": 0, "cell_line": 0}
    rules = {"sink": {"helpUri": "https://example.org"}}

    assert [expected] == json.loads(render([replace(FINDING, column=7, end_column=11)], "json", rules))
    assert [] == json.loads(render([], "json"))


def sarif(*findings: Finding, rules: RuleDetails | None = None) -> dict[str, Any]:
    log = json.loads(render(findings, "sarif", rules))
    assert "2.1.0" == log["version"]
    return dict(log["runs"][0])


def test_sarif_contains_rule_level_place_and_columns() -> None:
    """Columns count characters. The details of a rule are in SARIF only if the rule has a finding."""
    run = sarif(replace(FINDING, column=7, end_column=11), rules={"sink": {"helpUri": "https://example.org"}, "x": {}})

    (result,) = run["results"]
    place = result["locations"][0]["physicalLocation"]
    assert "unicodeCodePoints" == run["columnKind"]
    assert [{"id": "sink", "helpUri": "https://example.org"}] == run["tool"]["driver"]["rules"]
    assert {"startLine": 3, "startColumn": 7, "endLine": 3, "endColumn": 11} == place["region"]
    assert ("a,b.py", "sink", "warning") == (place["artifactLocation"]["uri"], result["ruleId"], result["level"])
    assert "on OSS 4.3, 100% wrong\nhere; write it" == result["message"]["text"]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (0, "::warning file=a%2Cb.py,line=3,title=sink::on OSS 4.3, 100%25 wrong%0Ahere; write it"),
        (7, "::warning file=a%2Cb.py,line=3,col=7,title=sink::on OSS 4.3, 100%25 wrong%0Ahere; write it"),
    ],
)
def test_github_annotations_escape_special_characters(column: int, expected: str) -> None:
    """Percent signs, line breaks and commas are escaped, because they would end an annotation early."""
    assert expected == render([replace(FINDING, column=column)], "github")


def test_fingerprint_of_a_finding_does_not_depend_on_its_line() -> None:
    """Code scanning recognizes a finding after a change above it, and distinguishes equal findings of a file."""

    def fingerprints(*findings: Finding) -> list[str]:
        return [result["partialFingerprints"]["finding/v1"] for result in sarif(*findings)["results"]]

    moved, second = replace(FINDING, line=9), replace(FINDING, line=20)
    assert fingerprints(FINDING) == fingerprints(moved)
    assert 2 == len({*fingerprints(moved, second)})


@pytest.mark.parametrize("style", ["text", "github"])
def test_control_characters_of_names_are_escaped(style: str) -> None:
    text = render([Finding("a\n::error file=b::c\x1b[2J\udcff.py", 1, "sink", "m", "f")], style)

    assert text.isprintable()
    assert "\\x1b[2J\\udcff" in text


def test_sarif_address_is_percent_encoded() -> None:
    (result,) = sarif(Finding("a b/100%/é\udcff.py", 1, "sink", "m", "f"))["results"]

    place = result["locations"][0]["physicalLocation"]
    assert "a%20b/100%25/%C3%A9%FF.py" == place["artifactLocation"]["uri"]


def test_information_has_the_lowest_level_of_each_format() -> None:
    finding = replace(FINDING, severity="information")

    assert render([finding], "github").startswith("::notice ")
    assert "note" == sarif(finding)["results"][0]["level"]


LONG = "x" * 150 + "\t" + "é" * 150


@pytest.mark.parametrize(
    ("source", "column", "end", "frame"),
    [
        ("a\tb.c()", 3, 6, "\n   |\n 3 | a b.c()\n   |   ^^^\n"),
        (LONG, 152, 999, "\n   |\n 3 | …" + "x" * 28 + " " + "é" * 90 + "\n   | " + " " * 30 + "^" * 90 + "\n"),
        (LONG, 301, 301, "\n   |\n 3 | …" + "é" * 119 + "\n   | " + " " * 119 + "^\n"),
        ("", 1, 1, ""),
    ],
    ids=["tab", "long", "end", "empty"],
)
def test_full_text_shows_the_line_with_carets(source: str, column: int, end: int, frame: str) -> None:
    """Long lines are cut around the range, and each character keeps its width."""
    found = replace(FINDING, column=column, end_column=end, source=source)

    assert f"{render([found])}{frame}" == render([found], "full")


# https://github.com/gitlabhq/gitlabhq/blob/33827e3a/app/validators/json_schemas/codeclimate.json, with the limits
# in the table of doc/ci/testing/code_quality.md at 01eae359, both read 2026-11-29
GITLAB: dict[str, Any] = {
    "type": "object",
    "required": ["description", "check_name", "fingerprint", "severity", "location"],
    "properties": {
        **{name: {"type": "string", "minLength": 1} for name in ("description", "check_name", "fingerprint")},
        "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
        "location": {
            "required": ["path", "lines"],
            "properties": {
                "path": {"type": "string", "pattern": "^[^/]"},
                "lines": {"required": ["begin"], "properties": {"begin": {"type": "integer", "minimum": 1}}},
            },
        },
    },
}


def test_gitlab_report_follows_its_schema() -> None:
    """Equal findings have different fingerprints, and a path is relative to the current folder."""
    absolute = replace(FINDING, path=str(Path.cwd() / "a\udcff.py"), line=0, severity="error")
    report = json.loads(render([FINDING, replace(FINDING, line=9, severity="information"), absolute], "gitlab"))

    jsonschema.validate(report, {"type": "array", "items": GITLAB})
    rows = [(row["severity"], row["location"]["path"], row["location"]["lines"]["begin"]) for row in report]
    assert [("major", "a\\udcff.py", 1), ("minor", "a,b.py", 3), ("info", "a,b.py", 9)] == rows
    assert 3 == len({row["fingerprint"] for row in report})
    with pytest.raises(jsonschema.ValidationError, match="'note' is not one of"):
        jsonschema.validate([{**report[0], "severity": "note"}], {"type": "array", "items": GITLAB})
