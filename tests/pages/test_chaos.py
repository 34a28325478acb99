"""The statements about the published runs under faults follow from their file."""

import json
from collections import Counter

from examples.attribution.chaos.faults import KINDS
from scripts.pack import files

RUNS = json.loads((files.ROOT / "references/measured/chaos.json").read_text())["runs"]
INCIDENTS = [incident for run in RUNS for incident in run["incidents"]]


def test_a_hundred_faults_of_three_seeds_lost_nothing() -> None:
    """Each run compared its results with the replay, and each fault has healed."""
    assert len(INCIDENTS) >= 100
    assert len({run["seed"] for run in RUNS}) >= 3
    assert 0 == sum(run["failed_sends"] for run in RUNS)
    assert {(0, 0)} == {(row["lost"], row["wrong"]) for run in RUNS for row in run["differences"]}
    assert all(incident["seconds"] for incident in INCIDENTS)


def test_every_kind_came_and_those_of_the_cluster_once() -> None:
    """The table has a row for every kind of fault."""
    times = Counter(incident["fault"] for incident in INCIDENTS)

    assert KINDS.keys() == times.keys()
    assert {1} == {times[name] for name, kind in KINDS.items() if kind.needs == "cluster"}


def test_killed_driver_writes_results_twice() -> None:
    """Results that were not committed at the kill are written again, and no result is wrong because of that."""
    replayed = [incident["replayed"] for incident in INCIDENTS if incident["fault"] in ("kill-driver", "kill-jvm")]

    assert sum(replayed) > 1000
    assert 0 == sum(incident["replayed"] for incident in INCIDENTS if incident["fault"].startswith("jump-"))
