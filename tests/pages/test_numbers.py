import json
import re

import pyspark
import pytest

from benchmarks.growth.points import DIMENSIONS
from examples.attribution.credit.models import Lookback
from examples.attribution.settings import DemoSettings
from scripts.pack import files
from spark_rtm.prove.job.runner import JOB_SECONDS
from spark_rtm.realtime import keeper
from spark_rtm.text import markdown

VERSIONS = {pyspark.__version__, *json.loads(files.ROOT.joinpath("scripts/pack/tables/radar.json").read_text())}
TIMES = {1: "once", 2: "twice", 5: "five times", 10: "ten times"}
MAX_MS = (2**63 - 1) / 1000
"""Timestamps in Spark are microseconds in 64 bits."""


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ("state", f"a time in ms above {MAX_MS:.1e} ends".replace("e+", " x 10^")),
        ("prove", f"or an equivalent within {JOB_SECONDS:g} s"),
        ("restarts", f"checks its file {TIMES[round(1 / keeper.POLL_SECONDS)]} a second"),
        ("faults", f"keeps each touch for {Lookback().scaled(DemoSettings.time_scale).click_ms // 60_000} minutes"),
        ("growth", f"With {max(DIMENSIONS['partitions'])} partitions or {max(DIMENSIONS['queries'])} queries"),
    ],
)
def test_sentence_has_the_number_of_the_code(page: str, sentence: str) -> None:
    assert sentence in files.ROOT.joinpath(f"references/{page}.md").read_text(encoding="utf-8")


def wrong_versions(text: str) -> list[str]:
    prose = re.findall(r"(?:OSS|Version) (\d\.\d\.\d)\b", "\n".join(markdown.prose(text)))
    return [version for version in prose if version not in VERSIONS]


def test_versions_of_oss_in_sentences_were_run() -> None:
    assert ["5.3.0"] == wrong_versions("On OSS 5.3.0, it returns nothing.")
    assert [] == [(path.name, found) for path in files.pages(files.ROOT) for found in wrong_versions(path.read_text())]
