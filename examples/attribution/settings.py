"""
Every knob of the pipeline, with its unit, in one place.

What arrives are command-line options and environment variables; what leaves are two frozen dataclasses.
Real-time mode demands nothing here but honesty: the trigger interval is how often a query commits, not its latency.
"""

from dataclasses import dataclass, fields, replace
from typing import Literal

from examples.attribution.topics import TOPICS

Trigger = Literal["real-time", "micro-batch"]


@dataclass(frozen=True)
class Windows:
    """
    Correlation windows in milliseconds; both ends of every window are inside it.

    The defaults are the customary ones of the trade; `scaled` shrinks all of them for demonstrations and tests.
    """

    request_to_impression_ms: int = 300_000
    """An impression later than this after its request is `late_impression`; a slot stays open this long."""
    impression_to_click_ms: int = 900_000
    """A click later than this after its impression is `late_click`."""
    playback_grace_ms: int = 300_000
    """A playback step later than creative length plus this after its impression is `late_step`."""
    hold_ms: int = 300_000
    """How long an impression waits for a request that has not come yet, before it is an orphan."""
    clock_skew_limit_ms: int = 300_000
    """If the device clock and the collector clock differ by more than this, the collector's counts."""
    skew_tolerance_ms: int = 2_000
    """A child at most this much before its parent still counts as simultaneous."""
    longest_creative_ms: int = 120_000
    """A longer creative is rejected as `bad_number`: state must have an end."""

    def scaled(self, time_scale: int) -> "Windows":
        """Return the windows divided by `time_scale`, so that minutes pass as seconds."""
        return replace(self, **{field.name: getattr(self, field.name) // time_scale for field in fields(self)})

    @property
    def horizon_ms(self) -> int:
        """Return the greatest age, by its request's time, at which an event can still change a result."""
        last_child_ms = max(self.impression_to_click_ms, self.longest_creative_ms + self.playback_grace_ms)
        return self.request_to_impression_ms + last_child_ms + self.hold_ms + self.clock_skew_limit_ms


@dataclass(frozen=True)
class Settings:
    """Settings of one pipeline run."""

    seconds: float = 60
    """Length of the measured traffic in seconds, after the warm-up; 0 runs until Ctrl-C."""
    warm_up_seconds: float = 25
    """Traffic of growing rate before the measured part, in seconds; it reconciles but is left out of the latencies.

    Longer than the interval, because the first boundary of a cold JVM takes seconds.
    """
    rate: float = 150
    """Records per second over all source topics."""
    arrivals: Literal["constant", "poisson"] = "constant"
    """Spacing of the intended send times."""
    trigger: Trigger = "real-time"
    """Execution mode of the three queries without Python; time-outs and credit always run in micro-batch."""
    interval_seconds: int = 15
    """Real-time trigger interval: how often a query commits. Rows leave at once, whatever it is; at least 5."""
    timeouts_interval_seconds: float = 5
    """Micro-batch interval of `events_to_timeouts`: a time-out may be so late; a longer one costs less CPU."""
    credits_interval_seconds: float = 5
    """Micro-batch interval of `touches_to_credit`: credit follows a conversion so late; a longer one costs less CPU."""
    partitions: int = 2
    """Partitions of each topic. Real-time mode takes one slot per source partition."""
    shuffle_partitions: int = 2
    """State partitions of each stateful query; one slot each."""
    slots: int = 24
    """Task slots of a local master: 3 topics x 2 + 2 x (2 + 2) in real-time mode, 2 + 6 in micro-batch, two spare."""
    time_scale: int = 60
    """Divisor of all windows: at 60 a five-minute window is five seconds long."""
    watermark_slack_ms: int = 120_000
    """How far apart the partitions may be read during a catch-up before rows are dropped as late (not scaled)."""
    pacing_shards: int = 4
    """Shards of a campaign's counters: one hot campaign spreads over so many keys."""
    pacing_bucket_seconds: int = 1
    """Length of a bucket of request time in which a campaign's slots are counted; state ends by the bucket."""
    master: str = ""
    """Spark master URL; empty means local."""
    topic_prefix: str = ""
    """Prefix of every topic name, to keep several runs apart on one broker."""
    checkpoints: str = ""
    """Folder of the checkpoints; empty means a temporary one that is removed afterwards."""
    seed: int = 7
    """Seed of the traffic generator."""
    duplicate_share: float = 0.05
    """Share of records that repeat an earlier one, with the same event id."""
    malformed_share: float = 0.02
    """Share of records that cannot be decoded."""
    late_share: float = 0.05
    """Share of transactions with an impression, a click or a playback step after its window."""
    out_of_order_share: float = 0.05
    """Share of transactions whose request or impression is sent after what it caused."""
    orphan_share: float = 0.05
    """Share of transactions whose request or impressions are never sent."""
    erasure_share: float = 0.01
    """Share of transactions after which their user asks for erasure: a tombstone in `ad-erasures`."""
    hot_campaign_share: float = 0.4
    """Share of requests for one campaign, which is the hot key of pacing; seven others share the rest."""
    several_slots_share: float = 0.2
    """Share of requests for two or three slots."""
    several_impressions_share: float = 0.05
    """Share of filled slots for which a second impression arrives."""
    drain_seconds: float = 90
    """Longest wait for the last results after the traffic has ended."""

    def __post_init__(self) -> None:
        """Refuse values that would fail later, all at once."""
        problems = [
            f"{name} is {getattr(self, name)!r}; {rule}"
            for name, is_wrong, rule in (
                ("rate", self.rate <= 0, "records per second must be more than 0"),
                ("seconds", self.seconds < 0, "use 0 for a run until Ctrl-C"),
                ("warm_up_seconds", self.warm_up_seconds < 0, "use 0 for none"),
                ("interval_seconds", self.interval_seconds < 5, "real-time mode refuses intervals below 5 seconds"),
                ("timeouts_interval_seconds", self.timeouts_interval_seconds < 0, "use 0 for batch after batch"),
                ("credits_interval_seconds", self.credits_interval_seconds < 0, "use 0 for batch after batch"),
                ("time_scale", self.time_scale < 1, "windows would grow or vanish; use a whole number from 1"),
                ("pacing_shards", self.pacing_shards < 1, "every count falls into one; use a whole number from 1"),
                ("pacing_bucket_seconds", self.pacing_bucket_seconds < 1, "use a whole number of seconds from 1"),
                ("hot_campaign_share", not 0 <= self.hot_campaign_share <= 1, "use a share from 0 to 1"),
                ("erasure_share", not 0 <= self.erasure_share <= 1, "use a share from 0 to 1"),
                ("slots", self.slots < 1, "at least one task must be able to run"),
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
