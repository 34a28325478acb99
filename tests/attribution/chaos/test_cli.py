import pytest

from examples.attribution.chaos.cli import parse


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
    with pytest.raises(SystemExit, match="2"):
        parse(arguments)

    assert message in capsys.readouterr().err
