import contextlib
import json
from pathlib import Path

import pytest

from benchmarks.harness.benchmark import run
from benchmarks.latency.measure import BENCHMARK

pytestmark = pytest.mark.services


def test_only_valid_results_are_written_to_the_published_folder(
    kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = "--quick --filter baseline --warm-up-seconds 1 --duration 2 --repeats 2 --publish --max-late-runs 0"
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", kafka)
    with contextlib.chdir(tmp_path):
        status = run(BENCHMARK, options.split())

    folder = tmp_path / ("build/benchmarks" if status else "references/measured")
    page = tmp_path / "build/benchmarks/latency.html"
    assert {"latency.json", "latency_echo.svg"} == {path.name for path in folder.iterdir() if path != page}
    assert "<title>Benchmark: latency</title>" in page.read_text(encoding="utf-8")
    content = json.loads((folder / "latency.json").read_text())
    assert [2] == [case["runs"] for case in content["cases"]]
    assert bool(status) == any(run["problems"] for run in content["runs"])
    output = capsys.readouterr().out
    assert "1/2 echo, baseline (echo), 1000/s; at least" in output
    assert f"{content['cases'][0]['p50_ms']:,.1f}" in output
