"""
Lint and prove code for Spark real-time mode, inspect checkpoints, count task slots: the command `rtm` of the wheel.

`lint` and `slots` need only Python 3.11, and so does `inspect` for local checkpoints.
`prove` needs Java 17 and the packages of the extra `prove`.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version

from scripts.commands import EXAMPLES, Program, add_inspect, add_lint, add_prove, add_slots

DISTRIBUTION = "spark-real-time-mode"
PROGRAM = Program(
    "rtm", "rtm", lambda extra: f"install the wheel with its extra {extra!r}: pip install 'PATH_OF_THE_WHEEL[{extra}]'"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status; without a command, print the help."""
    parser = _parser()
    options = parser.parse_args(arguments)
    run: Callable[[argparse.Namespace], int] | None = options.run
    if run is None:
        parser.print_help()
        return 0
    try:
        return run(options)
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rtm",
        description=__doc__,
        epilog=PROGRAM.epilog(*EXAMPLES),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"rtm {_version()}")
    parser.set_defaults(run=None)
    added = parser.add_subparsers(title="commands", metavar=" | ".join(EXAMPLES))
    for add in (add_lint, add_inspect, add_prove, add_slots):
        add(PROGRAM, added)
    return parser


def _version() -> str:
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "of a checkout, which is not installed"


if __name__ == "__main__":
    sys.exit(main())
