from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import pytest

from spark_rtm.command_line import Argument, arguments_of, docstrings_of, whole_number
from spark_rtm.program import Command, Program, UsageError


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


@dataclass
class Required:
    name: str
    """Name."""


@pytest.mark.parametrize(
    ("options", "arguments", "fixed", "message"),
    [
        (Options, "--rate 0", {}, "error: rate is 0, so nothing would be sent; use a positive --rate"),
        (Options, "--rate many", {}, "argument --rate: invalid float value: 'many'"),
        (Options, "--mode other", {}, "invalid choice: 'other'"),
        (Options, "--mode fast", {"mode": "slow"}, "unrecognized arguments: --mode"),
        (Required, "", {}, "the following arguments are required: --name"),
    ],
)
def test_wrong_argument_ends_the_program_with_status_two(
    options: type, arguments: str, fixed: dict[str, str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A fixed field has a value and no flag."""
    with pytest.raises(SystemExit, match="2"):
        arguments_of(options, arguments.split(), program="p", description="d", example="p", fixed=fixed)

    assert message in capsys.readouterr().err
    assert Options(mode="slow") == arguments_of(
        Options, [], program="p", description="d", example="p", fixed={"mode": "slow"}
    )
    assert Required("x") == arguments_of(Required, ["--name", "x"], program="p", description="d", example="p")


def test_subclass_inherits_the_docstring_of_a_redefined_field() -> None:
    texts = docstrings_of(SlowOptions)

    assert ("Records per second.", "Target topic.") == (texts["rate"], texts["target"])
    assert 3.5 == arguments_of(SlowOptions, [], program="p", description="d", example="p").rate


@dataclass(frozen=True)
class Copied:
    source: Annotated[Path, Argument("SOURCE", is_positional=True)]
    targets: Annotated[tuple[str, ...], Argument(is_positional=True)] = ()
    tag: Annotated[tuple[str, ...], Argument("TAG", is_repeated=True)] = ()
    only: Annotated[tuple[str, ...] | None, Argument("A,B", lambda text: tuple(text.split(",")))] = None
    count: Annotated[int | None, Argument("N", whole_number(1))] = None
    is_strict: bool | None = None
    rest: Annotated[tuple[str, ...], Argument(is_rest=True)] = ()

    def __post_init__(self) -> None:
        if self.source.name == "wrong":
            raise ValueError("source is wrong; name another one")


def copied(*arguments: str) -> Copied:
    ran = list[Copied]()

    def run(options: Copied) -> int:
        ran.append(options)
        return 0

    assert 0 == Program("tool", "tool", "Copies.", [Command("copy", "copy", Copied, run, {"copy a": "a"})]).main(
        ["copy", *arguments]
    )
    return ran[0]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("a", Copied(Path("a"))),
        ("a b c", Copied(Path("a"), ("b", "c"))),
        ("--tag x --tag y a b", Copied(Path("a"), ("b",), ("x", "y"))),
        ("a --only x,y --count 3 --is-strict", Copied(Path("a"), only=("x", "y"), count=3, is_strict=True)),
        ("a -- --count x -- y", Copied(Path("a"), rest=("--count", "x", "--", "y"))),
        ("a --", Copied(Path("a"))),
    ],
)
def test_command_has_positional_repeated_and_further_arguments(arguments: str, expected: Copied) -> None:
    assert expected == copied(*arguments.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "the following arguments are required: SOURCE"),
        ("a --count 0", "argument --count: '0' is not a whole number from 1 to 999,999,999"),
        (f"a --count {'9' * 5000}", f"argument --count: '{'9' * 99}' is not a whole number"),
        ("wrong", "tool copy: error: source is wrong; name another one"),
        ("a --none", "unrecognized arguments: --none"),
    ],
)
def test_wrong_argument_of_a_command_ends_with_status_two(
    arguments: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        copied(*arguments.split())

    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (UsageError("a\x1b", "b"), 2, "tool: a\\x1b\ntool: b\n"),
        (OSError(2, "No such file", "x"), 2, "tool: [Errno 2] No such file: 'x'; the command stopped here\n"),
        (
            ModuleNotFoundError("no", name="psutil"),
            2,
            "requires the 'psutil' package, which is not installed; run get prove",
        ),
        (KeyboardInterrupt(), 130, ""),
    ],
    ids=["usage", "file", "package", "interrupt"],
)
def test_failed_command_has_a_status_and_a_message(
    error: BaseException, status: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: Options) -> int:
        raise error

    commands = [Command("fail", "fail", Options, fail, {"fail": "x"}, extra="prove")]

    assert status == Program("tool", "tool", "Fails.", commands, lambda extra: f"run get {extra}").main(["fail"])
    assert message in capsys.readouterr().err
