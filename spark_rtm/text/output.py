"""Print the result of a command."""

import io
import sys


def show(text: str) -> None:
    """Print a text to standard output unless it is empty."""
    if text:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # a file name may contain letters that the encoding lacks
                stream.reconfigure(errors="backslashreplace")
        print(text)
