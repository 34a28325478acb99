"""
Settings of the pipeline, of its traffic and of its demonstration. Each setting documents its unit.

The programs derive their command-line flags from these settings.
"""

from dataclasses import dataclass
from typing import Literal

from examples.attribution.correlation.windows import Windows
from examples.attribution.topics import TICKS_TOPIC, TOPICS

Trigger = Literal["real-time", "micro-batch"]


@dataclass(frozen=True)
class TrafficSettings:
    """Settings of the traffic of one run."""

    duration: float = 60
    """Seconds of measured traffic after the warm-up; 0 means that the traffic runs until Ctrl-C."""
    warm_up_seconds: float = 25
    """
    Seconds of traffic at an increasing rate before the measured part. Latencies exclude the warm-up.

    The reconciliation includes the warm-up records. The default is longer than the trigger interval, because the first
    batch boundary of a cold JVM takes seconds.
    """
    rate: float = 150
    """Records per second, summed over all source topics."""
    seed: int = 7
    """Seed of the traffic generator."""
    duplicate_share: float = 0.05
    """Share of records that repeat an earlier record with the same event id."""
    malformed_share: float = 0.02
    """Share of records that cannot be decoded."""
    late_share: float = 0.05
    """Share of transactions in which an impression, a click or a playback step occurs after the end of its window."""
    out_of_order_share: float = 0.05
    """Share of transactions whose request or impression is sent after an event that it caused."""
    orphan_share: float = 0.05
    """Share of transactions whose request or impressions are never sent."""
    erasure_share: float = 0.01
    """Share of transactions after which the user requests erasure (a tombstone in `ad-erasures`)."""
    hot_campaign_share: float = 0.4
    """Share of requests for one hot campaign. The remaining requests go to seven other campaigns."""

    def __post_init__(self) -> None:
        """Raise one ValueError that lists all invalid values."""
        rules = self.rules()
        problems = [
            f"{k} is {getattr(self, k)!r}, but must be {rule}" for k, (is_met, rule) in rules.items() if not is_met
        ]
        if problems:
            raise ValueError("; ".join(problems))

    def rules(self) -> dict[str, tuple[bool, str]]:
        """Return whether each checked setting is valid, and what a valid value is."""
        return {
            "rate": (self.rate > 0, "greater than 0"),
            "duration": (self.duration >= 0, "0 (run until Ctrl-C) or greater"),
            "warm_up_seconds": (self.warm_up_seconds >= 0, "0 (no warm-up) or greater"),
            "hot_campaign_share": (0 <= self.hot_campaign_share <= 1, "a share from 0 to 1"),
            "erasure_share": (0 <= self.erasure_share <= 1, "a share from 0 to 1"),
        }


@dataclass(frozen=True)
class Settings(TrafficSettings):
    """Settings of one run of the pipeline and of its traffic."""

    trigger: Trigger = "real-time"
    """Execution mode of the three queries without Python processors."""
    python_trigger: Trigger = "micro-batch"
    """
    Execution mode of the two queries with Python processors (timeouts and credit). Each mode needs its own checkpoints.

    Real-time mode needs ticks, which `spark_rtm.kafka.ticks` writes. On OSS 4.3.0, real-time mode also needs
    `spark_rtm.realtime.python_state`, which runs the processors.
    """
    interval_seconds: int = 300
    """Seconds between two commits in real-time mode, at least 5. The trigger interval does not affect latency."""
    python_interval_seconds: float = 5
    """Trigger interval in seconds of micro-batch queries with Python processors. It delays timeouts and credit."""
    exactly_once: float = 0
    """
    Seconds between two commits, if the queries write to Kafka exactly once. 0 means Spark's sink: at least once.

    Readers of committed records, such as the next query, get each result after the commit that contains it.
    """
    partitions: int = 2
    """Number of partitions per topic. Real-time mode needs one task slot per source partition."""
    shuffle_partitions: int = 2
    """Number of state partitions of each stateful query. Real-time mode needs one task slot per state partition."""
    slots: int = 30
    """
    Task slots of a local master. The pipeline needs 22, or 28 if the queries with Python run in real-time mode too.

    These numbers are for 2 partitions and 2 shuffle partitions. The queries without Python need 3 x 2 + 2 x (2 + 2) =
    14 slots. In micro-batch mode, timeouts and credit need 2 + 6 = 8 slots. In real-time mode, they also read the tick
    topic, and need (2 + 1 + 2) + (6 + 1 + 2) = 14 slots.
    """
    time_scale: int = 1
    """
    Divisor of all windows, for demonstrations and tests. With 60, a window of five minutes takes five seconds.

    With any value other than 1, real traffic is rejected and misattributed, because the windows are too short.
    """
    watermark_slack_ms: int = 120_000
    """
    Maximum time (ms) by which the query may read one partition ahead of another before rows of the other count as late.

    `time_scale` does not change it. `attributed_to_pacing` also drops timeouts if `events_to_timeouts` lags by more.
    """
    pacing_shards: int = 4
    """Number of shards per campaign. The counters of a hot campaign are spread over this many state keys."""
    pacing_bucket_seconds: int = 1
    """
    Length of a bucket in seconds of request time. Ad slots are counted per bucket, and state expires bucket by bucket.
    """
    master: str = ""
    """Spark master URL, for example spark://host:7077. The default is a local master."""
    topic_prefix: str = ""
    """Prefix of all topic names. Different prefixes keep runs on the same broker separate."""
    checkpoint_dir: str = ""
    """Folder for checkpoints. It is kept after the run for a restart. The default is a temporary folder."""
    drain_seconds: float = 90
    """Number of seconds without progress after which a run no longer waits for its last results."""

    def rules(self) -> dict[str, tuple[bool, str]]:
        """Return whether each checked setting is valid, and what a valid value is."""
        has_mode = self.trigger == "real-time" or self.python_trigger == "micro-batch"
        return super().rules() | {
            "python_trigger": (has_mode, f"'micro-batch' if trigger is {self.trigger!r}"),
            "interval_seconds": (self.interval_seconds >= 5, "at least 5, the minimum of real-time mode"),
            "python_interval_seconds": (self.python_interval_seconds >= 0, "0 (batches without a pause) or greater"),
            "exactly_once": (self.exactly_once >= 0, "0 (at least once) or greater"),
            "time_scale": (self.time_scale >= 1, "a whole number of at least 1, as windows can only be shortened"),
            "pacing_shards": (
                self.pacing_shards >= 1,
                "a whole number of at least 1, because each campaign needs a shard",
            ),
            "pacing_bucket_seconds": (self.pacing_bucket_seconds >= 1, "a whole number of at least 1"),
            "slots": (self.slots >= 1, "at least 1"),
        }

    @property
    def windows(self) -> Windows:
        """Return the correlation windows of this run, divided by its time scale."""
        return Windows().scaled(self.time_scale)

    def topic(self, name: str) -> str:
        """Return the topic name with this run's prefix. Raise ValueError if the pipeline has no topic `name`."""
        if name not in (known := (*TOPICS, TICKS_TOPIC)):
            raise ValueError(f"topic {name!r} is not part of the pipeline; use one of {known}")
        return self.topic_prefix + name


@dataclass(frozen=True)
class DemoSettings(Settings):
    """
    Settings of a demonstration or a test. Windows and trigger intervals are short enough for a run of one minute.

    With these settings, real traffic would be rejected and misattributed.
    """

    interval_seconds: int = 15
    """Seconds between two commits in real-time mode, at least 5. The trigger interval does not affect latency."""
    time_scale: int = 60
    """Divisor of all windows. With a time scale of 60, a window of five minutes takes five seconds."""
