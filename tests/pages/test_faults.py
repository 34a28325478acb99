import json

from benchmarks.chaos.faults import KINDS
from scripts.pack import files

RUNS = json.loads((files.ROOT / "references/measured/chaos.json").read_text())["runs"]


def test_faults_of_all_kinds_lost_nothing() -> None:
    incidents = [incident for run in RUNS for incident in run["incidents"]]

    assert KINDS.keys() == {incident["fault"] for incident in incidents}
    assert {(0, 0, 0)} == {(run["lost"], run["wrong"], run["failed_sends"]) for run in RUNS}
    assert all(incident["seconds"] for incident in incidents)
