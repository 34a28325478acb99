import json
from typing import Any

import pytest

from benchmarks.settings.compare import UNTOUCHED, WARM_UNTOUCHED, is_within, noise, ratios
from tests.conftest import ROOT


def run(engine: str, cpu_seconds: float, group: int = 0, latency_ms: float = 2, records: int = 4) -> dict[str, Any]:
    latencies = {"p50_ms": latency_ms, "p99_ms": latency_ms}
    case = {"workload": "stateful", "engine": engine, "group": group, "records": records}
    return {**case, **latencies, "cpu_seconds_per_million": cpu_seconds}


def test_ratio_compares_runs_of_one_group_and_repeat() -> None:
    runs = [
        run(UNTOUCHED, 100),
        run("a", 80),
        run(UNTOUCHED, 200, 2),
        run("b", 300, 2, latency_ms=4),
        run("b", 300, 2, latency_ms=4),
        run(UNTOUCHED, 200, 2),
        run("a", 160),
        run(UNTOUCHED, 200),
    ]

    found = {engine: one for (_, engine), one in ratios(runs).items()}

    assert (0.8, 1.5, 1.0) == tuple(found[name]["cpu_ratio"] for name in ("a", "b", UNTOUCHED))
    assert (1.0, 2.0, 2.0) == (found["a"]["p50_ratio"], found["b"]["p50_ratio"], found["b"]["p99_ratio"])


def test_published_ratios_follow_from_the_published_runs() -> None:
    """A published ratio cannot be changed without a change of the measured runs."""
    content = json.loads((ROOT / "references/measured/price.json").read_text(encoding="utf-8"))

    found = ratios(content["runs"])

    assert len(found) == len(content["cases"]) > 20
    assert all(found[case["workload"], case["engine"]].items() <= case.items() for case in content["cases"])


def test_run_without_outputs_has_no_ratio() -> None:
    assert [UNTOUCHED] == [engine for _, engine in ratios([run(UNTOUCHED, 100), run("a", 80, records=0)])]


@pytest.mark.parametrize(
    ("costs", "expected"),
    [([100.0], None), ([110.0, 100.0, 105.0], 0.1), ([100.0, 100.0], 0.0)],
    ids=["one", "several", "equal"],
)
def test_noise_is_the_difference_of_equal_runs(costs: list[float], expected: float | None) -> None:
    """Warm runs and runs of changes differ from the untouched query; a single run shows no noise."""
    runs = [*(run(UNTOUCHED, cost) for cost in costs), run("a", 1), run(WARM_UNTOUCHED, 1)]

    found = noise(runs, "stateful")

    assert expected == (found if found is None else pytest.approx(found))


def test_change_within_the_noise_has_no_effect() -> None:
    """The untouched query and a change without noise to compare with are never within it."""
    cases = [{"engine": name, "cpu_ratio": ratio} for name, ratio in ((UNTOUCHED, 1.0), ("a", 0.9), ("b", 0.89))]

    assert [False, True, False] == [is_within(case, 0.1) for case in cases]
    assert not is_within(cases[1], None)
