"""
Control another process's queries: `rtm commit`, `rtm drain` and `rtm stop`.

The job opens a Unix domain socket with `listen`, and no TCP port. Any user with access to the socket file can send
commands.
"""

import argparse
import json
import math
import socket
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

from spark_rtm.command_line import Argument
from spark_rtm.commands.listener import MAX_DEADLINE_SECONDS, Answer, listen
from spark_rtm.program import Command, UsageError
from spark_rtm.realtime.limits import DEADLINE_SECONDS
from spark_rtm.text.finding import printable

__all__ = ["COMMANDS", "listen", "send"]
# A busy driver may reply up to this long after the command's deadline.
ANSWER_SECONDS = 30.0
MAX_ANSWER_BYTES = 10_000_000
SUMMARIES = {
    "commit": "end the open batch of a running query now; the query continues",
    "drain": "wait until all records in the source are processed and committed; the query continues",
    "stop": "drain and stop a running query, so a restart repeats nothing",
}
STATUSES = """exit status:
  0  all queries executed the command
  1  a query did not execute the command; its line states the reason
  2  no job answered, or a usage error"""


def send(path: Path, command: str, query: str | None, deadline_seconds: float) -> list[Answer]:
    """Send a command to the job that listens at `path`, and return each query's result."""
    request = {"command": command, "query": query, "deadline_seconds": deadline_seconds}
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(deadline_seconds + ANSWER_SECONDS)
        client.connect(str(path))
        client.sendall(json.dumps(request).encode() + b"\n")
        with client.makefile("rb") as answer:
            line = answer.readline(MAX_ANSWER_BYTES)
    if not line:
        raise ConnectionError("the job exited before it replied; when restarted, it continues from its checkpoint")
    answers = json.loads(line)
    if not isinstance(answers, list) or not answers:
        raise ValueError("the reply is not a list of results")
    return [{"ok": one["ok"] is True, "text": str(one["text"])} for one in answers]


def seconds(text: str) -> float:
    """Parse a command-line deadline in seconds."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= MAX_DEADLINE_SECONDS:
        span = f"above 0 and up to {MAX_DEADLINE_SECONDS:,.0f}"
        raise argparse.ArgumentTypeError(f"{text[:99]!r} is not a number of seconds {span}")
    return value


@dataclass(frozen=True)
class Options:
    """Options for the `commit`, `drain` and `stop` commands."""

    socket: Annotated[Path, Argument("SOCKET", is_positional=True)]
    """Socket file that the job passed to `listen`."""
    query: Annotated[str | None, Argument("NAME")] = None
    """Name of the query (default: all queries of the job)."""
    deadline: Annotated[float, Argument("SECONDS", seconds)] = DEADLINE_SECONDS
    """Total time limit for all queries. A query that exceeds it keeps running."""


def run(command: str, options: Options) -> int:
    """Send a command, print a line per query, and return the exit status: 1 if a query did not execute the command."""
    try:
        answers = send(options.socket, command, options.query, options.deadline)
    except OSError as error:
        raise UsageError(_problem(options, error)) from error
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise UsageError(
            f"{options.socket} is not the socket of a job that calls `listen`; correct the path"
        ) from error
    for answer in answers:
        print(printable(answer["text"]), file=sys.stdout if answer["ok"] else sys.stderr)
    return 0 if all(answer["ok"] for answer in answers) else 1


def _problem(options: Options, error: OSError) -> str:
    """Return the reason why no job replied, with a remedy."""
    path = options.socket
    if isinstance(error, PermissionError):
        return f"access to {path} was denied; run the command as the user that runs the job"
    if isinstance(error, BlockingIOError):
        return f"the job at {path} has too many pending commands; repeat the command later"
    if isinstance(error, TimeoutError):
        waited = f"{options.deadline + ANSWER_SECONDS:g} s"
        return f"the job at {path} has not replied for {waited} and may still execute the command; read its log"
    if path.exists() and not path.is_socket():
        return f"{path} is not a socket; pass the file that the job passed to `listen`"
    if type(error) is ConnectionError:
        return f"{path}: {error}"
    return f"no job is listening at {path}: {error.strerror or error}; start the job, or correct the path"


COMMANDS = [
    Command(
        name,
        summary,
        Options,
        partial(run, name),
        {f"{name} /run/clicks/rtm.sock": f"{name} all queries of the job that listens on this socket"},
        f"{summary[0].upper()}{summary[1:]}.\n\n{STATUSES}",
    )
    for name, summary in SUMMARIES.items()
]
