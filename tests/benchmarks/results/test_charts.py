"""Charts depend only on the published JSON."""

import itertools
import json
from pathlib import Path

from examples.benchmarks.results.summary import summarize
from tests.benchmarks.helpers import BASELINE, run_result
from tests.benchmarks.results.conftest import Draw


def test_same_json_gives_the_same_chart_again(tmp_path: Path, draw: Draw) -> None:
    """The published chart can be drawn again from the published numbers."""
    cases = itertools.product(("stateless", "stateful"), ("micro-batch", "real-time"))
    results = [run_result("echo", BASELINE, [1, 2, 3]), *(run_result(*case, [2, 5, 90]) for case in cases)]
    content = json.loads(json.dumps(summarize(results)))

    first = draw(content, tmp_path, "latency")[0].read_bytes()
    (tmp_path / "latency.svg").unlink()
    second = draw(content, tmp_path, "latency")[0].read_bytes()

    assert first == second
    assert b"stateful: median of the runs" in first
