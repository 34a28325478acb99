"""Checks that apply to every command: its arguments, its help and its old name."""

import argparse
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from scripts import skills
from scripts.pack import files
from scripts.skills import PROGRAM
from spark_rtm.cli import RTM
from spark_rtm.command_line import add_arguments, docstrings_of
from spark_rtm.program import Command, Program

FLAGS = Path(__file__).with_name("flags.txt")
"""Each argument with its value and its default. Scripts of users name them, so none may change."""
COMMANDS = list({command.name: command for program in (RTM, PROGRAM) for command in program.commands}.values())
MAX_COLUMNS = 120
OMITTED = {"None", "False", "()", "''"}


def arguments(command: Command) -> Iterator[str]:
    parser = argparse.ArgumentParser(add_help=False)
    add_arguments(parser, command.options)
    defaults = {field.name: field.default for field in fields(command.options)}
    for action in parser._actions:  # noqa: SLF001 - argparse has no public list
        name = action.option_strings or ([] if action.metavar else [action.dest])
        value = [action.metavar] if isinstance(action.metavar, str) else []
        default = "" if repr(defaults[action.dest]) in OMITTED else f" = {defaults[action.dest]}"
        is_required = action.required and action.nargs != "*"
        words = [command.name, *name, *value, *(["|".join(action.choices)] if action.choices else [])]
        yield f"{' '.join(words)}{' (required)' if is_required else default}"


def test_flags_and_their_defaults_are_those_of_the_list() -> None:
    found = [line for command in COMMANDS for line in arguments(command)]

    assert FLAGS.read_text(encoding="utf-8").splitlines() == found


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_each_option_has_help(command: Command) -> None:
    texts = docstrings_of(command.options)

    assert [] == [field.name for field in fields(command.options) if not texts.get(field.name, "").endswith(".")]


@pytest.mark.parametrize("command", RTM.commands, ids=lambda command: command.name)
def test_help_lists_the_exit_statuses(command: Command) -> None:
    assert re.search(r"\n\nexit status:\n  0  .+\n(  1  .+\n)?  2  ", command.description)


@pytest.mark.parametrize("program", [RTM, PROGRAM], ids=lambda program: program.name)
@pytest.mark.parametrize("name", ["", *(command.name for command in COMMANDS)])
def test_help_fits_into_120_columns(
    program: Program, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(MAX_COLUMNS))
    if name in {"", *program.names}:
        with pytest.raises(SystemExit, match="0"):
            program.main([name, "--help"] if name else ["--help"])

    text = capsys.readouterr().out
    assert [] == [line for line in text.splitlines() if len(line) > MAX_COLUMNS]
    for command in program.commands:
        assert command.name != name or command.description or command.summary.lower() in text.lower()


KINDS: dict[str, Callable[[Path], object]] = {
    "missing": lambda _: None,
    "folder": Path.mkdir,
    "pipe": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
}
OF_SOCKET = ("; start the job, or correct the path", *["is not a socket; pass the file that the job passed"] * 3)
REASONS = {
    "lint": ("do not exist", "", *["this is not a regular file"] * 2),  # an empty folder has no findings
    "inspect": ("does not exist", "is empty", *["is a file, but"] * 2),
    "capacity --rate 1 --measured": (
        "does not exist",
        *["is not a file, so there is no cost model"] * 3,
    ),
    "resize --partitions 2 --to new": ("does not exist", "is empty", *["is a file, but"] * 2),
    **dict.fromkeys(("commit", "drain", "stop"), OF_SOCKET),
}
"""The reason that each command states for each kind of path; `tests/hostile` tries contents, permissions and costs."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("words", REASONS)
def test_path_that_cannot_be_read_ends_a_command_with_its_reason(
    words: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    KINDS[kind](Path("input.py"))
    reason = REASONS[words][[*KINDS].index(kind)]

    assert (2 if reason else 0) == RTM.main([*words.split(), "input.py"])

    assert reason in "".join(capsys.readouterr())


STARTS = {"rtm": ["-m", "spark_rtm"], "skills.py": [skills.__file__]}


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("words", ["errors -", "lint -"])
@pytest.mark.parametrize("is_starting", [True, False], ids=["starting", "reading"])
def test_interrupt_ends_a_command_without_a_traceback(words: str, start: str, is_starting: bool) -> None:
    """
    A shell reports 130 in both cases.

    A command that reads its input has read more than a pipe holds, so it waits for the rest.

    The tests of `control`, `resize`, `prove` and `install` interrupt these commands while they work.
    """
    command = [sys.executable, *(["-X", "importtime"] if is_starting else []), *STARTS[start], *words.split()]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=files.ROOT, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin
        assert process.stderr
        if is_starting:  # Python prints each imported module
            assert any(b"spark_rtm.text" in line for line in process.stderr)
        else:
            process.stdin.write(b"x" * 200_000)
        process.send_signal(signal.SIGINT)

        output, errors = process.communicate(timeout=60)
    assert (b"", []) == (output, [line for line in errors.splitlines() if b"import time:" not in line])
    assert process.returncode in {130, *([-signal.SIGINT] if is_starting else [])}
