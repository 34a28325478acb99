"""
Run an installation command with a progress line, and print the end of the command's output if the command fails.

`python -m scripts.progress TITLE COMMAND ...` prints nothing if the command succeeds within two seconds.
"""

import re
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from typing import TextIO

SILENT_SECONDS = 2.0
TERMINAL_PERIOD_SECONDS = 1.0
LINE_PERIOD_SECONDS = 15.0
TAIL_LINES = 25
_PACKAGE = re.compile(r"\s*(?:Collecting|Requirement already satisfied:|Processing) (?P<name>[\w.-]+)")


def main(arguments: Sequence[str], out: TextIO = sys.stdout) -> int:
    """Run the command and return its exit status."""
    title, *command = arguments
    lines: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout
        reader = threading.Thread(target=lines.extend, args=(process.stdout,), daemon=True)
        reader.start()
        try:
            _wait(process, title, lines, out)
        except KeyboardInterrupt:
            process.wait()
            print("\ninterrupted; the next `make` continues with this step", file=sys.stderr)
            return 130
        reader.join()
    if process.returncode:
        sys.stderr.writelines(["\n", *lines[-TAIL_LINES:]])
    return process.returncode


def _wait(process: subprocess.Popen[str], title: str, lines: Sequence[str], out: TextIO) -> None:
    """Until the process exits, print the title, pip's package count, the latest package and the elapsed time."""
    started, shown_at = time.monotonic(), 0.0
    # A terminal erases the line first. Otherwise the end of a longer line would remain.
    is_terminal = out.isatty()
    start, end, period = ("\r\x1b[2K", "", TERMINAL_PERIOD_SECONDS) if is_terminal else ("", "\n", LINE_PERIOD_SECONDS)
    while process.poll() is None:
        try:
            process.wait(TERMINAL_PERIOD_SECONDS)
        except subprocess.TimeoutExpired:
            seconds = time.monotonic() - started
            if seconds >= SILENT_SECONDS and (not shown_at or seconds - shown_at >= period):
                shown_at = seconds
                packages = [match["name"] for line in lines if (match := _PACKAGE.match(line))]
                count = f": {len(packages)}, {packages[-1]}" if packages else ""
                print(f"{start}{title}{count} ... {seconds:.0f} s", end=end, file=out, flush=True)
    if shown_at and not process.returncode:
        print(f"{start}{title}: done in {time.monotonic() - started:.0f} s", file=out, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
