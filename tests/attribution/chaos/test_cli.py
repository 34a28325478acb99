import pytest

from examples.attribution.chaos.cli import ChaosOptions, parse
from examples.attribution.chaos.faults import KINDS
from examples.attribution.chaos.parts.driver import DELIVERY_SECONDS


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--faults", "kill-broker,kill-everything"], "faults contains 'kill-everything'; use some of "),
        (["--faults", "kill-executor, kill-worker"], "faults contains 'kill-executor', 'kill-worker', which need"),
        (["--faults", "kill-leader"], "faults contains 'kill-leader', which need --standby"),
        (["--cluster", "--standby"], "a standby needs its own task slots, which the cluster lacks"),
        (["--count", "-1"], "count is -1 and duration is 300; use positive numbers"),
        (["--rate", "0"], "rate is 0.0, but must be greater than 0"),
    ],
    ids=["unknown", "without-cluster", "without-standby", "standby-on-cluster", "negative", "setting"],
)
def test_invalid_options_end_the_command(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message names the option and what is allowed, and the status is 2."""
    with pytest.raises(SystemExit, match="2"):
        parse(arguments)

    assert message in capsys.readouterr().err


def test_broker_stays_away_for_longer_than_the_delivery_timeout(capsys: pytest.CaptureFixture[str]) -> None:
    assert KINDS["remove-broker"].min_seconds > DELIVERY_SECONDS
    with pytest.raises(SystemExit, match="0"):
        parse(["--help"])

    printed = capsys.readouterr().out
    assert all(f"  {name} " in printed for name in KINDS)
    assert ChaosOptions().planned == 10
