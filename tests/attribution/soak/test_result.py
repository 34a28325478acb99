from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from examples.attribution.audit.run_log import RunLog, SourceRecord
from examples.attribution.soak.__main__ import main
from examples.attribution.soak.growth import UNITS
from examples.attribution.soak.result import (
    FOLDER,
    PUBLISHED,
    exit_status,
    folder_of,
    foreign_cores,
    latency_by_minute,
    result_of,
    unexpected,
)
from tests.attribution.demo.reports import report

MINUTES = 90


def log_of_minutes() -> RunLog:
    """Return the log of one record per second, each answered 7 ms after its append."""
    log = RunLog()
    for second in range(60 * MINUTES):
        src = f"ad-requests:0:{second}"
        log.record_source(src, SourceRecord(b"", "normal", 1000 * second, 1000 * second + 1))
        log.first_result_at[src] = 1000 * second + 8
    return log


def samples_of(leak: float) -> list[dict[str, Any]]:
    return [
        {
            "seconds": 10.0 * number,
            "batches": {"kafka_to_events": number},
            **{group: {"Kafka": 100.0} for group in UNITS},
            "memory_mib": {"Python workers": 1000 + leak * number},
            "cpu_seconds": {"Spark": 5.0 * number},
            "machine_cpu_seconds": {"all programs": 10.0 * number},
        }
        for number in range(6 * MINUTES)
    ]


def result(leak: float = 0) -> dict[str, Any]:
    invented = replace(report("real-time", 7, []), log=log_of_minutes())
    return result_of(invented, samples_of(leak), "make soak")


def test_latency_belongs_to_the_minute_of_the_send_time() -> None:
    """The first minute after the warm-up is minute 0."""
    rows = latency_by_minute(log_of_minutes(), 120_000)

    assert [(number, 60, 7, 7) for number in range(MINUTES - 2)] == [
        (row["minute"], row["records"], row["p50_ms"], row["max_ms"]) for row in rows
    ]


def test_leak_is_reported_with_its_rate() -> None:
    """The message names the resource, the part and the growth; a steady run has no message."""
    assert [] == [*unexpected(result()["growth"])]
    (message,) = unexpected(result(leak=2)["growth"])

    assert message.startswith("memory, MiB of Python workers grows by 720.0 per hour from a level of 1,")


def test_samples_of_the_reconciliation_do_not_count() -> None:
    samples = samples_of(0)
    after = {**samples[-1], "seconds": 10.0 * len(samples), "batches": {}, "memory_mib": {"Python workers": 9000}}
    invented = replace(report("real-time", 7, []), log=log_of_minutes())

    minutes = result_of(invented, [*samples, *[after] * 6], "make soak")["growth"][0]["minutes"]

    assert [1000] * MINUTES == minutes


def test_load_of_other_programs_is_recorded() -> None:
    """Latency depends on the machine's load, so each minute contains the load of other programs."""
    assert [0.5] * (MINUTES - 1) == foreign_cores(samples_of(0))


@pytest.mark.parametrize(
    ("leak", "differences", "status", "folder"),
    [(0, 0, 0, PUBLISHED), (2, 0, 1, PUBLISHED), (0, 1, 1, FOLDER)],
    ids=["good", "growth", "difference"],
)
def test_growth_and_differences_end_with_status_1(leak: float, differences: int, status: int, folder: Path) -> None:
    """A run with growth is still published, but not a run whose results differ from the replay."""
    run = {**result(leak), "differences": differences}

    assert (status, folder) == (exit_status(run), folder_of(run, publish=True))
    assert FOLDER == folder_of(run, publish=False)


def test_short_duration_is_refused_before_the_start(capsys: pytest.CaptureFixture[str]) -> None:
    """A run of ten minutes could not be judged, so it does not start."""
    with pytest.raises(SystemExit) as exit_info:
        main(["--duration", "600"])

    assert 2 == exit_info.value.code
    assert "growth needs at least 5400 seconds" in capsys.readouterr().err
