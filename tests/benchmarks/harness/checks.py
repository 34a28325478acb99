from benchmarks.results.run_result import RunResult, Traffic

SHORT = Traffic(rate=2000, warm_up_seconds=0.5, duration_seconds=1, drain_seconds=60)
MEASURED_RECORDS = 2000
VALID = [seq for seq in range(3000) if seq % 101 != 100]


def assert_all_answered(result: RunResult) -> None:
    assert (0, 0) == (result.numbers["missing"], result.numbers["wrong"])
    assert all(result.latency_us > 0)
