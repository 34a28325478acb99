"""The four renderings of findings: text, JSON, GitHub annotations and SARIF."""

import json
from dataclasses import replace

import pytest

from spark_rtm.text.finding import DATABRICKS, ENGINES, OSS, Finding, render

FINDING = Finding("a,b.py", 3, "sink", "100% wrong\nhere", "write it", "warning", (OSS,))


def test_text_has_one_sorted_line_for_each_finding() -> None:
    """Text output is sorted by path and line number and has no duplicates."""
    other = Finding("a.py", 9, "source", "m", "f")

    assert "a.py:9: source: m; f\na.py:10: source: m; f" == render(
        [Finding("a.py", 10, "source", "m", "f"), other, other]
    )
    assert not render([])


@pytest.mark.parametrize(("engine", "expected"), [((OSS,), "on OSS 4.3, m; f"), ((DATABRICKS,), "on Databricks, m; f")])
def test_text_names_the_only_engine_of_a_finding(engine: tuple[str, ...], expected: str) -> None:
    """A finding that concerns one engine begins with its name; a finding that concerns both names none."""
    assert f"a.py:1: sink: {expected}" == render([Finding("a.py", 1, "sink", "m", "f", engine=engine)])
    assert "a.py:1: sink: m; f" == render([Finding("a.py", 1, "sink", "m", "f")])


def test_json_contains_all_fields_of_findings() -> None:
    """JSON output is a list of objects with all fields, and an empty list without findings."""
    expected = {"path": "a,b.py", "line": 3, "rule": "sink", "message": "100% wrong\nhere", "fix": "write it"}

    assert [{**expected, "severity": "warning", "engine": [OSS]}] == json.loads(render([FINDING], "json"))
    assert [] == json.loads(render([], "json"))


def test_github_annotations_escape_special_characters() -> None:
    """Percent signs, line breaks and commas are escaped, because they would end an annotation early."""
    expected = "::warning file=a%2Cb.py,line=3,title=sink::on OSS 4.3, 100%25 wrong%0Ahere; write it"

    assert expected == render([FINDING], "github")


def test_sarif_contains_version_rule_level_and_location() -> None:
    """SARIF output has the fields that code scanning needs to show a finding."""
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
    """A line break or an escape character in a file name forges no second finding and reaches no terminal."""
    text = render([Finding("a\n::error file=b::c\x1b[2J\udcff.py", 1, "sink", "m", "f")], style)

    assert text.isprintable()
    assert "\\x1b[2J\\udcff" in text


def test_sarif_address_is_percent_encoded() -> None:
    """Blanks, percent signs and bytes that are not UTF-8 are percent-encoded in the address of a file."""
    log = json.loads(render([Finding("a b/100%/é\udcff.py", 1, "sink", "m", "f")], "sarif"))

    place = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert "a%20b/100%25/%C3%A9%FF.py" == place["artifactLocation"]["uri"]


def test_information_has_the_lowest_level_of_each_format() -> None:
    """GitHub calls information a notice, and SARIF calls it a note."""
    finding = replace(FINDING, severity="information")

    assert render([finding], "github").startswith("::notice ")
    assert "note" == json.loads(render([finding], "sarif"))["runs"][0]["results"][0]["level"]


def test_sarif_contains_the_details_of_rules() -> None:
    """The help address of a rule is in SARIF only if the rule has a finding."""
    log = json.loads(render([FINDING], "sarif", {"sink": {"helpUri": "https://example.org"}, "other": {}}))

    assert [{"id": "sink", "helpUri": "https://example.org"}] == log["runs"][0]["tool"]["driver"]["rules"]


def test_unknown_style_is_rejected_with_the_allowed_ones() -> None:
    """The error message for an unknown style lists the allowed styles."""
    with pytest.raises(ValueError, match="'xml'; use one of text, json, github, sarif"):
        render([], "xml")


def test_finding_applies_to_both_engines_by_default() -> None:
    """A finding without an explicit engine applies to OSS and Databricks."""
    assert ENGINES == Finding("a.py", 1, "sink", "m", "f").engine
