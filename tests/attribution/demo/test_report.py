"""The last screen: counts, money, campaigns, latencies, CPU, and the comparison of two runs."""

from collections import Counter, deque
from dataclasses import replace
from typing import Literal

import pytest

from examples.attribution.audit.credit import CreditCheck
from examples.attribution.audit.latency import Latency
from examples.attribution.audit.pacing import Standing
from examples.attribution.audit.reconciliation import Reconciliation
from examples.attribution.audit.run_log import Books
from examples.attribution.demo.report import Report, show_comparison, show_report
from examples.attribution.pacing.rule import Goal, pacing
from examples.attribution.pacing.throttle import Notice
from examples.attribution.settings import Settings
from examples.attribution.traffic.producer import Sent
from examples.measure.cpu import Cpu
from examples.sinks.metrics import Metrics

IDLE = Cpu(60, 2, {"Spark": 0.8, "Kafka": 0.1}, 1.2)


def report(
    trigger: Literal["real-time", "micro-batch"], milliseconds: int, differences: list[str], delivered: int = 11
) -> Report:
    """Return a report with one latency in every column, of a campaign with a goal of 10."""
    sink = Metrics(flushed=4, flushes=3, oldest_ms=deque([2.0, 5.0]))
    goal = Goal("1f-campaign-0", 10, 0, 60_000)
    orders = Counter({"in": 3, "attributed": 2, "duplicate": 1})
    credit = CreditCheck(orders, 2, 1, 4, value_micros=5_000_001, credited_micros=5_000_001, differences=[])
    counts = {"slots": Counter({"in": 2, "filled": 1, "unfilled": 1}), "conversions": orders}
    campaigns = [Standing(goal, pacing(delivered, 0, goal, goal.ends_at))]
    return Report(
        Settings(trigger=trigger),
        Reconciliation(counts, differences, 2, credit, campaigns),
        [Latency("end to end", 1, *(milliseconds,) * 4)],
        {"kafka_to_events": [250, 90]},
        Sent(started_at=0),
        Books(),
        sink,
        [
            Notice(40_000, "cap_reached", "1f-campaign-0", 9, 1, 0),
            Notice(41_000, "cap_reopened", "1f-campaign-0", 9, 0, 1),
        ],
        IDLE,
    )


def test_the_report_shows_counts_verdict_latencies_and_pauses(capsys: pytest.CaptureFixture[str]) -> None:
    """Everything that a run has shown is on the last screen."""
    show_report(report("real-time", 12, ["result x is missing"]))

    text = capsys.readouterr().out
    for fact in (
        "filled 1, unfilled 1",
        "attributed 2, duplicate 1",
        "2 orders of 5.000001, their touches earned 5.000001",
        "2 orders compared with the rule, 1 not",
        "4 touches came too late",
        "result x is missing",
        "1 differences",
        "12",
        "pauses of 250, 90 ms",
        "4 rows in 3 commits",
        "p50 2 p99 5",
        "over-delivered: 1 impressions beyond goals of 10",
        "CPU in 60 s of the measured part: 0.90 of 2 cores (Spark 0.80, Kafka 0.10); the whole machine 1.20",
    ):
        assert fact in text
    assert ["campaign-0", "10", "11", "1", "1.10", "40", "s", "1"] in [line.split() for line in text.splitlines()]


@pytest.mark.parametrize(("own", "machine", "is_full"), [(0.9, 1.79, False), (0.9, 1.81, True), (1.81, 1.7, True)])
def test_a_full_machine_is_said_in_one_line(
    capsys: pytest.CaptureFixture[str], own: float, machine: float, is_full: bool
) -> None:
    """Whoever fills the machine, its latencies are queue lengths, and the remedy is named."""
    show_report(replace(report("real-time", 12, []), cpu=Cpu(60, 2, {"Spark": own}, machine)))

    lines = [line for line in capsys.readouterr().out.splitlines() if "more than 90%" in line]
    assert is_full == bool(lines)
    assert all("take a lower RATE" in line for line in lines)


def test_a_run_that_ended_in_its_warm_up_shows_no_cpu(capsys: pytest.CaptureFixture[str]) -> None:
    """No number is made up for what was not measured."""
    show_report(replace(report("real-time", 12, []), cpu=None))

    assert "CPU" not in capsys.readouterr().out


def test_the_comparison_is_the_ratio_of_the_same_hop(capsys: pytest.CaptureFixture[str]) -> None:
    """Micro-batch over real-time, column by column; a latency of zero counts as one millisecond."""
    show_comparison(report("real-time", 0, []), report("micro-batch", 450, []))

    assert 4 == capsys.readouterr().out.count("450.0x")


def test_the_comparison_says_what_each_trigger_gave_away(capsys: pytest.CaptureFixture[str]) -> None:
    """One line with both numbers and their ratio, unless there was none."""
    show_comparison(report("real-time", 1, [], delivered=12), report("micro-batch", 1, [], delivered=70))
    show_comparison(report("real-time", 1, [], delivered=9), report("micro-batch", 1, [], delivered=70))

    found = [line for line in capsys.readouterr().out.splitlines() if "over-delivered" in line]
    assert [
        "over-delivered at 150 records/s: 2 impressions in real-time mode, 60 in micro-batch, 30.0x as many",
        "over-delivered at 150 records/s: 0 impressions in real-time mode, 60 in micro-batch, which no factor tells",
    ] == found
