import json
import re
from pathlib import Path

import pyspark
import pytest

from benchmarks.growth.points import DIMENSIONS
from examples.attribution.credit.models import Lookback
from examples.attribution.settings import DemoSettings
from scripts.pack import files
from spark_rtm.prove.job.runner import JOB_SECONDS
from spark_rtm.realtime import keeper
from spark_rtm.testing.plugin import MIN_INTERVAL
from spark_rtm.text import markdown

LONG = json.loads(files.ROOT.joinpath("references/measured/other_engines_interval.json").read_text())
BOUNDARIES = {case["boundaries"] for case in LONG["cases"] if case["engine"] == "real-time"}
[SESSION] = re.findall(r"\+ (\d+) \* 60_000", files.ROOT.joinpath("references/alerts.md").read_text(encoding="utf-8"))
VERSIONS = {pyspark.__version__, *json.loads(files.ROOT.joinpath("scripts/pack/tables/radar.json").read_text())}
TIMES = {1: "once", 2: "twice", 5: "five times", 10: "ten times"}
RETIRED = Path(__file__).with_name("retired_rows.txt")
MAX_MS = (2**63 - 1) / 1000
"""Timestamps in Spark are microseconds in 64 bits."""


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ("state", f"a time in ms above {MAX_MS:.1e} ends".replace("e+", " x 10^")),
        ("prove", f"or an equivalent within {JOB_SECONDS:g} s"),
        ("restarts", f"checks its file {TIMES[round(1 / keeper.POLL_SECONDS)]} a second"),
        ("faults", f"keeps each touch for {Lookback().scaled(DemoSettings.time_scale).click_ms // 60_000} minutes"),
        (
            "other_engines",
            f"{LONG['conditions']['interval_seconds'] / 60:g} minutes, long enough for {max(BOUNDARIES)} ",
        ),
        ("testing", "fixture sets `{}` to `{}`".format(*next(iter(MIN_INTERVAL.items())))),
        ("install", f"`{files.NOTICES}` in the repository lists the licenses"),
        ("alerts", f"ends the session {SESSION} minutes after the last click"),
        ("throughput", f"at 0.10 per slot-hour and 1,000 records/s, 18 slots cost {18 * 0.10 / 3.6:.2f} per million"),
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


def retired_rows(page: Path) -> list[tuple[str, tuple[str, ...]]]:
    """Return the rows of tables that no program writes any more, with the commit that their section names."""
    text = page.read_text(encoding="utf-8")
    lines, found = re.sub(r"<!-- generated.*?<!-- end", "", text, flags=re.DOTALL), list[tuple[str, tuple[str, ...]]]()
    for section in re.split(r"^#+ ", lines, flags=re.MULTILINE):
        _, *commits = re.split(r"of commit ([0-9a-f]{8})", section)
        for commit, after in zip(commits[::2], commits[1::2], strict=True):
            found += [(commit, cells) for table in markdown.tables(after) for _, cells in table.rows]
    return found


def test_rows_of_retired_benchmarks_are_those_of_their_commit() -> None:
    """No checkout needs the history: `retired_rows.txt` has the rows, which were compared with those of the commits."""
    rows = [
        f"{commit} | {' | '.join(row)}" for page in files.references(files.ROOT) for commit, row in retired_rows(page)
    ]

    assert RETIRED.read_text(encoding="utf-8").splitlines() == rows
