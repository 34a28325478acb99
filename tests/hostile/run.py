"""
Run each hostile case in its own process with limits, and print its problems.

The processes are copies of this one, so none of them imports the commands again.
"""

import ast
import gc
import importlib
import json
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from scripts.skills import main
from tests.hostile.case import HOME, INPUT, MARKER, OUTSIDE, SECRET, Case

MAX_SECONDS = 5.0
"""Processor time of one process and of all that it starts."""
MAX_MEGABYTES = 500
BARE_MEGABYTES = 40
"""The command's own memory. The texts of all cases in this process do not count."""
STRANGER = 54321
"""A user id without an entry in the user database, and therefore without a home directory."""
LIMITS = ((resource.RLIMIT_CPU, 12), (resource.RLIMIT_AS, 4_000_000_000), (resource.RLIMIT_FSIZE, 100_000_000))
"""Limits that only protect this machine."""
MAX_WAIT_SECONDS = 60
MODULES = ["spark_rtm.lint.command", "spark_rtm.inspect.inspection", "spark_rtm.services", "scripts.pack.install"]
MAX_COMPARED_BYTES = 5_000_000
MAX_PARSED_BYTES = 300_000
Files = dict[str, tuple[int, bytes]]
"""The mode and the content of each file below a folder."""


@dataclass(frozen=True)
class Result:
    status: int
    """The exit status, or the negative number of the signal that ended it."""
    seconds: float
    megabytes: float
    out: str
    err: str
    before: Files
    after: Files


def run(case: Case, command: Callable[[Sequence[str]], int] = main) -> Result:
    folder = Path(tempfile.mkdtemp(prefix="hostile-"))
    try:
        folder.chmod(0o755)
        for each in (INPUT, OUTSIDE, HOME):
            (folder / each).mkdir()
        (folder / OUTSIDE / "secret.py").write_text(SECRET)
        case.build(folder)
        (folder / "stdin").write_bytes(case.stdin)
        before = _files(folder)
        resident = psutil.Process().memory_info().rss / 1e6
        pid = os.fork()
        if pid == 0:
            _become(case, folder, command)
        _, status, used = os.wait4(pid, 0)
        out, err = ((folder / each).read_bytes().decode(errors="replace") for each in ("stdout", "stderr"))
        code, seconds = os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime
        megabytes = max(0, used.ru_maxrss / 1000 - resident) + BARE_MEGABYTES
        return Result(code, seconds, megabytes, out, err, before, _files(folder))
    finally:
        _delete(folder)


def _become(case: Case, folder: Path, command: Callable[[Sequence[str]], int]) -> None:
    status = 1
    try:
        for number, name, flags in ((0, "stdin", os.O_RDONLY), (1, "stdout", os.O_WRONLY), (2, "stderr", os.O_WRONLY)):
            os.dup2(os.open(folder / name, flags | os.O_CREAT, 0o666), number)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
        os.environ["HOME"] = str(folder / HOME)
        if not case.has_home:
            del os.environ["HOME"]
        os.chdir(folder / INPUT)
        if case.is_stranger and os.geteuid() == 0:
            os.setuid(STRANGER)
        for kind, limit in LIMITS:
            resource.setrlimit(kind, (limit, limit))
        signal.alarm(MAX_WAIT_SECONDS)
        status = command(case.arguments)
        sys.stdout.flush()
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 1
    except BaseException:  # noqa: BLE001  # this is the end of the process
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def problems(case: Case, result: Result) -> Iterator[str]:
    if result.status not in case.statuses:
        yield f"the status is {result.status}"
    if result.status == 2 and not result.err.strip() and "unchecked" not in result.out:
        yield "no reason for status 2"
    if result.seconds > MAX_SECONDS:
        yield f"it took {result.seconds:.1f} s of processor time"
    if result.megabytes > MAX_MEGABYTES:
        yield f"it took {result.megabytes:.0f} MB"
    yield from _of_output(case, result.out + result.err)
    yield from _damage(case, result)


def _of_output(case: Case, output: str) -> Iterator[str]:
    controls = "\x1b\x07\x08\x9b" + ("" if "--diff" in case.arguments else "\r")
    wrong = {
        "there is a traceback": "Traceback (most recent call last)" in output,
        "the output contains text from outside": MARKER in output,
        "the output contains control characters": any(letter in output for letter in controls),
        "a part was not checked": case.is_complete and "unchecked" in output,
        "a rule of the linter failed": "the linter failed with" in output,
    }
    yield from (problem for problem, is_wrong in wrong.items() if is_wrong)
    yield from (f"the output does not name {each!r}" for each in case.named if each not in output)


def _damage(case: Case, result: Result) -> Iterator[str]:
    for path in sorted({*result.before, *result.after}):
        before, after = result.before.get(path), result.after.get(path)
        if before == after or path in {"stdout", "stderr"}:
            continue
        is_allowed = path.startswith(case.writes) if case.writes else False
        if not is_allowed:
            yield f"{path} has changed"
        elif path.endswith(".py") and before and (not after or before[0] != after[0] or not _is_python(after[1])):
            yield f"{path} is damaged"


def _is_python(data: bytes) -> bool:
    try:
        ast.parse(data[:MAX_PARSED_BYTES])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return len(data) > MAX_PARSED_BYTES
    return True


def _files(folder: Path) -> Files:
    return {os.fsencode(path.relative_to(folder)).decode(errors="replace"): _content(path) for path in _below(folder)}


def _below(folder: Path) -> Iterator[Path]:
    waiting = [folder]
    while waiting:
        for path in waiting.pop().iterdir():
            yield path
            if path.is_dir() and not path.is_symlink():
                waiting.append(path)


def _content(path: Path) -> tuple[int, bytes]:
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        return status.st_mode, bytes(path.readlink())
    if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_COMPARED_BYTES:
        return status.st_mode, str(status.st_size if stat.S_ISREG(status.st_mode) else "").encode()
    try:
        return status.st_mode, path.read_bytes()
    except OSError:
        return status.st_mode, b""


def _delete(folder: Path) -> None:
    for path in _below(folder):  # `chmod` makes each folder readable before it is listed
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)
    try:
        shutil.rmtree(folder)
    except RecursionError:  # a thousand nested folders
        subprocess.run(["rm", "-rf", folder], check=True)


if __name__ == "__main__":
    from tests.hostile.inputs import CASES

    sys.modules["pyspark"] = None  # type: ignore[assignment]  # no case starts Spark
    for module in MODULES:  # a process of another user cannot import them
        importlib.import_module(module)
    "".encode("unicode_escape")
    gc.freeze()  # otherwise, the garbage collection of each process would copy all objects of this one
    for each in CASES:
        answer = run(each)
        found = list(problems(each, answer))
        tail = f"{answer.out[-300:]}\n{answer.err[-600:]}" if found else ""
        print(json.dumps([each.name, found, round(answer.seconds, 2), round(answer.megabytes), tail]), flush=True)
