"""Find the numbers of lines in a text."""

import re
from bisect import bisect_left


class Lines:
    """The positions of the line breaks in a text."""

    def __init__(self, text: str) -> None:
        self.breaks = [match.start() for match in re.finditer("\n", text)]

    def number(self, position: int) -> int:
        """Return the number of the line that contains a position."""
        return bisect_left(self.breaks, position) + 1
