"""Settings: units, scales, and refusals."""

import pytest

from examples.attribution.settings import Settings, Windows


def test_a_time_scale_divides_every_window() -> None:
    """At scale 60 a minute passes as a second, in all windows alike."""
    scaled = Windows().scaled(60)

    assert (5_000, 15_000, 5_000, 5_000, 5_000, 33, 2_000) == (
        scaled.request_to_impression_ms,
        scaled.impression_to_click_ms,
        scaled.playback_grace_ms,
        scaled.hold_ms,
        scaled.clock_skew_limit_ms,
        scaled.skew_tolerance_ms,
        scaled.max_creative_ms,
    )


def test_the_horizon_covers_the_longest_chain_of_windows() -> None:
    """Request, impression and the latest click, plus what a request and the clocks may be late."""
    windows = Windows()

    assert (300 + 900 + 300 + 300) * 1000 == windows.horizon_ms


@pytest.mark.parametrize(
    ("option", "value", "remedy"),
    [
        ("rate", 0, "more than 0"),
        ("duration", -1, "use 0 for a run until Ctrl-C"),
        ("warm_up_seconds", -1, "use 0 for none"),
        ("interval_seconds", 4, "below 5 seconds"),
        ("timeouts_interval_seconds", -1, "use 0 for batches without a pause"),
        ("credits_interval_seconds", -1, "use 0 for batches without a pause"),
        ("time_scale", 0, "a whole number from 1"),
        ("pacing_shards", 0, "a whole number from 1"),
        ("pacing_bucket_seconds", 0, "seconds from 1"),
        ("hot_campaign_share", 2, "a share from 0 to 1"),
        ("erasure_share", -1, "a share from 0 to 1"),
        ("slots", 0, "use at least 1"),
    ],
)
def test_an_impossible_setting_is_refused_with_name_value_and_remedy(option: str, value: int, remedy: str) -> None:
    """What would fail in the middle of a run is refused before it starts."""
    with pytest.raises(ValueError, match=rf"{option} is {value}; .*{remedy}"):
        Settings(**{option: value})  # type: ignore[arg-type]


def test_several_impossible_settings_are_reported_together() -> None:
    """Nobody has to repair one mistake to hear of the next."""
    with pytest.raises(ValueError, match=r"rate is 0.*; .*slots is 0"):
        Settings(rate=0, slots=0)


def test_a_topic_that_is_not_part_of_the_pipeline_is_refused() -> None:
    """A misspelt topic name never becomes a topic."""
    assert "run1.events" == Settings(topic_prefix="run1.").topic("events")
    with pytest.raises(ValueError, match="'event' is not part of the pipeline"):
        Settings().topic("event")
