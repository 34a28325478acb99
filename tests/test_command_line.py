from dataclasses import dataclass
from typing import Literal

import pytest

from spark_rtm.command_line import arguments_of, docstrings_of


@dataclass(frozen=True)
class Options:
    rate: float = 150
    """Records per second.

    This paragraph is not part of the help text.
    """
    interval_seconds: int | None = None
    """Trigger interval: at most 100 %
    of a minute."""
    mode: Literal["fast", "slow"] = "fast"
    """Speed."""
    names: tuple[str, ...] = ()
    """Names to include (repeatable)."""
    quick: bool = False
    """Run a short version."""
    ticks: bool = True
    """Send ticks."""

    def __post_init__(self) -> None:
        if self.rate == 0:
            raise ValueError("rate is 0, so nothing would be sent; use a positive --rate")


@dataclass(frozen=True)
class SlowOptions(Options):
    rate: float = 3.5
    target: str = "out"
    """Target topic."""


def parse(*arguments: str) -> Options:
    return arguments_of(
        Options,
        arguments,
        program="tool",
        description="Do it.",
        example="tool --quick",
        presets={"quick": {"rate": 7.0}, "rate 500": {"mode": "slow"}},
    )


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", Options()),
        ("--rate 2.5 --interval-seconds 8", Options(rate=2.5, interval_seconds=8)),
        ("--mode slow --no-ticks", Options(mode="slow", ticks=False)),
        ("--names a b --names c", Options(names=("a", "b", "c"))),
        ("--quick", Options(rate=7, quick=True)),
        ("--rate 499.5", Options(rate=499.5)),
        ("--rate 500", Options(rate=500, mode="slow")),
        ("--rate 500 --mode fast", Options(rate=500)),
        ("--quick --rate 9", Options(rate=9, quick=True)),
    ],
)
def test_arguments_become_fields_of_the_dataclass(arguments: str, expected: Options) -> None:
    assert expected == parse(*arguments.split())


def test_help_shows_docstrings_defaults_and_quick_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        parse("--help")

    text = " ".join(capsys.readouterr().out.split())
    assert "--rate N Records per second. (default: 150; with --quick: 7)" in text
    assert "--interval-seconds SECONDS Trigger interval: at most 100 % of a minute. --mode" in text
    assert "--mode {fast,slow} Speed. (default: fast; with --rate 500 or more: slow)" in text
    assert "--ticks, --no-ticks Send ticks." in text
    assert "This paragraph" not in text
    assert text.endswith("example: tool --quick")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--rate 0", "error: rate is 0, so nothing would be sent; use a positive --rate"),
        ("--rate many", "argument --rate: invalid float value: 'many'"),
        ("--mode other", "invalid choice: 'other'"),
    ],
)
def test_wrong_argument_ends_the_program_with_status_two(
    arguments: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        parse(*arguments.split())

    assert message in capsys.readouterr().err


def test_fixed_field_has_a_value_and_no_flag(capsys: pytest.CaptureFixture[str]) -> None:
    fixed = {"mode": "slow"}

    assert Options(mode="slow") == arguments_of(Options, [], program="p", description="d", example="p", fixed=fixed)
    with pytest.raises(SystemExit):
        arguments_of(Options, ["--mode", "fast"], program="p", description="d", example="p", fixed=fixed)
    assert "unrecognized arguments: --mode" in capsys.readouterr().err


def test_required_field_must_be_given_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    @dataclass
    class Required:
        name: str
        """Name."""

    assert Required("x") == arguments_of(Required, ["--name", "x"], program="p", description="d", example="p")
    with pytest.raises(SystemExit):
        arguments_of(Required, [], program="p", description="d", example="p")
    assert "the following arguments are required: --name" in capsys.readouterr().err


def test_subclass_inherits_the_docstring_of_a_redefined_field() -> None:
    texts = docstrings_of(SlowOptions)

    assert ("Records per second.", "Target topic.") == (texts["rate"], texts["target"])
    assert 3.5 == arguments_of(SlowOptions, [], program="p", description="d", example="p").rate
