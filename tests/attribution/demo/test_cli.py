"""The command line: what is not named keeps its default, and what is impossible is refused with the remedy."""

import pytest

from examples.attribution.demo.cli import DemoOptions, parse


def test_without_options_the_settings_are_the_documented_ones() -> None:
    """Nobody has to look up two lists of defaults."""
    assert DemoOptions() == parse([])


def test_every_option_reaches_its_setting() -> None:
    """Intervals of the micro-batch hops have options of their own."""
    options = parse(
        [
            "--rate",
            "50",
            "--timeouts-interval-seconds",
            "2.5",
            "--credits-interval-seconds",
            "9",
            "--compare",
            "--cluster",
        ]
    )

    expected = DemoOptions(
        rate=50, timeouts_interval_seconds=2.5, credits_interval_seconds=9, compare=True, cluster=True
    )
    assert expected == options


def test_an_impossible_option_ends_with_its_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    """The command ends with status 2 and one line, before anything is started."""
    with pytest.raises(SystemExit, match="2"):
        parse(["--interval-seconds", "1"])

    assert "interval_seconds is 1; real-time mode refuses intervals below 5 seconds" in capsys.readouterr().err
