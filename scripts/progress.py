"""
Run a command of the installation with a progress line, and print its output if it fails.

`python -m scripts.progress TITLE COMMAND ...` prints nothing for a short command.
"""

import re
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TextIO

SILENT_SECONDS = 2.0
TERMINAL_PERIOD_SECONDS = 1.0
LINE_PERIOD_SECONDS = 15.0
TAIL_LINES = 25
_PACKAGE = re.compile(r"\s*(?:Collecting|Requirement already satisfied:|Processing) (?P<name>[\w.-]+)")
_PHASE = re.compile(r"\s*(?P<phase>Building|Preparing|Installing)\b")
_PIN = re.compile(r"^[\w.-]+==", re.MULTILINE)


def main(arguments: Sequence[str], out: TextIO = sys.stdout) -> int:
    """Run the command and return its status."""
    title, *command = arguments
    lines: list[str] = []
    started = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout
        reader = threading.Thread(target=lines.extend, args=(process.stdout,), daemon=True)
        reader.start()
        try:
            _wait(process, title, pins(command), lines, started, out)
        except KeyboardInterrupt:
            process.wait()
            print("\ninterrupted; the next `make` continues here", file=sys.stderr)
            return 130
        reader.join()
    if process.returncode:
        sys.stderr.writelines(["\n", *lines[-TAIL_LINES:]])
    return process.returncode


def pins(command: Sequence[str]) -> int:
    """Return the number of packages in the requirement files of a pip command."""
    names = [name for option, name in pairwise(command) if option == "-r"]
    return sum(len(_PIN.findall(Path(name).read_text(encoding="utf-8"))) for name in names)


def state(title: str, expected: int, lines: Sequence[str], seconds: float) -> str:
    """Return a running command's line: its title, newest package and time."""
    packages = [match["name"] for line in lines if (match := _PACKAGE.match(line))]
    phases = [match["phase"].lower() for line in lines if (match := _PHASE.match(line))]
    newest = phases[-1] if phases and len(packages) >= expected else packages[-1] if packages else ""
    count = f": {len(packages)} of {expected}, {newest}" if expected and packages else ""
    return f"{title}{count} ... {seconds:.0f} s"


def _wait(
    process: subprocess.Popen[str], title: str, expected: int, lines: Sequence[str], started: float, out: TextIO
) -> None:
    is_terminal, shown_at = out.isatty(), 0.0
    period = TERMINAL_PERIOD_SECONDS if is_terminal else LINE_PERIOD_SECONDS
    # A terminal erases the line first. Otherwise the end of a longer line would remain.
    start, end = ("\r\x1b[2K", "") if is_terminal else ("", "\n")
    while True:
        try:
            process.wait(TERMINAL_PERIOD_SECONDS)
        except subprocess.TimeoutExpired:
            seconds = time.monotonic() - started
            if seconds >= SILENT_SECONDS and (not shown_at or seconds - shown_at >= period):
                shown_at = seconds
                print(start + state(title, expected, lines, seconds), end=end, file=out, flush=True)
        else:
            break
    if shown_at and not process.returncode:
        print(f"{start}{title}: done in {time.monotonic() - started:.0f} s", file=out, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
