from benchmarks.chaos.faults import KINDS, plan
from benchmarks.chaos.parts.driver import DELIVERY_SECONDS


def test_same_seed_repeats_the_plan() -> None:
    """A failed run can be repeated with its seed, whatever the order of the kinds."""
    first = plan(3, 40, KINDS)

    assert first == plan(3, 40, dict(reversed(KINDS.items())))
    assert first != plan(4, 40, KINDS)
    assert first[:10] == plan(3, 10, KINDS)


def test_faults_last_as_long_as_their_kind_allows() -> None:
    """An outage of the broker lasts longer than the delivery timeout."""
    for fault in plan(1, 200, KINDS):
        kind = KINDS[fault.kind]
        assert kind.min_seconds <= fault.seconds <= kind.max_seconds
        assert 0 <= fault.strength <= 1
    assert KINDS["remove-broker"].min_seconds > DELIVERY_SECONDS
