from collections import Counter
from pathlib import Path

import pytest

from spark_rtm.prove.checks.state import by_own_rules
from spark_rtm.prove.job.target import load
from spark_rtm.prove.verdicts import GOOD, UNCHECKED, WRONG, Place
from tests.prove.judge import Judge


@pytest.mark.parametrize(
    ("metrics", "status", "evidence"),
    [
        ({"numValueStateVars": 1}, WRONG, "no TTL and no timer is set"),
        ({"numListStateWithTTLVars": 1}, GOOD, "each state variable has a TTL"),
        ({"numMapStateVars": 1, "numRegisteredTimers": 3}, UNCHECKED, "the processor sets timers"),
    ],
    ids=["endless", "TTL", "timer"],
)
def test_state_of_a_processor_ends_by_its_own_rules(metrics: dict[str, int], status: str, evidence: str) -> None:
    verdict = by_own_rules(Place(Path("job.py"), 7, "clicks"), 9, Counter(metrics))

    assert status == verdict.status
    assert evidence in verdict.evidence


@pytest.mark.spark
@pytest.mark.services
@pytest.mark.timeout(240)
def test_state_that_the_watermark_removes_is_good_for_accepted_records(judge: Judge) -> None:
    """A login produces no result before the tenth failure; a rejected record does, and forms its own group."""
    state = judge.one(load("examples/alerts/logins_to_spikes.py:logins_to_spikes"), "state")

    assert GOOD == state.status, state.text
    assert "rows of state for the same keys; the watermark removed" in state.evidence
    assert "grows" not in state.evidence
