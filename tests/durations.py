"""A pytest plugin that reports how long each ring and file took, the slowest tests, and what the run proved."""

import json
import time
from collections import Counter, defaultdict
from pathlib import Path

import pytest

MAX_SLOWEST = 50
RINGS = {"unit": "plain Python", "spark": "Spark in process", "services": "Kafka, PostgreSQL or clusters"}
RING = "ring"
"""Name of the user property with the ring of a test."""
PROVED = "proved"
"""Name of the user property with what a test proves, such as `{"code blocks run": 1}`; the marker `proves` sets it."""


class DurationsPlugin:
    """Adds up set-up, call and tear-down of each test."""

    def __init__(self, folder: Path) -> None:
        """Write the report to `folder` at the end of the run."""
        self.folder = folder
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.rings: dict[str, str] = {}
        self.proved: Counter[str] = Counter()
        self.started_at = time.monotonic()

    @pytest.hookimpl(trylast=True)  # tests/conftest.py adds markers first
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Translate markers into user properties, which also reach this process from a worker."""
        for item in items:
            item.user_properties.append((RING, ring_of(item)))
            for marker in item.iter_markers("proves"):
                what, count = (*marker.args, 1)[:2]
                item.user_properties.append((PROVED, {what: count}))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add one phase of a test, and count what the test proved if it passed."""
        self.seconds[report.nodeid] += report.duration
        properties = list(report.user_properties)
        self.rings[report.nodeid] = next((str(value) for name, value in properties if name == RING), "unit")
        if report.when == "call" and report.passed:
            for name, counts in properties:
                if name == PROVED and isinstance(counts, dict):
                    self.proved.update(counts)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the time of each ring and the number of things proved, and write the report."""
        if not self.seconds:
            return
        path = self.write()
        terminalreporter.section("duration of each ring")
        for ring, (tests, seconds) in self.by_ring().items():
            terminalreporter.line(f"{ring:<9} {seconds:>6.0f} s in {tests:>5,} tests ({RINGS[ring]})")
        wall_seconds = time.monotonic() - self.started_at
        terminalreporter.line(f"wall time {wall_seconds:.0f} s; the {MAX_SLOWEST} slowest tests are in {path}")
        if self.proved:
            terminalreporter.line("proved: " + ", ".join(f"{n:,} {what}" for what, n in sorted(self.proved.items())))

    def by_ring(self) -> dict[str, tuple[int, float]]:
        """Return the number of tests and the seconds of each ring."""
        sums = dict.fromkeys(RINGS, (0, 0.0))
        for test, seconds in self.seconds.items():
            tests, total = sums[self.rings[test]]
            sums[self.rings[test]] = (tests + 1, total + seconds)
        return sums

    def write(self) -> Path:
        """Write rings, files, slowest tests and counts as JSON, and return the path."""
        files: defaultdict[str, float] = defaultdict(float)
        for test, seconds in self.seconds.items():
            files[test.partition("::")[0]] += seconds
        slowest = sorted(self.seconds, key=lambda test: -self.seconds[test])[:MAX_SLOWEST]
        content = {
            "rings": {
                ring: {"tests": n, "seconds": round(seconds, 2)} for ring, (n, seconds) in self.by_ring().items()
            },
            "files": {name: round(files[name], 2) for name in sorted(files, key=lambda name: -files[name])},
            "slowest": [{"test": t, "ring": self.rings[t], "seconds": round(self.seconds[t], 2)} for t in slowest],
            "proved": dict(sorted(self.proved.items())),
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / "test-durations.json"
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        return path


def ring_of(item: pytest.Item) -> str:
    """Return the outermost ring among the markers of a test; a folder may have the name of a ring."""
    markers = {marker.name for marker in item.iter_markers()}
    return next((ring for ring in ("services", "spark") if ring in markers), "unit")
