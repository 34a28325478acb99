import json
from dataclasses import replace

import pytest

from spark_rtm import __version__
from spark_rtm.text.finding import DATABRICKS, OSS, Finding, render

FINDING = Finding("a,b.py", 3, "sink", "100% wrong\nhere", "write it", "warning", (OSS,))


def test_text_has_one_sorted_line_for_each_finding() -> None:
    other = Finding("a.py", 9, "source", "m", "f")

    assert "a.py:9: error: source: m; f\na.py:10: error: source: m; f" == render(
        [Finding("a.py", 10, "source", "m", "f"), other, other]
    )
    assert not render([])


@pytest.mark.parametrize(("engine", "expected"), [((OSS,), "on OSS 4.3, m; f"), ((DATABRICKS,), "on Databricks, m; f")])
def test_text_names_the_only_engine_of_a_finding(engine: tuple[str, ...], expected: str) -> None:
    assert f"a.py:1: error: sink: {expected}" == render([Finding("a.py", 1, "sink", "m", "f", engine=engine)])
    assert "a.py:1: error: sink: m; f" == render([Finding("a.py", 1, "sink", "m", "f")])


def test_json_contains_all_fields_of_findings() -> None:
    expected: dict[str, object] = {"path": "a,b.py", "line": 3, "rule": "sink"}
    expected |= {"message": "100% wrong\nhere", "fix": "write it"}
    expected |= {"severity": "warning", "engine": [OSS], "column": 7, "end_column": 11, "url": "https://example.org"}
    rules = {"sink": {"helpUri": "https://example.org"}}

    assert [expected] == json.loads(render([replace(FINDING, column=7, end_column=11)], "json", rules))
    assert [] == json.loads(render([], "json"))


def test_known_columns_are_in_each_format() -> None:
    """Text and GitHub contain the first column, SARIF also the end; columns count characters."""
    finding = replace(FINDING, column=7, end_column=11)
    (run,) = json.loads(render([finding], "sarif"))["runs"]

    assert render([finding]).startswith("a,b.py:3:7: warning: sink: ")
    assert render([finding], "github").startswith("::warning file=a%2Cb.py,line=3,col=7,title=sink::")
    region = run["results"][0]["locations"][0]["physicalLocation"]["region"]
    assert {"startLine": 3, "startColumn": 7, "endLine": 3, "endColumn": 11} == region
    assert "unicodeCodePoints" == run["columnKind"]


def test_fingerprint_of_a_finding_does_not_depend_on_its_line() -> None:
    """Code scanning recognizes a finding after a change above it, and distinguishes equal findings of a file."""

    def fingerprints(*findings: Finding) -> list[str]:
        (run,) = json.loads(render(findings, "sarif"))["runs"]
        assert __version__ == run["tool"]["driver"]["version"]
        return [result["partialFingerprints"]["finding/v1"] for result in run["results"]]

    moved, second = replace(FINDING, line=9), replace(FINDING, line=20)
    assert fingerprints(FINDING) == fingerprints(moved)
    assert 2 == len({*fingerprints(moved, second)})


def test_github_annotations_escape_special_characters() -> None:
    """Percent signs, line breaks and commas are escaped, because they would end an annotation early."""
    expected = "::warning file=a%2Cb.py,line=3,title=sink::on OSS 4.3, 100%25 wrong%0Ahere; write it"

    assert expected == render([FINDING], "github")


def test_sarif_contains_version_rule_level_and_location() -> None:
    log = json.loads(render([FINDING], "sarif"))

    result = log["runs"][0]["results"][0]
    place = result["locations"][0]["physicalLocation"]
    assert ("2.1.0", ["sink"]) == (log["version"], [rule["id"] for rule in log["runs"][0]["tool"]["driver"]["rules"]])
    assert ("sink", "warning", "on OSS 4.3, 100% wrong\nhere; write it") == (
        result["ruleId"],
        result["level"],
        result["message"]["text"],
    )
    assert ("a,b.py", 3) == (place["artifactLocation"]["uri"], place["region"]["startLine"])


@pytest.mark.parametrize("style", ["text", "github"])
def test_control_characters_of_names_are_escaped(style: str) -> None:
    text = render([Finding("a\n::error file=b::c\x1b[2J\udcff.py", 1, "sink", "m", "f")], style)

    assert text.isprintable()
    assert "\\x1b[2J\\udcff" in text


def test_sarif_address_is_percent_encoded() -> None:
    log = json.loads(render([Finding("a b/100%/é\udcff.py", 1, "sink", "m", "f")], "sarif"))

    place = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert "a%20b/100%25/%C3%A9%FF.py" == place["artifactLocation"]["uri"]


def test_information_has_the_lowest_level_of_each_format() -> None:
    finding = replace(FINDING, severity="information")

    assert render([finding], "github").startswith("::notice ")
    assert "note" == json.loads(render([finding], "sarif"))["runs"][0]["results"][0]["level"]


def test_sarif_contains_the_details_of_rules() -> None:
    """The help address of a rule is in SARIF only if the rule has a finding."""
    log = json.loads(render([FINDING], "sarif", {"sink": {"helpUri": "https://example.org"}, "other": {}}))

    assert [{"id": "sink", "helpUri": "https://example.org"}] == log["runs"][0]["tool"]["driver"]["rules"]
