"""
The linter reports every mistake about real-time mode that published articles and drafts contain.

The sentences and the code in `articles/` are ours. Each repeats a mistake of an article, a benchmark or a pull
request that the pages of this pack correct.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from spark_rtm.lint.engine import lint_text
from spark_rtm.lint.files.prose import claims_in
from tests.lint.case_files import cases_in
from tests.lint.test_lint_cases import expected

FOLDER = Path(__file__).parent / "articles"
SHAPES = cases_in(FOLDER / "boolean_trigger.cases")
SAMPLES = cases_in(FOLDER / "samples.cases")
OPENING = """events = spark.readStream.format("kafka").option("subscribe", "events").load().select("key", "value")
writer = events.writeStream.format("console").outputMode("update")
"""
NOTEBOOK = "# Databricks notebook source\n{}# COMMAND ----------\n{}"


def _page(code: str) -> str:
    return f"# Spark's real-time mode\n\n```python\n{code}```\n"


def _cells(*codes: str) -> str:
    return json.dumps({"cells": [{"cell_type": "code", "source": code} for code in codes]})


FORMATS: dict[str, Callable[[str], str]] = {
    "job.py": lambda code: OPENING + code,
    "page.md": _page,
    "notebook.ipynb": lambda code: _cells(OPENING, code),
    "notebook.py": lambda code: NOTEBOOK.format(OPENING, code),
    "page_in_a_notebook.py": lambda code: NOTEBOOK.format(
        OPENING, "".join(f"# MAGIC {line}\n" for line in ["%md", *_page(code).splitlines()])
    ),
}


def test_boolean_trigger_has_sixty_shapes() -> None:
    assert len(SHAPES) >= 60


@pytest.mark.parametrize("path", FORMATS)
@pytest.mark.parametrize("shape", SHAPES)
def test_boolean_trigger_passes_in_no_shape_and_format(shape: str, path: str) -> None:
    findings = lint_text(FORMATS[path](SHAPES[shape]), path)

    assert {"trigger-duration", "unchecked"} & {finding.rule for finding in findings}


@pytest.mark.parametrize("sample", SAMPLES)
def test_wrong_sample_has_exactly_the_marked_findings(sample: str) -> None:
    findings = lint_text(SAMPLES[sample], sample)

    assert set(expected(SAMPLES[sample])) == {(finding.line, finding.rule) for finding in findings}


def test_every_wrong_sentence_is_listed_or_reported() -> None:
    page = (FOLDER / "claims.md").read_text()
    listed = {int(line.split(":")[1]) for line in claims_in(page, "claims.md")}
    reported = {finding.line for finding in lint_text(page, "claims.md")}
    lines = enumerate(page.splitlines(), 1)
    claims = {number for number, line in lines if line and not line.startswith(("#", "|--", "| subject"))}

    assert claims == claims & (listed | reported)
