import contextlib
import json
from pathlib import Path

import pytest

from benchmarks.harness.benchmark import run
from benchmarks.latency import measure

pytestmark = pytest.mark.services


def test_baseline_answers_once_and_only_valid_results_are_published(
    kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = "--quick --filter baseline --warm-up-seconds 1 --duration 1 --publish --max-late-runs 0"
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", kafka)
    with contextlib.chdir(tmp_path):
        status = run("latency", measure, options.split())

    folder = tmp_path / ("build/benchmarks" if status else "references/measured")
    assert {"latency.json", "latency_echo.svg"} == {path.name for path in folder.iterdir()}
    content = json.loads((folder / "latency.json").read_text())
    ((baseline,), (case,)) = content["runs"], content["cases"]
    assert (0, 0, 1000, 1.0) == tuple(baseline[name] for name in ("missing", "wrong", "records", "outputs_per_record"))
    assert baseline["engine_cores"] > 0
    assert bool(status) == bool(baseline["problems"])
    output = capsys.readouterr().out
    assert "1/1 echo, baseline (echo), 1000/s; at least" in output
    assert f"{case['p50_ms']:,.1f}" in output
