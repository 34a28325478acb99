"""Define the command-line arguments of `lint`."""

import argparse
from pathlib import Path

from spark_rtm.text.finding import ENGINES, add_format

DESCRIPTION = """Check code, notebooks, pages, SQL and cluster definitions for real-time mode mistakes.

exit status:
  0  everything was checked and there are no errors
  1  everything was checked and there are errors (with --strict: or warnings); with --diff: there are changes
  2  a file or a part of it was not checked (finding `unchecked`), or the settings or arguments are invalid

Folders are checked with all their subfolders, except virtual environments, caches such as .git and node_modules,
and build, dist, site and spark-warehouse directly below a given folder.

Settings come from the table [tool.rtm-lint] of the nearest pyproject.toml above all paths:
select, ignore, exclude, per-file-ignores, engine and strict. Arguments replace settings."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `lint` to its parser."""
    parser.description = DESCRIPTION
    parser.add_argument(
        "paths",
        nargs="*",
        type=Path,
        help="files and folders (default: the current folder), or - for standard input",
    )
    parser.add_argument("--engine", choices=ENGINES, help="report only findings for this engine (default: both)")
    parser.add_argument(
        "--select", type=_names, metavar="RULES", help="report only these rules or groups, such as trigger,output-mode"
    )
    parser.add_argument("--ignore", type=_names, metavar="RULES", help="do not report these rules or groups")
    parser.add_argument(
        "--exclude",
        type=_names,
        metavar="PATTERNS",
        help="skip these files and folders, even if they are passed as paths",
    )
    parser.add_argument(
        "--strict", action="store_const", const=True, help="exit with status 1 for warnings too, not only for errors"
    )
    parser.add_argument(
        "--stdin-filename", metavar="NAME", help="file name for standard input, which determines the format"
    )
    parser.add_argument("--fix", action="store_true", help="correct triggers, output modes and joins in Python files")
    parser.add_argument("--diff", action="store_true", help="print what --fix would change, and change nothing")
    parser.add_argument(
        "--claims", action="store_true", help="list the sentences about real-time mode without a verdict, and exit"
    )
    parser.add_argument("--explain", metavar="RULE", help="print the section of a rule (ALL lists the rules), and exit")
    add_format(parser)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())
