"""
Define the commands that `skills.py` of the checkout and the installed `rtm` share: `lint`, `inspect`, `prove`, `slots`.

A command imports its modules when it runs, so that `lint` needs no package.
"""

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from scripts.checkpoint.options import add_options as add_inspect_options
from scripts.lint.arguments import DESCRIPTION, add_arguments
from scripts.slots import add_options as add_slots_options
from scripts.slots import run as run_slots
from scripts.text import finding

Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001 - argparse has no public name
PROVE_DESCRIPTION = """Run a function in real-time mode on a local Kafka broker, and say what breaks.

FUNCTION takes a streaming DataFrame of Kafka source rows and returns one of Kafka sink rows. Its further parameters
receive static DataFrames of Kafka source rows. A file without FUNCTION is run until it waits for its queries.
All files are written to a temporary folder, which is deleted.

exit status:
  0  all verdicts are good
  1  something is wrong
  2  something was not checked, or wrong usage"""
EXAMPLES = {
    "lint": {
        "lint jobs/ README.md": "check code, and the advice in a page",
        "lint --engine databricks .": "report only problems that affect Databricks",
        "lint --format github src/": "annotate a pull request",
        "lint --diff jobs/": "show the changes that `--fix` would make",
        "lint --explain output-mode": "print the section of a rule",
        "lint --stdin-filename job.py - < job.py": "check text from an editor",
    },
    "inspect": {
        "inspect checkpoints/clicks": "explain a checkpoint",
        "inspect s3://bucket/clicks --format json": "the same as JSON, from an object store",
        "inspect checkpoints/clicks --bootstrap-servers host:9092": "compare with Kafka",
        "inspect checkpoints/clicks --as-starting-offsets": "continue with a new query",
    },
    "prove": {
        "prove job.py:transform": "run the function in real-time mode and say what breaks",
        "prove job.py": "examine the queries that the unmodified job starts",
        "prove --samples payments=payments.jsonl job.py:transform": "with your own records",
    },
    "slots": {
        "slots --source-partitions 8 --stateful-stages 1": "count the slots of an aggregation",
        "slots --source-partitions 8 --available 4": "say what happens with too few slots",
    },
}


@dataclass(frozen=True)
class Program:
    """A command-line program with the commands of `EXAMPLES` and its own."""

    name: str
    """The prefix of its messages."""
    call: str
    """The text with which people start it."""
    install: Callable[[str], str]
    """Return how to install the packages of a command."""
    examples: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: EXAMPLES)

    def add(
        self, commands: Subparsers, name: str, run: Callable[[argparse.Namespace], int], summary: str
    ) -> argparse.ArgumentParser:
        """Add a command with its examples."""
        command = commands.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            epilog=self.epilog(name),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.set_defaults(run=run, program=self)
        return command

    def epilog(self, *names: str) -> str:
        """Return the examples of some commands."""
        examples = {command: purpose for name in names for command, purpose in self.examples[name].items()}
        width = max(map(len, examples)) + 2
        lines = [f"  {self.call} {command:{width}}{purpose}" for command, purpose in examples.items()]
        return "\n".join(["examples:", *lines])

    def wrong(self, message: str) -> int:
        """Print why a command cannot run, and return 2, the exit status for wrong usage."""
        print(f"{self.name}: {message}", file=sys.stderr)
        return 2


def add_lint(program: Program, commands: Subparsers) -> None:
    """Add the command `lint`."""
    summary = "check code, notebooks, pages and cluster definitions for real-time mode mistakes"
    lint = program.add(commands, "lint", _lint, summary)
    lint.description = DESCRIPTION
    add_arguments(lint)
    add_format(lint)


def add_inspect(program: Program, commands: Subparsers) -> None:
    """Add the command `inspect`."""
    summary = "explain the checkpoint of a streaming query; only read it"
    add_inspect_options(program.add(commands, "inspect", _inspect, summary))


def add_slots(program: Program, commands: Subparsers) -> None:
    """Add the command `slots`."""
    add_slots_options(program.add(commands, "slots", run_slots, "count the task slots that queries need"))


def add_prove(program: Program, commands: Subparsers) -> None:
    """Add the command `prove`."""
    prove = program.add(commands, "prove", _prove, "run a function in real-time mode on a local broker and judge it")
    prove.description = PROVE_DESCRIPTION
    prove.add_argument("target", metavar="TARGET", help="path/job.py:FUNCTION, package.module:FUNCTION, or path/job.py")
    prove.add_argument(
        "--samples",
        action="append",
        metavar="NAME=FILE",
        help="records for the parameter NAME of FUNCTION, or for the topic NAME of a job, one JSON text per line; "
        '{"key": ..., "value": ...} is a record with a key (default: records made from the schema of from_json)',
    )
    prove.add_argument("--expect", type=Path, metavar="FILE", help="output expected for the samples, in any order")
    prove.add_argument("--topics", metavar="A,B", help="topics that exist in production; names those that are missing")
    prove.add_argument(
        "--side-effects",
        action="store_true",
        help="also run the batch writes of a job that do not go to Kafka, each time that its code runs",
    )
    prove.add_argument("--only", metavar="A,B", help="run only these checks, such as input,state (default: all)")
    prove.add_argument("--partitions", type=int, default=2, metavar="N", help="source partitions (default: 2)")
    prove.add_argument("--slots", type=int, default=0, metavar="N", help="task slots of your cluster (default: 16)")
    prove.add_argument("--duration", type=float, default=10, metavar="SECONDS", help="time of the load (default: 10)")
    prove.add_argument("--rate", type=float, default=50, metavar="N", help="records per second (default: 50)")
    add_format(prove)


def add_format(command: argparse.ArgumentParser) -> None:
    """Add the option for the format of the findings."""
    command.add_argument(
        "--format",
        choices=finding.STYLES,
        default="text",
        help="format of the findings (default: text); all formats except text go to standard output",
    )


def _lint(options: argparse.Namespace) -> int:
    from scripts.lint.command import run
    from scripts.lint.settings import SettingsError

    try:
        return run(options)
    except SettingsError as error:
        return int(options.program.wrong(str(error)))


def _inspect(options: argparse.Namespace) -> int:
    from scripts.checkpoint import command

    return command.run(options)


def _prove(options: argparse.Namespace) -> int:
    try:
        from scripts.prove import command
    except ModuleNotFoundError as error:
        remedy = options.program.install("prove")
        return int(options.program.wrong(f"prove needs the package {error.name!r}, which is not installed; {remedy}"))
    return command.run(options)
