"""A pytest plugin: the order of the files, the `spark` marker, and the number of proofs."""

from collections import Counter
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

SESSION = "rtm_spark"
"""Name of the fixture that starts the Spark session of a process."""
PROVED = "proved"
"""User property with the proofs of a test, such as `{"code blocks run": 1}`; the `proves` marker sets it."""


@pytest.hookimpl(tryfirst=True)  # before `-m` selects by marker
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that use the Spark session as `spark`, and sort the files."""
    sessions: set[Path] = set()
    seconds: Counter[Path] = Counter()
    counts = Counter(item.path for item in items)
    for item in items:
        if SESSION in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
            sessions.add(item.path)
        for marker in item.iter_markers("proves"):
            what, count = (*marker.args, 1)[:2]
            item.user_properties.append((PROVED, {what: count}))
        seconds[item.path] = max(seconds[item.path], *(int(mark.args[0]) for mark in item.iter_markers("timeout")), 0)
    # Files with long timeouts come first, and then files with many tests, so that no worker ends long after the others.
    # Sessions need much CPU time, and the other tests mostly wait or are short, so files of both kinds alternate.
    place: dict[Path, float] = {}
    for files in (sessions, seconds.keys() - sessions):
        ordered = sorted(files, key=lambda path: (-seconds[path], -counts[path], path))
        place |= {path: number / len(ordered) for number, path in enumerate(ordered)}
    items.sort(key=lambda item: (place[item.path], item.path))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    proved: Counter[str] = Counter()
    for report in terminalreporter.getreports("passed"):
        if report.when == "call":
            for counts in (value for name, value in report.user_properties if name == PROVED):
                proved.update(counts)
    if proved:
        terminalreporter.line("proved: " + ", ".join(f"{n:,} {what}" for what, n in sorted(proved.items())))
