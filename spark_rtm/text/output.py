"""Print text for people and for other programs."""

import io
import sys


def show(text: str, *, to_people: bool) -> None:
    """Print a text unless it is empty: to standard error for people, and to standard output for programs."""
    if text:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # a file name may contain letters that the encoding lacks
                stream.reconfigure(errors="backslashreplace")
        print(text, file=sys.stderr if to_people else sys.stdout)
