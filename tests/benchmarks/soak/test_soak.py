import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from benchmarks.soak.__main__ import FOLDER, PUBLISHED, Sample, exit_status, main, result_of, used_resources, write
from benchmarks.soak.trends import growth, unexpected
from examples.attribution.audit.run_log import RunLog, SourceRecord
from tests.attribution.demo.reports import report
from tests.helpers import eventually

MINUTES = 120


def noisy(start: float, per_hour: float, deviation: float) -> list[float]:
    rng = random.Random(3)
    return [start + per_hour * minute / 60 + rng.gauss(0, deviation) for minute in range(MINUTES)]


def log_of_minutes() -> RunLog:
    """Return the log of one record per second, each answered 7 ms after its append."""
    log = RunLog()
    for second in range(60 * MINUTES):
        src = f"ad-requests:0:{second}"
        log.record_source(src, SourceRecord(b"", "normal", 1000 * second, 1000 * second + 1))
        log.first_result_at[src] = 1000 * second + 8
    return log


def result(leak: float = 0, minutes: int = MINUTES) -> dict[str, Any]:
    """Return the result of a run whose Python workers grow by `leak` MiB every ten seconds."""
    samples: list[Sample] = [
        (10.0 * n, 5.0 * n, {("memory_mib", "Python workers"): 1000 + leak * n, ("handles", "Kafka"): 100})
        for n in range(6 * minutes)
    ]
    samples[0][2]["handles", "compiler"] = 5
    return result_of(replace(report("real-time", 7, []), log=log_of_minutes()), samples, "make soak")


@pytest.mark.parametrize(
    ("group", "part", "minutes", "trend"),
    [
        ("handles", "Kafka", noisy(1500, 0, 20), "steady"),
        ("handles", "Kafka", noisy(600, 1, 0.01), "steady"),
        ("memory_mib", "Python workers", noisy(1500, 45, 3), "grows"),
        ("handles", "Kafka", [100.0 + 60 * min(minute, 38) for minute in range(MINUTES)], "steady"),
        ("handles", "Kafka", [500.0] * (MINUTES - 1) + [5000.0], "steady"),
        ("jvm_mib", "heap", [200.0 + 60 * (minute % 21) for minute in range(MINUTES)], "steady"),
        ("jvm_mib", "heap", [200.0 + 2 * minute + 60 * (minute % 11) for minute in range(MINUTES)], "grows"),
        ("memory_mib", "driver and audit", noisy(200, 300, 5), "grows as expected"),
    ],
    ids=[
        *("noise", "below 2 percent", "small leak in noise", "only while it settles", "one peak"),
        *("before a garbage collection", "below the garbage", "known cause"),
    ],
)
def test_trend_of_a_resource(group: str, part: str, minutes: Sequence[float], trend: str) -> None:
    assert trend == growth(group, part, minutes)["trend"]


def test_leak_and_load_of_other_programs_are_reported() -> None:
    """The message names the resource, the part and the growth; a program that ran only at the start is left out."""
    steady, leaking = result(), result(leak=2)

    assert [] == [*unexpected(steady["growth"])]
    assert [("handles", "Kafka"), ("memory_mib", "Python workers"), ("latency", "p50_ms"), ("latency", "p99_ms")] == [
        (row["group"], row["part"]) for row in steady["growth"]
    ]
    assert [0.5] * (MINUTES - 1) == steady["foreign_cores"]
    (message,) = unexpected(leaking["growth"])
    assert message.startswith("memory, MiB of Python workers grows by 720.0 per hour from a level of 1,")


@pytest.mark.parametrize(
    ("leak", "differences", "status", "folder"),
    [(0, 0, 0, PUBLISHED), (2, 0, 1, PUBLISHED), (0, 1, 1, FOLDER)],
    ids=["good", "growth", "difference"],
)
def test_growth_or_differences_fail(
    leak: float, differences: int, status: int, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run with growth is still published, but not a run whose results differ from the replay."""
    monkeypatch.chdir(tmp_path)
    PUBLISHED.mkdir(parents=True)
    run = {**result(leak), "differences": differences}

    assert status == exit_status(run)
    assert [folder / "soak.json", FOLDER / "soak.json"] == [write(run, publish=publish) for publish in (True, False)]


def test_short_run_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """A ten-minute run is too short to detect growth, so it does not start. A run that ended early has no result."""
    with pytest.raises(SystemExit, match="2"):
        main(["--duration", "600"])
    assert "a run must last at least 5400 s to show growth" in capsys.readouterr().err

    with pytest.raises(ValueError, match=r"cover 80 minutes, which is too short"):
        result(minutes=80)


@pytest.mark.spark
def test_sample_of_a_query_with_state(spark: SparkSession, tmp_path: Path) -> None:
    counts = spark.readStream.format("rate").load().groupBy("value").count()
    writer = counts.writeStream.format("noop").outputMode("update").queryName("counts")
    query = writer.option("checkpointLocation", str(tmp_path / "counts")).start()
    eventually(lambda: (query.lastProgress or {"batchId": 0})["batchId"] >= 2, 60, "two batches")

    used = used_resources(spark, tmp_path)

    assert used["state_rows", "counts"] > 0 < used["state_mib", "counts"]
    assert used["checkpoint_files", "counts"] >= sum(1 for _ in (tmp_path / "counts" / "offsets").iterdir())
    assert used["memory_mib", "Spark"] > used["jvm_mib", "heap"] > 1
    assert min(used["jvm_threads", "Spark"], used["jvm_classes", "Spark"], used["handles", "driver and audit"]) > 3
