"""Numbers in sentences are those of the code, of another file, or of the engine that the tests run."""

import json
import re

import pyspark
import pytest

from benchmarks.growth.points import DIMENSIONS
from scripts.pack import files
from spark_rtm.text import markdown

VERSIONS = {pyspark.__version__, *json.loads(files.ROOT.joinpath("scripts/pack/tables/radar.json").read_text())}
MAX_MS = (2**63 - 1) / 1000
"""Timestamps in Spark are microseconds in 64 bits."""


def text_of(path: str) -> str:
    return files.ROOT.joinpath(path).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("page", "sentence", "source", "pattern"),
    [
        ("monitoring", "sending {} records", "tests/monitoring/test_alerts.py", r'b"not JSON"\)] \* (\d+)'),
        ("monitoring", "sending {} records", "tests/monitoring/test_alerts.py", r"range\((1_\d+)\)"),
        ("faults", "status {} if a result is lost", "benchmarks/chaos/__main__.py", r"with status (\d) if a result"),
        ("faults", "status {} if a result differs", "benchmarks/soak/__main__.py", r"status is (\d) if a result"),
    ],
)
def test_sentence_has_the_number_of_the_file(page: str, sentence: str, source: str, pattern: str) -> None:
    [number] = re.findall(pattern, text_of(source))
    assert sentence.format(f"{int(number):,}") in text_of(f"references/{page}.md")


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ("state", f"a time in ms above {MAX_MS:.1e} ends".replace("e+", " x 10^")),
        ("growth", f"With {max(DIMENSIONS['partitions'])} partitions or {max(DIMENSIONS['queries'])} queries"),
    ],
)
def test_sentence_has_the_number_of_the_code(page: str, sentence: str) -> None:
    assert sentence in text_of(f"references/{page}.md")


def wrong_versions(text: str) -> list[str]:
    prose = re.findall(r"(?:OSS|Version) (\d\.\d\.\d)\b", "\n".join(markdown.prose(text)))
    return [version for version in prose if version not in VERSIONS]


def test_versions_of_oss_in_sentences_were_run() -> None:
    assert ["5.3.0"] == wrong_versions("On OSS 5.3.0, it returns nothing.")
    assert [] == [(path.name, found) for path in files.pages(files.ROOT) for found in wrong_versions(path.read_text())]
