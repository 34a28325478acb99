"""
A pytest plugin for the order of tests, and for the worker process that runs each test.

The shared Spark session of a process needs much CPU time until its JVM has compiled the code, so few processes should
start one. The tests of a file that use this session are one group, and the other tests of the file are another group.
One half of the workers takes the groups with the session, from the front of the list. The other half takes the other
groups, from the end of the list. Both halves meet at groups that take little time.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

from tests.durations import RINGS, ring_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SESSION = "rtm_spark"
"""Name of the fixture that starts the shared session."""
Group = tuple[Path, bool]
"""A file, and whether the tests of the group use the shared session."""


class TwoEndedScheduling(LoadFileScheduling):  # type: ignore[misc]
    """Gives groups to workers: from the front of the list to one half of them, from its end to the other half."""

    def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
        """Find the groups in the tests, which all workers collect; the groups of one file are not neighbours."""
        if not self.registered_collections:
            runs = groupby(collection, super()._split_scope)
            self._group_of = {test: f"{file} {n}" for n, (file, tests) in enumerate(runs) for test in tests}
        super().add_node_collection(node, collection)

    def _split_scope(self, nodeid: str) -> str:
        return self._group_of[nodeid]

    def _assign_work_unit(self, node: Any) -> None:
        if int(node.gateway.id.removeprefix("gw")) >= (self.numnodes + 1) // 2:
            self.workqueue.move_to_end(next(reversed(self.workqueue)), last=False)
        super()._assign_work_unit(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> TwoEndedScheduling | None:
    """Return the scheduler for `--dist loadfile`; with another value, pytest-xdist uses its own."""
    return TwoEndedScheduling(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.hookimpl(trylast=True)  # tests/conftest.py adds markers first
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the groups; the tests of a group keep their order."""
    place = {group: number for number, group in enumerate(order_of_groups(items))}
    items.sort(key=lambda item: place[_group(item)])


def order_of_groups(items: Iterable[pytest.Item]) -> list[Group]:
    """
    Return the groups that use the shared session, longest timeout first, and then the others, longest timeout last.

    Groups that need servers come before those that need only Spark. Among the others, groups that start programs mostly
    wait, and plain ones never do, so both alternate evenly.
    """
    ring, timeout = dict[Group, int](), dict[Group, float]()
    for item in items:
        group = _group(item)
        ring[group] = max(ring.get(group, 0), list(RINGS).index(ring_of(item)))
        seconds = [float(marker.args[0]) for marker in item.iter_markers("timeout")]
        timeout[group] = max(timeout.get(group, 0), *seconds, 0)
    ordered = sorted(ring, key=lambda group: (-ring[group], -timeout[group], str(group[0])))
    others = [group for group in ordered if not group[1]]
    waiting, plain = ([group for group in others if (ring[group] > 0) == waits] for waits in (True, False))
    share = {group: (n + 0.5) / len(part) for part in (waiting, plain) for n, group in enumerate(part)}
    others.sort(key=lambda group: (share[group], -ring[group]), reverse=True)
    sessions = [group for group in ordered if group[1]]
    if sessions and others and sessions[-1][0] == others[0][0]:  # the groups of one file, which must not be neighbours
        others[:2] = reversed(others[:2])
    return sessions + others


def _group(item: pytest.Item) -> Group:
    return item.path, SESSION in getattr(item, "fixturenames", ())
