import pytest

from benchmarks.growth.fit import INPUTS
from benchmarks.growth.points import BASE, COMBINED, PlannedPoint, Point, planned_points
from benchmarks.harness.workloads import MIN_RECORD_BYTES, count, counted_record, key_of_count

POINTS = list(planned_points())


def test_each_run_differs_from_the_base_in_its_dimension() -> None:
    """A run of a dimension changes only this input. More keys than the base state contains also enlarge the state."""
    base = Point().inputs
    for planned in POINTS:
        changed = {name for name, value in planned.point.inputs.items() if value != base[name]}
        if planned.dimension == BASE:
            assert not changed
        elif planned.dimension != COMBINED:
            assert planned.dimension in changed
            assert changed <= {planned.dimension, "state_keys"}


def test_combined_points_lie_inside_the_range_of_the_fit() -> None:
    single = [planned.point.inputs for planned in POINTS if planned.dimension != COMBINED]
    combined = [planned.point.inputs for planned in POINTS if planned.dimension == COMBINED]

    assert len(combined) >= 3
    for name in INPUTS:
        values = [inputs[name] for inputs in single]
        assert all(min(values) <= inputs[name] <= max(values) for inputs in combined)


@pytest.mark.parametrize("planned", POINTS, ids=lambda planned: planned.label)
def test_records_have_the_size_and_the_keys_of_the_point(planned: PlannedPoint) -> None:
    point = planned.point
    for seq in (0, 1, point.keys - 1, point.keys, 9_999_999):
        assert point.record_bytes == len(counted_record(point.shape, seq)) >= MIN_RECORD_BYTES
        assert int(key_of_count(point.shape, seq)[1:]) < point.state_keys


def test_count_grows_with_each_record_of_a_key() -> None:
    """A key gets its second record only after every other key has had its first."""
    shape = Point(keys=100, state_keys=1_000).shape

    assert {"id": "k100", "seq": 10, "count": 1} == count(shape, 10)
    assert {"id": "k100", "seq": 110, "count": 2} == count(shape, 110)
