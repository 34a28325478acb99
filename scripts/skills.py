#!/usr/bin/env python3
"""
Install the skill, generate and validate its files, and run the commands of `rtm`.

`install` and the commands of `rtm`, except `prove` and `resize`, require only Python 3.11. The other commands require
the packages that `make setup` installs.

Findings are printed to standard output, one per line. The exit status is 0 without findings, 1 with findings, and 2 for
a usage error or incomplete checks. For `lint`, warnings count as findings only with `--strict`.
"""

import signal
import sys

# Ctrl-C during the imports ends the program without a traceback. `Program.main` ends with status 130 instead.
if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
if sys.version_info < (3, 11):  # noqa: UP036  # assistants run whatever `python` is there
    sys.stderr.write("skills.py: this is Python %d.%d; run it with Python 3.11 or newer\n" % sys.version_info[:2])  # noqa: UP031
    sys.exit(2)

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts.pack import assistants, files
from spark_rtm.cli import COMMANDS
from spark_rtm.command_line import Argument
from spark_rtm.program import Command, Program
from spark_rtm.text import finding
from spark_rtm.text.finding import show


@dataclass(frozen=True)
class NoOptions:
    """The options of a command that has none."""


@dataclass(frozen=True)
class ValidateOptions:
    """Options for the `validate` command."""

    format: Annotated[str, Argument(choices=finding.STYLES)] = "text"
    """Format of the findings."""


@dataclass(frozen=True)
class InstallOptions:
    """Options for the `install` command."""

    assistant: Annotated[tuple[str, ...], Argument(choices=assistants.ASSISTANTS, is_repeated=True)] = ()
    """Assistant to install for. Repeat the option for each assistant (default: all assistants that are found)."""
    project: Annotated[Path | None, Argument("FOLDER")] = None
    """Install into the skills folders of this project, for each assistant found there (default: personal folders)."""
    to: Annotated[Path | None, Argument("FOLDER")] = None
    """Install into this skills folder only."""
    force: bool = False
    """Overwrite files that were edited after installation."""
    check: bool = False
    """Write nothing; exit with status 1 if a copy is stale."""
    list: bool = False
    """Write nothing; print each skills folder and its state."""
    uninstall: bool = False
    """Delete the copies, except files that were edited."""

    def __post_init__(self) -> None:
        for names in ("project to", "check list uninstall"):
            given = [f"--{name}" for name in names.split() if getattr(self, name)]
            if len(given) > 1:
                raise ValueError(f"{' and '.join(given)} exclude each other; pass one of them")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status. Without a command, print the help."""
    return PROGRAM.main(arguments)


def _generate(_: NoOptions) -> int:
    from scripts.pack import generate

    try:
        for path in generate.write_all(files.ROOT):
            print(f"wrote {files.relative(files.ROOT, path)}")
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _validate(options: ValidateOptions) -> int:
    from scripts.pack.validate import validate

    return _report(validate(files.ROOT), options.format)


def _continue_in_virtual_environment(extra: str) -> str:
    """Run the command again with the packages of `make setup`, or return how to install them."""
    python = files.ROOT / ".venv/bin/python"
    if python.is_file() and Path(sys.prefix) != files.ROOT / ".venv":
        os.execv(python, [str(python), *sys.argv])
    return f"run `make {'check' if extra == 'dev' else 'setup'}` once to install it"


def _install(options: InstallOptions) -> int:
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
    """
    Return whether a symbolic link points out of the project.

    Anyone with write access could have created the link.
    """
    return project is not None and not Path(os.path.realpath(folder)).is_relative_to(os.path.realpath(project))


def _wrong_places(options: InstallOptions, folders: Sequence[Path]) -> str:
    if options.to and options.assistant:
        return "--to sets the folder, so --assistant has no effect; omit one of them"
    if options.project and not options.project.is_dir():
        return f"the project {options.project} is not a folder, so nothing was changed; create the folder first"
    if not options.list and (outside := [folder for folder in folders if _leads_out(folder, options.project)]):
        remedy = "delete the link, or pass the folder as --to"
        return f"the folder {outside[0]} is outside the project (a symbolic link), so nothing was changed; {remedy}"
    if not folders and not options.list:
        home = ", ".join(f"{key} (~/{one.sign})" for key, one in assistants.ASSISTANTS.items())
        where = f"in {options.project} or on this machine" if options.project else "on this machine"
        problem = f"found no coding assistant {where} ({home})"
        return f"{problem}; select one with --assistant, or a skills folder with --to"
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


def _install_into(folder: Path, options: InstallOptions) -> int:
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


PROGRAM = Program(
    "skills.py",
    "python scripts/skills.py",
    (__doc__ or "").strip(),
    [
        Command(
            "install",
            "copy the skill to skills folders of coding assistants",
            InstallOptions,
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
        *COMMANDS,
        Command(
            "generate",
            "regenerate excerpts, tables, router and manifest",
            NoOptions,
            _generate,
            {"generate": "regenerate excerpts, tables and the manifest"},
            extra="base",
        ),
        Command(
            "validate",
            "check the whole pack",
            ValidateOptions,
            _validate,
            {
                "validate": "check the whole pack; no output means success",
                "validate --format github": "annotate a pull request of this repository",
            },
            extra="dev",
        ),
    ],
    install=_continue_in_virtual_environment,
)


if __name__ == "__main__":
    sys.exit(main())
