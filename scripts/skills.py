#!/usr/bin/env python3
"""
Lint and prove code for Spark real-time mode, inspect checkpoints, install this skill, generate and validate its files.

`lint`, `inspect` and `install` need only Python 3.11. The other commands also need the packages of `make setup`.
Text findings are printed to standard error, one per line.
The exit status is 0 without findings, 1 with findings, and 2 for wrong usage or if `lint` could not check something.
For `lint`, only findings that are errors count, unless `--strict` is given.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts.checkpoint.options import add_options as add_inspect_options
from scripts.lint.arguments import DESCRIPTION, add_arguments
from scripts.pack import assistants, files
from scripts.text import finding
from scripts.text.output import show

PROVE_DESCRIPTION = """Run a function in real-time mode on a local Kafka broker, and say what breaks.

FUNCTION takes a streaming DataFrame of Kafka source rows and returns one of Kafka sink rows. Its further parameters
receive static DataFrames of Kafka source rows. A file without FUNCTION is run until it waits for its queries.
All files are written to a temporary folder, which is deleted.

exit status:
  0  all verdicts are good
  1  something is wrong
  2  something was not checked, or wrong usage"""
EXAMPLES = {
    "generate": {"generate": "regenerate excerpts, tables and the manifest"},
    "validate": {
        "validate": "check the whole pack; no output means success",
        "validate --format github": "annotate a pull request of this repository",
    },
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
    "install": {
        "install": "install for each assistant on this machine",
        "install --assistant cursor": "install for one assistant, found or not",
        "install --project ../app": "install into the skills folders of a project",
        "install --to FOLDER": "install into any other skills folder",
        "install --check": "exit with status 1 if an installed copy is stale",
    },
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    options = _parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        return run(options)
    except KeyboardInterrupt:
        return 130


def _generate(_: argparse.Namespace) -> int:
    from scripts.pack import generate

    try:
        for path in generate.write_all(files.ROOT):
            print(f"wrote {files.relative(files.ROOT, path)}")
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _validate(options: argparse.Namespace) -> int:
    try:
        from scripts.pack.validate import validate
    except ModuleNotFoundError as error:
        _continue_in_virtual_environment()
        return _wrong(
            f"validate needs the package {error.name!r}, which is not installed; run `make check` once to install it"
        )
    return _report(validate(files.ROOT), options.format)


def _continue_in_virtual_environment() -> None:
    python = files.ROOT / ".venv/bin/python"
    if python.is_file() and Path(sys.prefix) != files.ROOT / ".venv":
        os.execv(python, [str(python), *sys.argv])


def _lint(options: argparse.Namespace) -> int:
    from scripts.lint.command import run
    from scripts.lint.settings import SettingsError

    try:
        return run(options)
    except SettingsError as error:
        return _wrong(str(error))


def _inspect(options: argparse.Namespace) -> int:
    from scripts.checkpoint import command

    return command.run(options)


def _prove(options: argparse.Namespace) -> int:
    try:
        from scripts.prove import command
    except ModuleNotFoundError as error:
        _continue_in_virtual_environment()
        return _wrong(f"prove needs the package {error.name!r}, which is not installed; run `make setup` once")
    return command.run(options)


def _install(options: argparse.Namespace) -> int:
    from scripts.pack import install

    if options.to and options.assistant:
        return _wrong("--to names the folder, so --assistant has no effect; omit one of them")
    chosen = options.assistant or assistants.installed(Path.home())
    folders = [options.to] if options.to else assistants.folders(chosen, Path.home(), options.project)
    if not folders:
        known = ", ".join(f"{key} (~/{one.sign})" for key, one in assistants.ASSISTANTS.items())
        problem = f"found no coding assistant on this machine ({known})"
        return _wrong(f"{problem}; name one with --assistant, or a skills folder with --to")
    if options.project and not options.project.is_dir():
        return _wrong(f"the project {options.project} is not a folder, so nothing was installed; create it first")
    try:
        if not options.check and (broken := install.incomplete(files.ROOT)):
            return _report(broken, "text")
    except (OSError, ValueError) as error:
        return _wrong(f"cannot install this skill: {error}; fetch it again")
    # Each folder has its own result: an error or a finding in one folder does not affect the others.
    return max(_install_into(folder, options) for folder in folders)


def _install_into(folder: Path, options: argparse.Namespace) -> int:
    from scripts.pack import install

    try:
        if options.check:
            return _report(install.stale(files.ROOT, folder), "text")
        findings = install.install(files.ROOT, folder, force=options.force)
    except (OSError, ValueError) as error:
        return _wrong(f"cannot {'check' if options.check else 'install into'} {folder}: {error}")
    if not findings:
        print(f"installed into {folder}")
    return _report(findings, "text")


def _report(findings: Sequence[finding.Finding], style: str) -> int:
    show(finding.render(findings, style), to_people=style == "text")
    return 1 if findings else 0


def _wrong(message: str) -> int:
    print(f"skills.py: {message}", file=sys.stderr)
    return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="skills.py",
        description=__doc__,
        epilog=_examples(*EXAMPLES),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar=" | ".join(EXAMPLES))
    _add_command(commands, "generate", _generate, "regenerate excerpts, tables, router and manifest")
    validate = _add_command(commands, "validate", _validate, "check the whole pack")
    lint = _add_command(
        commands, "lint", _lint, "check code, notebooks, pages and cluster definitions for real-time mode mistakes"
    )
    lint.description = DESCRIPTION
    add_arguments(lint)
    prove = _add_prove(commands)
    for command in (validate, lint, prove):
        command.add_argument(
            "--format",
            choices=finding.STYLES,
            default="text",
            help="format of the findings (default: text); all formats except text go to standard output",
        )
    inspect = _add_command(commands, "inspect", _inspect, "explain the checkpoint of a streaming query; only read it")
    add_inspect_options(inspect)
    install = _add_command(commands, "install", _install, "copy the skill to skills folders of coding assistants")
    install.add_argument(
        "--assistant",
        action="append",
        choices=assistants.ASSISTANTS,
        help="assistant to install for; may be repeated (default: all assistants found in the home folder)",
    )
    places = install.add_mutually_exclusive_group()
    places.add_argument(
        "--project",
        type=Path,
        metavar="FOLDER",
        help="install into the skills folders of this project (default: the personal skills folders)",
    )
    places.add_argument("--to", type=Path, metavar="FOLDER", help="install into this skills folder only")
    install.add_argument("--force", action="store_true", help="overwrite files that were edited after installation")
    install.add_argument("--check", action="store_true", help="write nothing; exit with status 1 if a copy is stale")
    return parser


def _add_prove(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> argparse.ArgumentParser:
    prove = _add_command(commands, "prove", _prove, "run a function in real-time mode on a local broker and judge it")
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
    prove.add_argument("--only", metavar="A,B", help="run only these checks, such as input,state (default: all)")
    prove.add_argument("--partitions", type=int, default=2, metavar="N", help="source partitions (default: 2)")
    prove.add_argument("--slots", type=int, default=0, metavar="N", help="task slots of your cluster (default: 16)")
    prove.add_argument("--duration", type=float, default=10, metavar="SECONDS", help="time of the load (default: 10)")
    prove.add_argument("--rate", type=float, default=50, metavar="N", help="records per second (default: 50)")
    return prove


def _add_command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    run: Callable[[argparse.Namespace], int],
    summary: str,
) -> argparse.ArgumentParser:
    command = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=_examples(name),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=run)
    return command


def _examples(*names: str) -> str:
    examples = {command: purpose for name in names for command, purpose in EXAMPLES[name].items()}
    width = max(map(len, examples)) + 2
    lines = [f"  python scripts/skills.py {command:{width}}{purpose}" for command, purpose in examples.items()]
    return "\n".join(["examples:", *lines])


if __name__ == "__main__":
    sys.exit(main())
