"""A recording shows what a terminal would show, as a picture that loads nothing."""

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

from scripts.recording import Terminal, draw, frames, record

SVG = "{http://www.w3.org/2000/svg}"
PROGRAM = r"""
print("one\n\x1b[1;34mtwo\x1b[0m")
print("\r\x1b[1A\x1b[2K\x1b[32m<done>\x1b[0m")
"""


def test_recorded_program_becomes_a_picture_of_its_screens(tmp_path: Path) -> None:
    cast = tmp_path / "a.cast"

    status = record(cast, [sys.executable, "-c", PROGRAM], columns=40, rows=5)

    lines = cast.read_text(encoding="utf-8").splitlines()
    root = ElementTree.fromstring(draw(lines))
    last = root.findall(f"{SVG}g")[-1]
    assert 0 == status
    assert ["one", "<done>"] == ["".join(cell[0] for cell in row).rstrip() for row in frames(lines)[-1]][:2]
    assert all(any(screen) for screen in frames(lines))
    assert ["one", "<done>"] == [text.text for text in last]
    assert [None, "c2"] == [text.get("class") for text in last]
    assert [] == re.findall(r"href=|url\(|@import|<script", draw(lines))


def test_text_beyond_the_last_column_or_line_moves_on() -> None:
    terminal = Terminal(columns=3, rows=2)

    terminal.feed("ab\r\ncdefg\r\n\x1b[2Khi")

    assert ["fg", "hi"] == terminal.lines()
