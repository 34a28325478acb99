from benchmarks.growth.fit import INPUTS
from benchmarks.growth.points import BASE, COMBINED, Point, planned_points
from benchmarks.harness.workloads import MIN_RECORD_BYTES, count, counted_record, key_of_count

POINTS = list(planned_points())


def test_each_run_differs_from_the_base_in_its_dimension() -> None:
    """More keys than the base state contains also enlarge the state. Combined points lie in the range of the fit."""
    base = Point().inputs
    single = [planned.point.inputs for planned in POINTS if planned.dimension != COMBINED]
    for planned in POINTS:
        inputs = planned.point.inputs
        changed = {name for name, value in inputs.items() if value != base[name]}
        if planned.dimension == COMBINED:
            assert all(
                min(one[name] for one in single) <= inputs[name] <= max(one[name] for one in single) for name in INPUTS
            )
        elif planned.dimension == BASE:
            assert not changed
        else:
            assert {planned.dimension} <= changed <= {planned.dimension, "state_keys"}


def test_records_have_the_size_and_the_keys_of_the_point() -> None:
    """A key gets its second record only after every other key has had its first."""
    for point in (planned.point for planned in POINTS):
        for seq in (0, 1, point.keys - 1, point.keys, 9_999_999):
            assert point.record_bytes == len(counted_record(point.shape, seq)) >= MIN_RECORD_BYTES
            assert int(key_of_count(point.shape, seq)[1:]) < point.state_keys
    shape = Point(keys=100, state_keys=1_000).shape
    assert [{"id": "k100", "seq": seq, "count": n} for n, seq in ((1, 10), (2, 110))] == [
        count(shape, 10),
        count(shape, 110),
    ]
