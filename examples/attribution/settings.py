"""The settings of the pipeline and its demonstration, each with its unit. `demo/cli.py` derives its flags from them."""

from dataclasses import dataclass, fields, replace
from typing import Literal

from examples.attribution.topics import TOPICS

Trigger = Literal["real-time", "micro-batch"]


@dataclass(frozen=True)
class Windows:
    """
    Correlation windows in milliseconds; both ends of a window belong to it.

    The defaults are common values in ad measurement. Demonstrations and tests shorten all of them with `scaled`.
    """

    request_to_impression_ms: int = 300_000
    """An impression that is later than this after its request is `late_impression`. Until then its slot is pending."""
    impression_to_click_ms: int = 900_000
    """A click that is later than this after its impression is `late_click`."""
    playback_grace_ms: int = 300_000
    """A playback step that is later than creative length plus this after its impression is `late_step`."""
    hold_ms: int = 300_000
    """How long an impression waits for its request before it becomes an orphan."""
    clock_skew_limit_ms: int = 300_000
    """If the clocks of device and collector differ by more than this, the time of the collector counts."""
    skew_tolerance_ms: int = 2_000
    """An event that is at most this much earlier than its parent counts as simultaneous."""
    max_creative_ms: int = 120_000
    """A record with a longer creative is rejected as `bad_number`, because its state must expire."""

    def scaled(self, time_scale: int) -> "Windows":
        """Return the windows divided by `time_scale`: at 60, minutes become seconds."""
        return replace(self, **{field.name: getattr(self, field.name) // time_scale for field in fields(self)})

    @property
    def horizon_ms(self) -> int:
        """Return the maximum age of an event, counted from its request, at which it can still change a result."""
        last_child_ms = max(self.impression_to_click_ms, self.max_creative_ms + self.playback_grace_ms)
        return self.request_to_impression_ms + last_child_ms + self.hold_ms + self.clock_skew_limit_ms


@dataclass(frozen=True)
class Settings:
    """Settings of one run of the pipeline."""

    duration: float = 60
    """Seconds of measured traffic after the warm-up; 0 runs until Ctrl-C."""
    warm_up_seconds: float = 25
    """Seconds of traffic at a growing rate before the measured part. Reconciled, but not part of the latencies.

    Longer than the trigger interval, because the first batch boundary of a cold JVM takes seconds.
    """
    rate: float = 150
    """Records per second, all source topics together."""
    arrivals: Literal["constant", "poisson"] = "constant"
    """Spacing of the scheduled send times."""
    trigger: Trigger = "real-time"
    """Execution mode of the three queries without Python. Timeouts and credit always run in micro-batch mode."""
    interval_seconds: int = 15
    """Real-time trigger interval: seconds between two commits. Does not affect latency. Minimum 5."""
    timeouts_interval_seconds: float = 5
    """Micro-batch interval of `events_to_timeouts`. Timeouts are up to this much late; larger values use less CPU."""
    credits_interval_seconds: float = 5
    """Micro-batch interval of `touches_to_credit`. Credit is up to this much late; larger values use less CPU."""
    partitions: int = 2
    """Partitions of each topic. Real-time mode needs one task slot per source partition."""
    shuffle_partitions: int = 2
    """State partitions of each stateful query. Real-time mode needs one task slot for each."""
    slots: int = 24
    """Task slots of a local master: 3 x 2 + 2 x (2 + 2) for real-time mode, 2 + 6 for micro-batch, 2 spare."""
    time_scale: int = 60
    """Divisor of all windows. At 60 a window of five minutes takes five seconds."""
    watermark_slack_ms: int = 120_000
    """How far one partition may be read ahead of another before rows are dropped as late. Not scaled."""
    pacing_shards: int = 4
    """Shards per campaign: the counters of a hot campaign are spread over this many state keys."""
    pacing_bucket_seconds: int = 1
    """Length of the buckets of request time in which slots are counted. State expires bucket by bucket."""
    master: str = ""
    """Spark master URL, for example spark://host:7077. The default is a local master."""
    topic_prefix: str = ""
    """Prefix of all topic names; keeps runs on one broker apart."""
    checkpoint_dir: str = ""
    """Folder for checkpoints that are kept for a restart. The default is a temporary folder."""
    seed: int = 7
    """Seed of the traffic generator."""
    duplicate_share: float = 0.05
    """Share of records that repeat an earlier record with the same event id."""
    malformed_share: float = 0.02
    """Share of records that cannot be decoded."""
    late_share: float = 0.05
    """Share of transactions in which an impression, a click or a playback step is later than its window."""
    out_of_order_share: float = 0.05
    """Share of transactions whose request or impression is sent after an event that it caused."""
    orphan_share: float = 0.05
    """Share of transactions whose request or impressions are never sent."""
    erasure_share: float = 0.01
    """Share of transactions after which the user asks for erasure (a tombstone in `ad-erasures`)."""
    hot_campaign_share: float = 0.4
    """Share of requests for one campaign, the hot key of pacing. Seven other campaigns share the rest."""
    several_slots_share: float = 0.2
    """Share of requests for two or three slots."""
    several_impressions_share: float = 0.05
    """Share of filled slots for which a second impression is sent."""
    drain_seconds: float = 90
    """Maximum wait for the last results after the traffic has ended."""

    def __post_init__(self) -> None:
        """Report all impossible values in one ValueError."""
        problems = [
            f"{name} is {getattr(self, name)!r}; {rule}"
            for name, is_wrong, rule in (
                ("rate", self.rate <= 0, "records per second must be more than 0"),
                ("duration", self.duration < 0, "use 0 for a run until Ctrl-C"),
                ("warm_up_seconds", self.warm_up_seconds < 0, "use 0 for none"),
                ("interval_seconds", self.interval_seconds < 5, "real-time mode refuses intervals below 5 seconds"),
                (
                    "timeouts_interval_seconds",
                    self.timeouts_interval_seconds < 0,
                    "use 0 for batches without a pause",
                ),
                (
                    "credits_interval_seconds",
                    self.credits_interval_seconds < 0,
                    "use 0 for batches without a pause",
                ),
                ("time_scale", self.time_scale < 1, "windows can only be shortened; use a whole number from 1"),
                (
                    "pacing_shards",
                    self.pacing_shards < 1,
                    "each campaign needs a shard; use a whole number from 1",
                ),
                ("pacing_bucket_seconds", self.pacing_bucket_seconds < 1, "use a whole number of seconds from 1"),
                ("hot_campaign_share", not 0 <= self.hot_campaign_share <= 1, "use a share from 0 to 1"),
                ("erasure_share", not 0 <= self.erasure_share <= 1, "use a share from 0 to 1"),
                ("slots", self.slots < 1, "use at least 1"),
            )
            if is_wrong
        ]
        if problems:
            raise ValueError("; ".join(problems))

    @property
    def windows(self) -> Windows:
        """Return the correlation windows at this run's time scale."""
        return Windows().scaled(self.time_scale)

    def topic(self, name: str) -> str:
        """Return the name of topic `name` in this run."""
        if name not in TOPICS:
            raise ValueError(f"topic {name!r} is not part of the pipeline; use one of {TOPICS}")
        return self.topic_prefix + name
