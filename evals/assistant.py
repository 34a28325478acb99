"""
Run an assistant: any command that reads a prompt, works in a folder, and answers on standard output or in files.

The runner also estimates how much of the pack the assistant has opened. The runner sets the access time of every file
of the copy to 1970, and adds up the sizes of files whose access time has changed. The sum counts whole files, including
files that only a search program read, so it is an upper bound on what the model saw.
"""

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from scripts.pack import files, install, manifest

PLACEHOLDER = "{prompt}"
MAX_ERROR = 300
TIMEOUT_SECONDS = 900
"""Default time for the answer to one item."""


@dataclass(frozen=True)
class Assistant:
    """The command of an assistant."""

    words: tuple[str, ...]
    """Program and arguments. `{prompt}` stands for the prompt, which otherwise goes to standard input."""
    pack_dir: str | None
    """Path of the pack in the assistant's folder; None without the pack."""
    timeout_seconds: float
    only_skill: bool = False
    """Whether the pack consists of SKILL.md alone."""


@dataclass(frozen=True)
class Reply:
    """An assistant's answer."""

    text: str
    seconds: float
    read_bytes: int | None
    """Size of the opened files of the pack; None without a pack or access times."""
    error: str = ""


def words_of(command: str) -> tuple[str, ...]:
    """Return the words of a command line, with an absolute program path, because the command runs in other folders."""
    words = shlex.split(command)
    program = shutil.which(words[0]) if words else None
    if not program:
        raise ValueError(f"the command {command!r} of the assistant was not found; use a program on the PATH")
    return (str(Path(program).absolute()), *words[1:])


def ask(assistant: Assistant, prompt: str, folder: Path) -> Reply:
    """Copy the pack to an empty folder, run the assistant there, and return its reply."""
    folder.mkdir(parents=True)
    pack = _copied_pack(folder / assistant.pack_dir, only_skill=assistant.only_skill) if assistant.pack_dir else None
    hint = f"The folder {assistant.pack_dir} contains a skill; begin with its SKILL.md.\n\n" if pack else ""
    started = time.monotonic()
    text, error = _run(assistant, hint + prompt, folder)
    return Reply(text, time.monotonic() - started, _read_bytes(pack) if pack else None, error)


def _read_bytes(pack: Path) -> int | None:
    """Return the total size of the files that were opened, or None if it is unknown."""
    found = [path.stat() for path in _files(pack)]
    # This check comes last. A file system without access times would report 0 for every file.
    probe = _files(pack)[0]
    os.utime(probe, ns=(0, probe.stat().st_mtime_ns))
    probe.read_bytes()
    is_known = probe.stat().st_atime_ns != 0
    return sum(entry.st_size for entry in found if entry.st_atime_ns != 0) if is_known else None


def _copied_pack(target: Path, *, only_skill: bool) -> Path:
    problems = install.install(files.ROOT, target.parent)
    name = manifest.read(files.ROOT).name
    if problems or target.name != name:
        raise ValueError(f"cannot copy the pack to {target}: the last part of --pack-dir must be {name!r}")
    for path in _files(target):
        if only_skill and path != target / files.SKILL:
            path.unlink()
        else:
            os.utime(path, ns=(0, path.stat().st_mtime_ns))
    return target


def _run(assistant: Assistant, prompt: str, folder: Path) -> tuple[str, str]:
    arguments = [word.replace(PLACEHOLDER, prompt) for word in assistant.words]
    stdin = prompt if arguments == list(assistant.words) else None
    with subprocess.Popen(
        arguments,
        cwd=folder,
        stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            text, errors = process.communicate(stdin, assistant.timeout_seconds)
        except BaseException as error:
            # The command may have started other processes, which would keep the pipe open.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                return "", f"the command did not end within {assistant.timeout_seconds:g} s"
            raise
    failed = f"the command ended with status {process.returncode}: {errors.strip()[-MAX_ERROR:]}"
    return text, failed if process.returncode else ""


def _files(pack: Path) -> list[Path]:
    return sorted(path for path in pack.rglob("*") if path.is_file())
