from typing import Any

import pytest

from examples.attribution.settings import Settings


@pytest.mark.parametrize(
    ("option", "value", "remedy"),
    [
        ("python_trigger", "real-time", "'micro-batch' if trigger is 'micro-batch'"),
        ("rate", 0, "greater than 0"),
        ("duration", -1, r"0 \(run until Ctrl-C\) or greater"),
        ("interval_seconds", 4, "at least 5, the minimum of real-time mode"),
        ("time_scale", 0, "a whole number of at least 1"),
        ("hot_campaign_share", 2, "a share from 0 to 1"),
        ("erasure_share", -1, "a share from 0 to 1"),
    ],
)
def test_invalid_setting_is_rejected_with_a_remedy(option: str, value: Any, remedy: str) -> None:
    """A value that would make a run fail is rejected before the run, with its name, the value and the remedy."""
    with pytest.raises(ValueError, match=rf"{option} is {value!r}, but must be {remedy}"):
        Settings(trigger="micro-batch", **{option: value})


def test_several_invalid_settings_are_reported_together() -> None:
    with pytest.raises(ValueError, match=r"rate is 0.*; .*slots is 0"):
        Settings(rate=0, slots=0)


def test_topic_outside_the_pipeline_is_rejected() -> None:
    """A misspelled topic name raises an error instead of naming a new topic."""
    assert "run1.events" == Settings(topic_prefix="run1.").topic("events")
    with pytest.raises(ValueError, match="'event' is not part of the pipeline"):
        Settings().topic("event")
