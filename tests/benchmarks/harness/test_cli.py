import pytest

from benchmarks import registry
from benchmarks.harness.cli import QUICK_RUN, RunOptions, conditions
from benchmarks.latency import measure as latency
from benchmarks.throughput import measure as throughput

RUNS = [name for name in registry.MODULES if issubclass(registry.load(name).options, RunOptions)]


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("quick", [False, True])
def test_run_is_long_enough_for_its_boundaries(name: str, *, quick: bool) -> None:
    """With its defaults each benchmark measures at least 3.5 trigger intervals after a longer warm-up."""
    options = registry.load(name).parse(["--quick"] if quick else [])

    assert options.duration >= 3.5 * options.interval_seconds
    assert options.warm_up_seconds > options.interval_seconds
    assert quick == (options.duration == QUICK_RUN["duration"])


def test_conditions_contain_all_options_that_change_numbers() -> None:
    described = conditions(latency.Options(duration=9, publish=True, filter=("x",)))

    assert (9, 1000, 12) == tuple(described[name] for name in ("duration_seconds", "rate", "interval_seconds"))
    assert (2000, 4000) == conditions(throughput.Options())["rates"][:2]
    assert not {"duration", "publish", "filter"} & described.keys()
