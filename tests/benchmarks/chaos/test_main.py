import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.chaos.__main__ import parse, publish
from benchmarks.chaos.faults import KINDS, Fault
from benchmarks.chaos.report import Incident, Outcome
from benchmarks.chaos.run import ChaosOptions
from examples.attribution.audit.reconciliation import Reconciliation
from examples.attribution.audit.run_log import RunLog

OPTIONS = ChaosOptions(seed=3, publish=True)
OUTCOME = Outcome(
    [Incident(Fault("kill-broker", 0, 0.5, 4, KINDS["kill-broker"].begin), begun_at=1_000, seconds=8.2, replayed=12)],
    Reconciliation({}, ["row t/1/slot/s is missing; expected code 'filled'", "row a differs: x"], 90, 0, 0, []),
    RunLog(),
    sent=100,
    failed_sends=0,
)


def test_run_is_added_and_replaces_the_one_with_its_command(tmp_path: Path) -> None:
    path = tmp_path / "chaos.json"

    for options in (OPTIONS, replace(OPTIONS, seed=4), OPTIONS):
        publish(options, OUTCOME, path)

    content = json.loads(path.read_text(encoding="utf-8"))
    assert ["make chaos SEED=4 PUBLISH=1", "make chaos SEED=3 PUBLISH=1"] == [run["command"] for run in content["runs"]]
    run = content["runs"][-1]
    assert [{"fault": "kill-broker", "seconds": 8.2, "replayed": 12}] == run["incidents"]
    assert (100, 90, 0, 1, 1) == tuple(run[name] for name in ("records", "results", "failed_sends", "lost", "wrong"))
    assert KINDS.keys() == content["kinds"].keys()
    # A run that ended with Ctrl-C has fewer faults than its command states.
    with pytest.raises(ValueError, match=r"Ctrl-C ended the run, so .* was not changed"):
        publish(OPTIONS, replace(OUTCOME, is_interrupted=True), path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--faults", "kill-broker,kill-everything"], "unknown faults: 'kill-everything'; choose from "),
        (["--faults", "kill-executor, kill-worker"], "require --cluster: 'kill-executor', 'kill-worker'"),
        (["--faults", "kill-leader"], "these faults require --standby: 'kill-leader'"),
        (["--cluster", "--standby"], "a standby requires its own task slots, which the cluster does not have"),
        (["--count", "-1"], "count is -1 and duration is 300; both must be positive"),
        (["--rate", "0"], "rate is 0.0, but must be greater than 0"),
    ],
    ids=["unknown", "without-cluster", "without-standby", "standby-on-cluster", "negative", "setting"],
)
def test_invalid_option_ends_a_command(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        parse(arguments)

    assert message in capsys.readouterr().err
