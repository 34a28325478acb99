"""
The `rtm` commands, which `python scripts/skills.py` also provides.

Each command's module or package exports `COMMANDS`. A command imports its other modules only when it runs, so `lint`
needs no third-party package.
"""

from collections.abc import Sequence

from spark_rtm import doctor, inspect, lint, prove
from spark_rtm.commands import capacity, control, errors, init, resize, slots
from spark_rtm.program import Program

COMMANDS = [
    command
    for tool in (lint, prove, inspect, errors, doctor, slots, capacity, resize, control, init)
    for command in tool.COMMANDS
]
"""Commands that `rtm` and `skills.py` share, in `--help` order."""
RTM = Program(
    "rtm",
    "rtm",
    "Lint and prove code for Spark real-time mode, inspect checkpoints, count task slots, estimate capacity,\n"
    "resize state, control running queries (commit a batch, drain, stop), and check a machine and a cluster.\n\n"
    "prove and resize require Java 17 and the packages in the `prove` extra. The other commands require only\n"
    "Python 3.11. To read checkpoints in object stores, inspect also requires a package for the store.",
    COMMANDS,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `rtm` and return its exit status."""
    return RTM.main(arguments)
