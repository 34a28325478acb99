import io
import time
from collections import deque

import pytest
from rich.console import Console
from rich.text import Text

from examples.attribution.audit.run_log import RunLog, SourceRecord
from examples.attribution.demo.beside import Beside
from examples.attribution.demo.live_view import LiveView
from examples.attribution.pacing.rule import CampaignCount, Goal
from examples.attribution.pacing.throttle import DeliveryThrottle
from examples.attribution.settings import DemoSettings
from examples.attribution.traffic.producer import SendLog
from spark_rtm.sinks.metrics import Metrics

SETTINGS = DemoSettings()


def throttle(started_at: float) -> DeliveryThrottle:
    """Return a throttle for eight campaigns with goals of 10 impressions; one reached its cap 5 s after the start."""
    goals = [Goal(f"1f-campaign-{n}", 10, 0, 60_000) for n in range(8)]
    campaigns = DeliveryThrottle(goals)
    at_ms = int(started_at * 1000) + 5_000
    campaigns.update(CampaignCount("1f-campaign-3", 0, 0, 1, 10, 8, 2), at_ms)
    campaigns.update(CampaignCount("1f-campaign-3", 0, 0, 2, 10, 8, 1), at_ms + 1_000)
    campaigns.update(CampaignCount("1f-campaign-3", 0, 0, 3, 10, 9, 1), at_ms + 2_000)
    return campaigns


def printed(
    log: RunLog, *, terminal: bool, seconds: float = 30, draining: bool = False, size: tuple[int, int] = (140, 50)
) -> str:
    text = io.StringIO()
    sent = SendLog(started_at=time.time() - seconds, records=2, measured_seconds=1, lags_ms=[0.5, 0.7])
    with LiveView(Console(file=text, force_terminal=terminal, width=size[0], height=size[1])) as view:
        view.print_line("starting")
        appended_at = int(sent.started_at * 1000)
        view.beside = Beside(lambda: None, [(appended_at, 900), (appended_at + 29_000, 1_000)])
        view.start_run(sent, SETTINGS, throttle(sent.started_at))
        view.update(log, Metrics(flushed=4, oldest_ms=deque([2.0, 5.0])), is_draining=draining)
        view.update(log, is_draining=True)  # too soon to be printed
    return text.getvalue()


def two_records() -> RunLog:
    log, now = RunLog(), int(time.time() * 1000)
    for n in range(3):
        log.record_source(f"ad-requests:0:{n}", SourceRecord(b"", "normal", now, now))
    log.record_event({"src": "ad-requests:0:0", "kind": "request"}, now + 5)
    result = {"src": "ad-requests:0:0", "result_id": "a", "kind": "request", "code": "accepted", "version": 2}
    log.record_result(result, now + 12)
    log.record_reject("ad-requests:0:2", "not_json", b"")
    return log


def test_without_terminal_one_plain_line_per_period() -> None:
    """A pipe or CI log receives whole lines without control characters."""
    lines = printed(two_records(), terminal=False).splitlines()

    assert "starting" == lines[0]
    assert 2 == len(lines)
    counts = "measuring, 55 s left: sent 2, results 1, rejected 1, waiting 1, pending 0, open orders 0, caps reached 2,"
    caps = " reopened 1, p50 12 p99 12 ms, decode p50 5 ms in real-time mode, 1000 ms in micro-batch mode"
    assert counts + caps in lines[1]
    assert "\x1b" not in lines[1]


@pytest.mark.parametrize("size", [(100, 30), (80, 24)])
@pytest.mark.parametrize("draining", [False, True])
def test_screen_fits_the_terminal_and_shows_every_part(size: tuple[int, int], draining: bool) -> None:
    """The title, each stage, both curves and each campaign have one line, which is neither cut nor wrapped."""
    text = printed(two_records(), terminal=True, size=size, draining=draining)
    # Each screen follows the sequence that erases the one before; the last one disappears when the view ends.
    last = text[: text.rindex("\x1b[?25h")].rpartition("\x1b[2K")[2]
    lines = [line.rstrip() for line in Text.from_ansi(last).plain.splitlines()]

    assert "starting" in text
    assert not set("…") & set(text)
    assert size[1] >= len(lines)
    assert size[0] >= max(map(len, lines))
    starts = ["Real-time mode: ", " 30 s  ", "sent 2, ", "stage ", "decode: ", "correlate: ", "both, ", "caps: "]
    starts += ["credit: ", "rows: ", "decode only", "real-time ", "micro-batch ", "campaign ", *["campaign-"] * 8]
    assert [] == [(start, line) for start, line in zip(starts, lines, strict=False) if not line.startswith(start)]
    fast, slow = (lines[starts.index(name)].split() for name in ("real-time ", "micro-batch "))
    assert [["5", "ms"], ["1,000", "ms"]] == [fast[-2:], slow[-2:]]
    bar = f"{'█' * 21}{'░' * 3}"
    assert f"campaign-3 10 9 1 {bar} 5 s, stopped" == " ".join(lines[starts.index("campaign ") + 4].split())


@pytest.mark.parametrize(
    ("seconds", "draining", "phase"),
    [
        (5, False, "warming up, 20 s left"),
        (30, False, "measuring, 55 s left"),
        (85, True, "draining: the traffic has ended; 1 results are not final yet"),
        (30, True, "draining: Ctrl-C ended the traffic; 1 results are not final yet"),
    ],
)
def test_phase_shows_its_duration_and_reason(seconds: float, draining: bool, phase: str) -> None:
    assert phase in printed(two_records(), terminal=False, seconds=seconds, draining=draining)
