"""Settings of the generated traffic: its length and rate, and the shares of faults."""

from dataclasses import dataclass


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
