"""
Record a program in a terminal, and draw the recording as an animated SVG that loads nothing.

`python -m scripts.recording record build/demo.cast COMMAND ...` runs the command in a terminal of 100 x 30 and writes
the recording in asciinema's format; `python -m scripts.recording draw build/demo.cast OUT.svg` draws it.
"""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import groupby, zip_longest
from pathlib import Path

COLUMNS, ROWS = 100, 30
CHARACTER_PX, LINE_PX, MARGIN_PX = 7.8, 16, 12
MAX_FRAMES = 24
CHANGED_LINES = 3
"""Minimum number of changed lines of a drawn screen."""
FRAME_SECONDS = 1.2
LAST_FRAMES = 5
"""Duration of the last screen with the verdict, in frames."""
PALETTE = ("#1b1f24", "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#76e3ea", "#e6edf3")
_TOKEN = re.compile(r"\x1b\[(?P<values>[\d;?]*)(?P<command>[A-Za-z])|\x1b\][^\x07]*\x07|(?P<text>[^\x1b])", re.DOTALL)
Cell = tuple[str, str]
"""A character and its style: a colour, `bold` or `dim`, separated by spaces."""


class Terminal:
    """A terminal screen for the output of `rich`: text, colours, cursor moves and erasing."""

    def __init__(self, columns: int = COLUMNS, rows: int = ROWS) -> None:
        self.columns, self.rows = columns, rows
        self.cells: list[list[Cell]] = [[] for _ in range(rows)]
        self._row = self._column = 0
        self._style = ""

    def feed(self, text: str) -> None:
        """Apply a program's output."""
        for token in _TOKEN.finditer(text):
            if token["text"]:
                self._write(token["text"])
            elif token["command"]:
                self._control(token["command"], token["values"])

    def lines(self) -> list[str]:
        """Return the lines of the screen as text."""
        return ["".join(character for character, _ in row).rstrip() for row in self.cells]

    def _write(self, character: str) -> None:
        if character == "\r":
            self._column = 0
            return
        if character == "\n" or self._column >= self.columns:
            self._row, self._column = self._row + 1, 0
            if self._row == self.rows:
                self._row -= 1
                self.cells = [*self.cells[1:], []]
        if character >= " ":
            row = self.cells[self._row]
            row += [(" ", "")] * (self._column + 1 - len(row))
            row[self._column] = (character, self._style)
            self._column += 1

    def _control(self, command: str, values: str) -> None:
        number = int(values) if values.isdecimal() else 0
        if command == "A":
            self._row = max(self._row - max(number, 1), 0)
        elif command == "K":
            self.cells[self._row] = [] if number == 2 else self.cells[self._row][: self._column]
        elif command == "m":
            self._style = _style(self._style, [int(value or 0) for value in values.split(";")])


def _style(before: str, codes: Sequence[int]) -> str:
    parts = {*before.split()}
    for code in codes:
        if code == 0:
            parts = set()
        elif code in (1, 2):
            parts.add("bold" if code == 1 else "dim")
        elif 30 <= code <= 37 or 90 <= code <= 97:
            parts = {part for part in parts if not part.startswith("c")} | {f"c{code % 10}"}
    return " ".join(sorted(parts))


def record(path: Path, command: Sequence[str], columns: int = COLUMNS, rows: int = ROWS) -> int:
    """Run a command in a terminal, copy its output to this one, write the recording, and return its status."""
    path.parent.mkdir(parents=True, exist_ok=True)
    control, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color"}
    started = time.monotonic()
    with path.open("w", encoding="utf-8") as recording:
        recording.write(
            json.dumps({"version": 2, "width": columns, "height": rows, "command": " ".join(command)}) + "\n"
        )
        with subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, env=environment) as process:
            os.close(terminal)
            for text in _read(control):
                recording.write(json.dumps([round(time.monotonic() - started, 3), "o", text]) + "\n")
                sys.stdout.write(text)
                sys.stdout.flush()
    os.close(control)
    return process.returncode


def _read(control: int) -> Iterator[str]:
    rest = b""
    while True:
        try:
            read = os.read(control, 65_536)
        except OSError:  # Linux reports the end of the program as an error
            return
        if not read:
            return
        # The bytes of a character may continue in the next part.
        text = (rest + read).decode("utf-8", "ignore")
        rest = (rest + read)[len(text.encode()) :]
        yield text


def frames(recording: Iterable[str]) -> list[list[list[Cell]]]:
    """Return screens at equal intervals, without screens that differ little from the previous one, and the last one."""
    first, *lines = recording
    head, events = json.loads(first), [json.loads(line) for line in lines]
    terminal, shown, before = Terminal(head["width"], head["height"]), list[list[list[Cell]]](), list[str]()
    period, due = events[-1][0] / MAX_FRAMES, 0.0
    for seconds, _, text in events:
        if seconds >= due:
            due = seconds + period
            changed = sum(new != old for new, old in zip_longest(terminal.lines(), before))
            if changed >= CHANGED_LINES and any(terminal.lines()):
                before = terminal.lines()
                shown.append([list(row) for row in terminal.cells])
        terminal.feed(text)
    return [*shown, terminal.cells]


def draw(recording: Iterable[str]) -> str:
    """Return the recording as an SVG with one frame after another, or only the last for reduced motion."""
    screens = frames(recording)
    slots = len(screens) - 1 + LAST_FRAMES
    seconds = slots * FRAME_SECONDS
    rows = max(len(screen) for screen in screens)
    width, height = COLUMNS * CHARACTER_PX + 2 * MARGIN_PX, rows * LINE_PX + 2 * MARGIN_PX
    colors = "".join(f".c{number}{{fill:{color}}}" for number, color in enumerate(PALETTE))
    delays = "".join(f".f{number}{{animation-delay:{number * FRAME_SECONDS:.1f}s}}" for number in range(len(screens)))
    style = (
        f"text{{font:13px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:{PALETTE[7]};white-space:pre}}"
        f".bold{{font-weight:700}}.dim{{opacity:.65}}{colors}"
        f".f{{opacity:0;animation:one {seconds:.1f}s step-end infinite}}.last{{animation-name:last}}"
        f"@keyframes one{{0%{{opacity:1}}{100 / slots:.3f}%,100%{{opacity:0}}}}"
        f"@keyframes last{{0%{{opacity:1}}{100 * LAST_FRAMES / slots:.3f}%,100%{{opacity:0}}}}{delays}"
        "@media(prefers-reduced-motion:reduce){.f{animation:none}.last{opacity:1}}"
    )
    groups = [
        f'<g class="f f{number}{" last" if screen is screens[-1] else ""}">{"".join(_texts(screen))}</g>'
        for number, screen in enumerate(screens)
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" '
        f'height="{height}" role="img">\n<style>{style}</style>\n'
        f'<rect width="{width:.0f}" height="{height}" rx="8" fill="{PALETTE[0]}"/>\n' + "\n".join(groups) + "\n</svg>\n"
    )


def _texts(screen: Sequence[Sequence[Cell]]) -> Iterator[str]:
    for number, row in enumerate(screen):
        column = 0
        for style, cells in groupby(row, key=lambda cell: cell[1]):
            text = "".join(character for character, _ in cells)
            start, end, column = column, column + len(text.rstrip()), column + len(text)
            if text.strip():
                start += len(text) - len(text.lstrip())
                named = f' class="{style}"' if style else ""
                # Fonts differ in the width of their characters, and blocks and digits must stay in their columns.
                yield (
                    f'<text x="{MARGIN_PX + start * CHARACTER_PX:.1f}" y="{MARGIN_PX + number * LINE_PX + 12}" '
                    f'textLength="{(end - start) * CHARACTER_PX:.1f}"{named}>{escape(text.strip())}</text>'
                )


def main(arguments: Sequence[str]) -> int:
    """Record a command, or draw a recording."""
    if arguments[0] == "record":
        return record(Path(arguments[1]), arguments[2:])
    with Path(arguments[1]).open(encoding="utf-8") as recording:
        Path(arguments[2]).write_text(draw(recording), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
