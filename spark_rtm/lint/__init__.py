"""Lint code and documentation for real-time mode, using only the standard library."""

from spark_rtm.lint.arguments import DESCRIPTION, Options
from spark_rtm.program import Command


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
            "lint jobs/ README.md": "check code, and the advice in a page",
            "lint --engine databricks .": "report only problems that affect Databricks",
            "lint --format github src/": "annotate a pull request",
            "lint --diff jobs/": "show the changes that `--fix` would make",
            "lint --claims docs/": "list the sentences about real-time mode to judge yourself",
            "lint --explain output-mode": "print the section of a rule",
            "lint --stdin-filename job.py - < job.py": "check text from an editor",
        },
        DESCRIPTION,
    )
]
