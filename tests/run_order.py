"""
A pytest plugin for the order of test files, and for the worker process that takes each file.

The shared Spark session of a process needs much CPU time until its JVM has compiled the code. So one half of the
workers takes the files that use this session, from the front of the list. The other half takes the other files, from
the end of the list. Both halves meet at files that take little time.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

from tests.durations import RINGS, ring_of

if TYPE_CHECKING:
    from collections.abc import Iterable

SESSION = "rtm_spark"
"""Name of the fixture that starts the shared session."""


class TwoEndedScheduling(LoadFileScheduling):  # type: ignore[misc]
    """Gives whole files to workers: from the front of the list to one half of them, from its end to the other half."""

    def _assign_work_unit(self, node: Any) -> None:
        if int(node.gateway.id.removeprefix("gw")) >= self.numnodes // 2:
            self.workqueue.move_to_end(next(reversed(self.workqueue)), last=False)
        super()._assign_work_unit(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> TwoEndedScheduling | None:
    """Return the scheduler for `--dist loadfile`; with another value, pytest-xdist uses its own."""
    return TwoEndedScheduling(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.hookimpl(trylast=True)  # tests/conftest.py adds markers first
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the files; the tests of a file keep their order."""
    place = {path: number for number, path in enumerate(order_of_files(items))}
    items.sort(key=lambda item: place[item.path])


def order_of_files(items: Iterable[pytest.Item]) -> list[Path]:
    """
    Return the files that use the shared session, longest timeout first, and then the others, longest timeout last.

    Among the others, files that start programs mostly wait, and plain ones never do, so both alternate evenly.
    """
    uses_session, ring, timeout = set[Path](), dict[Path, int](), dict[Path, float]()
    for item in items:
        path = item.path
        if SESSION in getattr(item, "fixturenames", ()):
            uses_session.add(path)
        ring[path] = max(ring.get(path, 0), list(RINGS).index(ring_of(item)))
        seconds = [float(marker.args[0]) for marker in item.iter_markers("timeout")]
        timeout[path] = max(timeout.get(path, 0), *seconds, 0)
    files = sorted(ring, key=lambda path: (-ring[path], -timeout[path], str(path)))
    others = [path for path in files if path not in uses_session]
    waiting, plain = ([path for path in others if (ring[path] > 0) == waits] for waits in (True, False))
    share = {path: (n + 0.5) / len(group) for group in (waiting, plain) for n, path in enumerate(group)}
    return [path for path in files if path in uses_session] + sorted(others, key=lambda path: share[path], reverse=True)
