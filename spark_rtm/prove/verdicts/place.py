"""Find the line of the user's code that calls a function."""

import re
from pathlib import Path

PYTHON_FUNCTIONS = re.compile(r"\b(?:pandas_)?udf\s*\(|@(?:\w+\.)?(?:pandas_)?udf\b|\.mapIn(?:Pandas|Arrow)\(")
STATEFUL_CALLS = re.compile(r"\.(?:groupBy|groupby|dropDuplicates\w*|distinct|transformWithState\w*)\(")


def line_of_call(path: Path, calls: re.Pattern[str], default: int) -> int:
    """Return the first line with one of `calls`, if possible from line `default` on; without any, return `default`."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return default
    found = [number for number, line in enumerate(lines, 1) if calls.search(line)]
    return next((number for number in found if number >= default), found[0] if found else default)
