#!/usr/bin/env python3
"""
Install the skill, generate and validate its files, and run the commands of `rtm`.

`install` and the commands of `rtm`, except `prove` and `resize`, need only Python 3.11. The other commands need the
packages that `make setup` installs.

Findings are printed to standard output, one per line. The exit status is 0 without findings, 1 with findings, and 2 for
a usage error or incomplete checks. For `lint`, warnings count as findings only with `--strict`.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036  # assistants run whatever `python` is there
    sys.stderr.write("skills.py: this is Python %d.%d; run it with Python 3.11 or newer\n" % sys.version_info[:2])  # noqa: UP031
    sys.exit(2)

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts.pack import assistants, files
from spark_rtm.cli import COMMANDS, Command, Program
from spark_rtm.text import finding
from spark_rtm.text.finding import show


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status. Without a command, print the help."""
    return PROGRAM.main(arguments)


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
    from scripts.pack.validate import validate

    try:
        return _report(validate(files.ROOT), options.format)
    except ModuleNotFoundError as error:
        _continue_in_virtual_environment()
        return PROGRAM.wrong(
            f"validate needs the package {error.name!r}, which is not installed; run `make check` once to install it"
        )


def _continue_in_virtual_environment() -> str:
    """Run the command again with the packages of `make setup`, or return how to install them."""
    python = files.ROOT / ".venv/bin/python"
    if python.is_file() and Path(sys.prefix) != files.ROOT / ".venv":
        os.execv(python, [str(python), *sys.argv])
    return "run `make setup` once"


def _install(options: argparse.Namespace) -> int:
    from scripts.pack import install

    folders = [options.to] if options.to else _folders(options.assistant, options.project)
    if problem := _wrong_places(options, folders):
        return PROGRAM.wrong(problem)
    if options.list:
        return _list(options.project)
    try:
        if not (options.check or options.uninstall) and (broken := install.incomplete(files.ROOT)):
            return _report(broken, "text")
    except (OSError, ValueError) as error:
        return PROGRAM.wrong(f"cannot install this skill: {error}; clone or download the skill again")
    # Each folder has its own result: an error or a finding in one folder does not affect the others.
    return max(_install_into(folder, options) for folder in folders)


def _folders(chosen: Sequence[str] | None, project: Path | None) -> list[Path]:
    """Return the skills folders of the chosen assistants, by default of those that the project or this machine uses."""
    found = chosen or (assistants.in_project(project) if project else []) or assistants.installed(_home())
    return assistants.folders(found, Path() if project else _home(), project)


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError as error:
        raise OSError("HOME is not set, and this user has no home folder; set HOME, or pass --to FOLDER") from error


def _leads_out(folder: Path, project: Path | None) -> bool:
    """Return whether a symbolic link, which anyone with access could have created, leads out of the project."""
    return project is not None and not Path(os.path.realpath(folder)).is_relative_to(os.path.realpath(project))


def _wrong_places(options: argparse.Namespace, folders: Sequence[Path]) -> str:
    if options.to and options.assistant:
        return "--to names the folder, so --assistant has no effect; omit one of them"
    if options.project and not options.project.is_dir():
        return f"the project {options.project} is not a folder, so nothing was changed; create it first"
    if not options.list and (outside := [folder for folder in folders if _leads_out(folder, options.project)]):
        remedy = "delete the link, or pass the folder with --to"
        return f"the folder {outside[0]} leads out of the project through a link, so nothing was changed; {remedy}"
    if not folders and not options.list:
        home = ", ".join(f"{key} (~/{one.sign})" for key, one in assistants.ASSISTANTS.items())
        where = f"in {options.project} or on this machine" if options.project else "on this machine"
        problem = f"found no coding assistant {where} ({home})"
        return f"{problem}; name one with --assistant, or a skills folder with --to"
    return ""


def _list(project: Path | None) -> int:
    """Print each assistant's skills folder and the state of the installed copy."""
    from scripts.pack import install

    for key in assistants.ASSISTANTS:
        (folder,) = assistants.folders([key], Path() if project else _home(), project)
        found = key in (assistants.in_project(project) if project else assistants.installed(_home()))
        try:
            state = "outside" if _leads_out(folder, project) else install.state(files.ROOT, folder)
        except (OSError, ValueError) as error:
            state = f"cannot be read: {error}"
        show(finding.printable(f"{key:12} {'found' if found else 'not found':10} {state:20} {folder}"))
    return 0


def _install_into(folder: Path, options: argparse.Namespace) -> int:
    from scripts.pack import install

    verb, done = ("uninstall from", "deleted from") if options.uninstall else ("install into", "installed into")
    try:
        if options.check:
            return _report(install.stale(files.ROOT, folder), "text")
        change = install.uninstall if options.uninstall else install.install
        findings = change(files.ROOT, folder, force=options.force)
    except (OSError, ValueError) as error:
        return PROGRAM.wrong(f"cannot {'check' if options.check else verb} {folder}: {error}")
    if not findings:
        show(finding.printable(f"{done} {folder}"))
    return _report(findings, "text")


def _report(findings: Sequence[finding.Finding], style: str) -> int:
    show(finding.render(findings, style))
    return 1 if findings else 0


def _install_options(install: argparse.ArgumentParser) -> None:
    install.add_argument(
        "--assistant",
        action="append",
        choices=assistants.ASSISTANTS,
        help="assistant to install for; may be repeated (default: all assistants that are found)",
    )
    places = install.add_mutually_exclusive_group()
    places.add_argument(
        "--project",
        type=Path,
        metavar="FOLDER",
        help="use the skills folders of this project, for the assistants found there (default: the personal folders)",
    )
    places.add_argument("--to", type=Path, metavar="FOLDER", help="install into this skills folder only")
    install.add_argument("--force", action="store_true", help="overwrite files that were edited after installation")
    actions = install.add_mutually_exclusive_group()
    actions.add_argument("--check", action="store_true", help="write nothing; exit with status 1 if a copy is stale")
    actions.add_argument("--list", action="store_true", help="write nothing; print each skills folder and its state")
    actions.add_argument("--uninstall", action="store_true", help="delete the copies, except files that were edited")


PROGRAM = Program(
    "skills.py",
    "python scripts/skills.py",
    (__doc__ or "").strip(),
    {
        "install": Command(
            "copy the skill to skills folders of coding assistants",
            _install_options,
            _install,
            {
                "install": "install for each assistant on this machine",
                "install --assistant cursor": "install for one assistant, even if it is not found",
                "install --project ../app": "install into the skills folders of a project",
                "install --to FOLDER": "install into any other skills folder",
                "install --check": "exit with status 1 if an installed copy is stale",
                "install --list": "print each skills folder and its state",
                "install --uninstall": "delete the copies",
            },
        ),
        **COMMANDS,
        "generate": Command(
            "regenerate excerpts, tables, router and manifest",
            lambda _: None,
            _generate,
            {"generate": "regenerate excerpts, tables and the manifest"},
        ),
        "validate": Command(
            "check the whole pack",
            finding.add_format,
            _validate,
            {
                "validate": "check the whole pack; no output means success",
                "validate --format github": "annotate a pull request of this repository",
            },
        ),
    },
    install=lambda _: _continue_in_virtual_environment(),
)


if __name__ == "__main__":
    sys.exit(main())
