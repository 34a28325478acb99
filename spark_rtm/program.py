"""A command-line program whose commands derive their flags from dataclasses."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from spark_rtm import __version__, how
from spark_rtm.command_line import add_arguments, built, rest_of
from spark_rtm.text import finding

SHOWN = 4
"""Number of commands with an example in the program's help."""


class UsageError(Exception):
    """Raised if a command cannot run, which sets exit status 2. Each exception argument is one line of the message."""


@dataclass(frozen=True)
class Command:
    """One command of a command-line program."""

    name: str
    summary: str
    options: type
    """Dataclass whose fields become the arguments and whose field docstrings become the help text."""
    run: Callable[[Any], int]
    """Imports the command's modules, runs the command and returns its exit status."""
    examples: Mapping[str, str] = field(default_factory=dict)
    """Example arguments and their effects. The first example appears in the command table."""
    description: str = ""
    """Help text above the arguments, if the summary is too short."""
    note: str = ""
    """Help text below the examples."""
    extra: str = ""
    """Packaging extra that the command needs."""


@dataclass(frozen=True)
class Program:
    """A command-line program with several commands."""

    name: str
    """Prefix of the program's messages."""
    call: str
    """Shell command that starts the program."""
    description: str
    commands: Sequence[Command]
    install: Callable[[str], str] = how
    """Returns instructions for installing an extra."""

    @property
    def names(self) -> list[str]:
        """Return the names of all commands."""
        return [command.name for command in self.commands]

    def main(self, arguments: Sequence[str] | None = None) -> int:
        """Run one command and return its exit status. Without a command, print the help."""
        _open_closed_streams()
        given = list(sys.argv[1:] if arguments is None else arguments)
        if not given:
            self.parser([]).print_help()
            return 0
        command, options = self.parsed(given)
        before = signal.getsignal(signal.SIGINT)
        try:
            if before is signal.SIG_DFL:  # a command must be able to delete its files
                signal.signal(signal.SIGINT, signal.default_int_handler)
            status = command.run(options)
            sys.stdout.flush()
        except KeyboardInterrupt:
            return 130
        except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        except (UsageError, ModuleNotFoundError, OSError, UnicodeError, RecursionError) as error:
            if isinstance(error, ModuleNotFoundError) and not command.extra:
                raise
            return self.wrong(*self._problems(command, error))
        finally:
            if before is signal.SIG_DFL:
                signal.signal(signal.SIGINT, before)
        return status

    def wrong(self, *messages: str) -> int:
        """Print why a command cannot run, and return 2, the exit status for usage errors."""
        for message in messages:
            print(f"{self.name}: {finding.printable(message)}", file=sys.stderr)
        return 2

    def _problems(self, command: Command, error: Exception) -> Sequence[str]:
        if isinstance(error, UsageError):
            return [str(line) for line in error.args]
        if isinstance(error, ModuleNotFoundError):
            problem = f"{command.name} requires the {error.name!r} package, which is not installed"
            return [f"{problem}; {self.install(command.extra)}"]
        return [f"{error}; the command stopped here"]

    def parsed(self, arguments: Sequence[str]) -> tuple[Command, Any]:
        """Parse the arguments into a command and its options. Exit with status 2 if an argument is invalid."""
        given, rest = list(arguments), {}
        named = next((one for one in self.commands if one.name == given[0]), None)
        if named and "--" in given and (name := rest_of(named.options)):
            rest = {name: tuple(given[given.index("--") + 1 :])}
            given = given[: given.index("--")]
        values = vars(self.parser(given).parse_args(given)) | rest
        command, parser = values.pop("command"), values.pop("parser")
        return command, built(parser, command.options, values)

    def parser(self, arguments: Sequence[str]) -> argparse.ArgumentParser:
        """Return a parser for all commands. Only commands that occur in `arguments` have their options."""
        parser = argparse.ArgumentParser(
            prog=self.name,
            description=self.description,
            epilog=self._epilog(dict(next(iter(command.examples.items())) for command in self.commands[:SHOWN]))
            + f"\n\n`{self.call} COMMAND --help` lists the options and further examples of a command.",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        parser.add_argument("--version", action="version", version=f"{self.name} {__version__}")
        added = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
        for command in self.commands:
            one = added.add_parser(
                command.name,
                help=command.summary,
                description=command.description or f"{command.summary[0].upper()}{command.summary[1:]}.",
                epilog="\n".join([self._epilog(command.examples), *filter(None, [command.note])]),
                formatter_class=argparse.RawDescriptionHelpFormatter,
            )
            one.set_defaults(command=command, parser=one)
            # Reading every command's docstrings would delay `--help`.
            if command.name in arguments:
                add_arguments(one, command.options)
        return parser

    def _epilog(self, examples: Mapping[str, str]) -> str:
        lines = [f"  # {purpose}\n  {self.call} {text}" for text, purpose in examples.items()]
        return "\n".join(["examples:", *lines])


def _open_closed_streams() -> None:
    """Replace closed standard streams, which Python sets to None, for example after `rtm lint >&-`."""
    for name, mode in {"stdin": "r", "stdout": "w", "stderr": "w"}.items():
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115
