"""
The commands of `rtm`, which `python scripts/skills.py` shares.

`prove` and `resize` need Java 17 and the packages of the extra `prove`. The others need only Python 3.11. For remote
checkpoints, `inspect` needs further packages.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from spark_rtm import __version__, capacity, control_socket, errors, resize, slots
from spark_rtm.inspect import command as inspect_command
from spark_rtm.lint import arguments as lint_arguments
from spark_rtm.requirement import HOW
from spark_rtm.text import finding

PROVE_DESCRIPTION = """Run a function in real-time mode on a local Kafka broker, and report what breaks.

FUNCTION takes a streaming DataFrame of Kafka source rows and returns one of Kafka sink rows. Its further parameters
receive static DataFrames of Kafka source rows. A file without FUNCTION is run until it waits for its queries.
All files are written to a temporary folder, which is deleted.

exit status:
  0  all verdicts are good
  1  something is wrong
  2  something was not checked, or a usage error"""


@dataclass(frozen=True)
class Command:
    """A command and its options."""

    summary: str
    add_options: Callable[[argparse.ArgumentParser], None]
    """Add the options to the parser, and a description if the summary is too short."""
    run: Callable[[argparse.Namespace], int]
    """Run the command and return its exit status."""
    examples: Mapping[str, str]
    """Arguments to paste, with their effect."""


@dataclass(frozen=True)
class Program:
    """A command-line program."""

    name: str
    """The prefix of its messages."""
    call: str
    """The shell command that starts it."""
    description: str
    commands: Mapping[str, Command]
    install: Callable[[str], str] = lambda extra: f"run {HOW.format(extra=extra)}"
    """Return the command that installs the packages of `command`."""

    def main(self, arguments: Sequence[str] | None = None) -> int:
        """Run one command and return its exit status. Without a command, print the help."""
        _open_closed_streams()
        parser = self.parser()
        given, of_job = list(sys.argv[1:] if arguments is None else arguments), list[str]()
        if given[:1] == ["prove"] and "--" in given:
            given, of_job = given[: given.index("--")], given[given.index("--") + 1 :]
        options = parser.parse_args(given, argparse.Namespace(of_job=of_job))
        run: Callable[[argparse.Namespace], int] | None = options.run
        if run is None:
            parser.print_help()
            return 0
        try:
            status = run(options)
            sys.stdout.flush()
        except KeyboardInterrupt:
            return 130
        except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        except (OSError, UnicodeError, RecursionError) as error:
            return self.wrong(f"{error}; the command stopped here")
        return status

    def wrong(self, message: str) -> int:
        """Print why a command cannot run, and return 2, the exit status of a usage error."""
        print(f"{self.name}: {finding.printable(message)}", file=sys.stderr)
        return 2

    def parser(self) -> argparse.ArgumentParser:
        """Return the parser of all commands."""
        parser = argparse.ArgumentParser(
            prog=self.name,
            description=self.description,
            epilog=self._epilog(*self.commands),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        parser.add_argument("--version", action="version", version=f"{self.name} {__version__}")
        parser.set_defaults(run=None)
        added = parser.add_subparsers(title="commands", metavar=" | ".join(self.commands))
        for name, command in self.commands.items():
            one = added.add_parser(
                name,
                help=command.summary,
                description=f"{command.summary[0].upper()}{command.summary[1:]}.",
                epilog=self._epilog(name),
                formatter_class=argparse.RawDescriptionHelpFormatter,
            )
            one.set_defaults(run=command.run, program=self)
            command.add_options(one)
        return parser

    def _epilog(self, *names: str) -> str:
        examples = {text: purpose for name in names for text, purpose in self.commands[name].examples.items()}
        width = max(map(len, examples)) + 2
        lines = [f"  {self.call} {text:{width}}{purpose}" for text, purpose in examples.items()]
        return "\n".join(["examples:", *lines])


def _open_closed_streams() -> None:
    """Replace closed streams, which are None in Python, for example after `rtm lint >&-`."""
    for name, mode in {"stdin": "r", "stdout": "w", "stderr": "w"}.items():
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115


def _prove_options(prove: argparse.ArgumentParser) -> None:
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
    prove.add_argument("--topics", metavar="A,B", help="topics in production; missing ones are reported")
    prove.add_argument(
        "--side-effects",
        action="store_true",
        help="also run the job's batch writes to targets other than Kafka, each time `prove` executes the job's code",
    )
    prove.add_argument("--only", metavar="A,B", help="run only these checks, such as input,state (default: all)")
    prove.add_argument("--partitions", type=int, default=2, metavar="N", help="source partitions (default: 2)")
    prove.add_argument("--slots", type=int, default=0, metavar="N", help="task slots of your cluster (default: 16)")
    prove.add_argument(
        "--duration", type=float, default=10, metavar="SECONDS", help="duration of the load (default: 10)"
    )
    prove.add_argument("--rate", type=float, default=50, metavar="N", help="records per second (default: 50)")
    prove.add_argument("--conf", action="append", metavar="KEY=VALUE", help="a setting of the job; may be repeated")
    prove.add_argument("--packages", metavar="G:A:V,...", help="Maven packages of the job, as for spark-submit")
    prove.epilog = f"{prove.epilog}\narguments of a job follow `--`: prove job.py -- --brokers x"
    finding.add_format(prove)


# A command imports its modules when it runs, so `lint` needs no package.
def _lint(options: argparse.Namespace) -> int:
    from spark_rtm.lint.command import run

    return run(options)


def _prove(options: argparse.Namespace) -> int:
    try:
        from spark_rtm.prove import command
    except ModuleNotFoundError as error:
        remedy = options.program.install("prove")
        return int(options.program.wrong(f"prove needs the package {error.name!r}, which is not installed; {remedy}"))
    return command.run(options)


COMMANDS = {
    "lint": Command(
        "check code, notebooks, pages and cluster definitions for real-time mode mistakes",
        lint_arguments.add_options,
        _lint,
        {
            "lint jobs/ README.md": "check code, and the advice in a page",
            "lint --engine databricks .": "report only problems that affect Databricks",
            "lint --format github src/": "annotate a pull request",
            "lint --diff jobs/": "show the changes that `--fix` would make",
            "lint --claims docs/": "list the sentences about real-time mode, for you or an assistant to judge",
            "lint --explain output-mode": "print the section of a rule",
            "lint --stdin-filename job.py - < job.py": "check text from an editor",
        },
    ),
    "prove": Command(
        "run a function in real-time mode on a local broker and report problems",
        _prove_options,
        _prove,
        {
            "prove job.py:transform": "run the function in real-time mode and report what breaks",
            "prove job.py": "examine the queries that the unmodified job starts",
            "prove --samples payments=payments.jsonl job.py:transform": "with your own records",
        },
    ),
    "inspect": Command(
        "explain the checkpoint of a streaming query without changing it",
        inspect_command.add_options,
        inspect_command.run,
        {
            "inspect checkpoints/clicks": "explain a checkpoint",
            "inspect s3://bucket/clicks --format json": "print the report as JSON, for a checkpoint in an object store",
            "inspect checkpoints/clicks --bootstrap-servers host:9092": "compare with Kafka",
            "inspect checkpoints/clicks --as-starting-offsets": "continue with a new query",
        },
    ),
    "errors": Command(
        "find the cause and the fix of an exception",
        errors.add_options,
        errors.run,
        {
            "errors STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE": "by condition",
            "errors - < trace.txt": "by a pasted exception",
            'errors "topic was deleted and created again"': "by a description",
        },
    ),
    "slots": Command(
        "count the task slots that queries need",
        slots.add_options,
        slots.run,
        {
            "slots --source-partitions 8 --stateful-stages 1": "count the slots of an aggregation",
            "slots --source-partitions 8 --available 4": "show the effect of too few slots",
        },
    ),
    "capacity": Command(
        "estimate the resources that a query needs at a record rate",
        capacity.add_options,
        capacity.run,
        {
            "capacity --rate 5000 --keys 100000": "estimate slots, cores, memory and pause of an aggregation",
            "capacity --rate 5000 --price 0.05": "also estimate the price of the busy cores",
        },
    ),
    "resize": Command(
        "rewrite the state of a stopped query with a different number of partitions",
        resize.add_options,
        resize.run,
        {"resize checkpoints/clicks --partitions 8 --to checkpoints/clicks-8": "write a copy with 8 state partitions"},
    ),
    **{
        name: Command(
            summary,
            control_socket.add_options,
            partial(control_socket.run, command=name),
            {f"{name} /run/clicks/rtm.sock": f"{name} all queries of the job that listens there"},
        )
        for name, summary in control_socket.COMMANDS.items()
    },
}
"""The commands that `rtm` and `skills.py` share, in the order of their help."""
RTM = Program(
    "rtm",
    "rtm",
    "Lint and prove code for Spark real-time mode, inspect checkpoints, count task slots, estimate capacity,\n"
    "resize state, and commit, drain or stop running queries.\n\n"
    "prove and resize need Java 17 and the packages of the extra `prove`. The other commands need only Python 3.11;\n"
    "inspect needs packages for checkpoints in object stores.",
    COMMANDS,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `rtm` and return its exit status."""
    return RTM.main(arguments)
