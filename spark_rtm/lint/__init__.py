"""Lint code and documentation for real-time mode, using only the standard library."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from spark_rtm.command_line import Argument
from spark_rtm.program import Command
from spark_rtm.text.finding import ENGINES, FULL, STYLES

DESCRIPTION = """Check code, notebooks, pages, SQL and cluster definitions for real-time mode mistakes.

exit status:
  0  everything was checked and no errors were found
  1  everything was checked and errors were found (with --strict, also for warnings; with --diff, for changes)
  2  a file was not completely checked (finding `unchecked`), or the settings or arguments are invalid

Folders are checked recursively, except virtual environments, caches such as .git and node_modules,
and build, dist, site and spark-warehouse directly below a given folder.

Settings come from the [tool.rtm-lint] table of the nearest pyproject.toml above all paths:
select, ignore, exclude, per-file-ignores, engine and strict. Arguments override settings."""


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


RULES = Argument("RULES", _names)


@dataclass(frozen=True)
class Options:
    """Options for the `lint` command. None selects the project's setting."""

    paths: Annotated[tuple[Path, ...], Argument(is_positional=True)] = ()
    """Files and folders (default: the current folder), or - for standard input."""
    engine: Annotated[str | None, Argument(choices=ENGINES)] = None
    """Report only findings for this engine (default: both)."""
    select: Annotated[tuple[str, ...] | None, RULES] = None
    """Report only these rules or groups, such as trigger,output-mode."""
    ignore: Annotated[tuple[str, ...] | None, RULES] = None
    """Do not report these rules or groups."""
    exclude: Annotated[tuple[str, ...] | None, Argument("PATTERNS", _names)] = None
    """Skip these files and folders, even if they are passed as paths."""
    strict: bool | None = None
    """Exit with status 1 for warnings too, not only for errors."""
    stdin_filename: Annotated[str | None, Argument("NAME")] = None
    """File name to assume for standard input. Its suffix determines the format."""
    fix: bool = False
    """Correct triggers and output modes in Python files."""
    diff: bool = False
    """Print what --fix would change, and change nothing."""
    as_real_time: bool = False
    """Check queries in micro-batch mode as if they ran in real-time mode."""
    claims: bool = False
    """List the sentences about real-time mode without checking them, and exit."""
    explain: Annotated[str | None, Argument("RULE")] = None
    """Print the section of a rule (ALL lists the rules), and exit."""
    format: Annotated[str, Argument(choices=(*STYLES, FULL))] = "text"
    """Format of the findings."""


def _run(options: Options) -> int:
    from spark_rtm.lint.command import run  # noqa: PLC0415

    return run(options)


COMMANDS = [
    Command(
        "lint",
        "check code, notebooks, pages and cluster definitions for real-time mode mistakes",
        Options,
        _run,
        {
            "lint jobs/ README.md": "check the code in a folder and the advice on a page",
            "lint --engine databricks .": "report only problems that affect Databricks",
            "lint --format full jobs/": "show the line of each finding",
            "lint --format github src/": "annotate a pull request",
            "lint --diff jobs/": "show the changes that `--fix` would make",
            "lint --as-real-time job.py": "list what prevents a micro-batch job from running in real-time mode",
            "lint --claims docs/": "list the sentences about real-time mode for your own review",
            "lint --explain output-mode": "print the section of a rule",
            "lint --stdin-filename job.py - < job.py": "check text from an editor",
        },
        DESCRIPTION,
    )
]
