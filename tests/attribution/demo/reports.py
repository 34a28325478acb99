from collections import Counter, deque
from typing import Literal

from examples.attribution.audit.latency import Latency
from examples.attribution.audit.reconciliation import CampaignOutcome, Reconciliation
from examples.attribution.audit.run_log import RunLog
from examples.attribution.demo.report import Report
from examples.attribution.pacing.rule import Goal
from examples.attribution.pacing.throttle import Notice
from examples.attribution.settings import DemoSettings
from examples.attribution.traffic.producer import SendLog
from spark_rtm.measure.cpu import Cpu
from spark_rtm.sinks.metrics import Metrics

IDLE_CPU = Cpu(60, 2, {"Spark": 0.8, "Kafka": 0.1}, 1.2)


def report(
    trigger: Literal["real-time", "micro-batch"], milliseconds: int, differences: list[str], delivered: int = 11
) -> Report:
    """Return a report on one campaign with a goal of 10 impressions. All latencies are equal."""
    sink = Metrics(flushed=4, flushes=3, oldest_ms=deque([2.0, 5.0]))
    goal = Goal("1f-campaign-0", 10, 0, 60_000)
    orders = Counter({"in": 3, "attributed": 2, "duplicate": 1})
    counts = {"slots": Counter({"in": 2, "filled": 1, "unfilled": 1}), "conversions": orders}
    campaigns = [CampaignOutcome(goal, delivered)]
    return Report(
        DemoSettings(trigger=trigger),
        Reconciliation(counts, differences, 2, 2, 1, campaigns),
        [Latency("end to end", 1, *(milliseconds,) * 4)],
        SendLog(started_at=0, measured_seconds=60),
        RunLog(),
        sink,
        [
            Notice(40_000, "cap_reached", "1f-campaign-0", 9, 1, 0),
            Notice(41_000, "cap_reopened", "1f-campaign-0", 9, 0, 1),
        ],
        IDLE_CPU,
        pauses_ms={"kafka_to_events": [250, 90]},
    )
