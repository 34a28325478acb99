"""Print the result of a command."""

import io
import sys


def show(text: str) -> None:
    """Print a text to standard output unless it is empty."""
    if text:
        if isinstance(sys.stdout, io.TextIOWrapper):  # a file name may contain letters that the encoding lacks
            sys.stdout.reconfigure(errors="backslashreplace")
        print(text)
