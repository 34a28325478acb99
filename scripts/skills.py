#!/usr/bin/env python3
"""
The pack's own tool: make the generated parts, judge the pack, lint real-time mode code, install the skill.

`lint` and `install` run on a bare Python 3.11; `generate` and `validate` need the packages of `make setup`.
Findings go to standard error, one a line. The exit status is 0 without findings, 1 with, 2 for wrong usage.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts.pack import files
from scripts.text import finding

EXAMPLES = """
examples:
  python scripts/skills.py lint jobs/ README.md         find wrong real-time mode code and advice
  python scripts/skills.py lint --engine databricks .   only what matters on Databricks
  python scripts/skills.py lint --format github src/    annotate a pull request
  python scripts/skills.py install                      copy the skill to the assistants of this machine
  python scripts/skills.py install --to .claude/skills  copy it into a project
  python scripts/skills.py install --check              exit 1 if an installed copy is stale
  python scripts/skills.py generate                     write excerpts, tables and the manifest
  python scripts/skills.py validate                     check the pack; silence means success
"""


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
            f"validate needs the package {error.name!r}, which is not here; run `make check` once, which installs it"
        )
    return _report(validate(files.ROOT), options.format)


def _continue_in_virtual_environment() -> None:
    python = files.ROOT / ".venv/bin/python"
    if python.is_file() and Path(sys.prefix) != files.ROOT / ".venv":
        os.execv(python, [str(python), *sys.argv])


def _lint(options: argparse.Namespace) -> int:
    from scripts.lint.engine import lint_paths

    if missing := [str(path) for path in options.paths if not path.exists()]:
        return _wrong(f"there is no {', '.join(missing)}, so nothing was checked; name files or folders that exist")
    return _report(lint_paths(options.paths, options.engine), options.format)


def _install(options: argparse.Namespace) -> int:
    from scripts.pack import install

    folders = [options.to] if options.to else install.skill_folders(Path.home())
    if not folders:
        known = ", ".join(f"{name} (~/{sign})" for name, (sign, _) in install.ASSISTANTS.items())
        return _wrong(f"no assistant was found on this machine ({known}); name a skills folder with --to")
    if not options.check and (broken := install.incomplete(files.ROOT)):
        return _report(broken, "text")
    found = []
    for folder in folders:
        try:
            found += (
                install.stale(files.ROOT, folder)
                if options.check
                else install.install(files.ROOT, folder, force=options.force)
            )
        except (OSError, ValueError) as error:
            return _wrong(f"cannot install into {folder}: {error}")
        if not options.check and not found:
            print(f"installed into {folder}")
    return _report(found, "text")


def _report(findings: Sequence[finding.Finding], style: str) -> int:
    text = finding.render(findings, style)
    if text:
        # A program reads json and sarif from standard output; people read lines on standard error.
        print(text, file=sys.stderr if style == "text" else sys.stdout)
    return 1 if findings else 0


def _wrong(message: str) -> int:
    print(f"skills.py: {message}", file=sys.stderr)
    return 2


def _parser() -> argparse.ArgumentParser:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="skills.py", description=__doc__, epilog=EXAMPLES, formatter_class=form)
    commands = parser.add_subparsers(title="commands", required=True, metavar="generate | validate | lint | install")
    commands.add_parser("generate", help="write every generated part").set_defaults(run=_generate)
    validate = commands.add_parser("validate", help="check the whole pack")
    validate.set_defaults(run=_validate)
    lint = commands.add_parser(
        "lint", help="check code, notebooks, pages and cluster definitions for real-time mode mistakes"
    )
    lint.add_argument("paths", nargs="+", type=Path, help="files and folders")
    lint.add_argument(
        "--engine", choices=("oss-4.3", "databricks"), help="report only what matters there; default: both"
    )
    lint.set_defaults(run=_lint)
    for command in (validate, lint):
        command.add_argument("--format", choices=("text", "json", "github", "sarif"), default="text")
    install = commands.add_parser("install", help="copy the skill to a skills folder")
    install.add_argument("--to", type=Path, help="skills folder; default: those of the assistants on this machine")
    install.add_argument("--force", action="store_true", help="overwrite files that were edited after installation")
    install.add_argument("--check", action="store_true", help="write nothing; exit 1 if a copy is stale")
    install.set_defaults(run=_install)
    return parser


if __name__ == "__main__":
    sys.exit(main())
