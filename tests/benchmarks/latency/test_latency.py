import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.harness.benchmark import run
from benchmarks.latency.measure import BENCHMARK
from tests.conftest import ROOT
from tests.helpers import eventually

pytestmark = pytest.mark.services


def test_only_valid_results_are_written_to_the_published_folder(
    kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [
        "--quick",
        "--filter",
        "baseline",
        "--warm-up-seconds",
        "1",
        "--duration",
        "2",
        "--publish",
        "--max-late-runs=0",
    ]
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", kafka)
    with contextlib.chdir(tmp_path):
        status = run(BENCHMARK, [*options, "--arrivals", "constant", "poisson"])

    folder = tmp_path / ("build/benchmarks" if status else "references/measured")
    assert {"latency.json", "latency_echo.svg"} == {path.name for path in folder.iterdir()} - {"latency.html"}
    assert (tmp_path / "build/benchmarks/latency.html").exists()
    content = json.loads((folder / "latency.json").read_text())
    assert [("constant", 1), ("poisson", 1)] == [(case["arrivals"], case["runs"]) for case in content["cases"]]
    assert bool(status) == any(run["problems"] for run in content["runs"])
    output = capsys.readouterr().out
    assert "1/2 echo, baseline (echo), 1000/s constant; at least" in output
    assert f"{content['cases'][0]['p50_ms']:,.1f}" in output


def test_interrupted_benchmark_ends_its_servers_and_writes_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks", "latency", "--filter", "baseline"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True) as benchmark:
        eventually(lambda: list(tmp_path.glob("*/bench-*/load_generator.log")), 60, "the load generator")
        benchmark.send_signal(signal.SIGINT)
        errors = benchmark.communicate(timeout=60)[1]

    assert 130 == benchmark.returncode
    assert "interrupted; no results were written" in errors
    assert [] == [path.name for path in tmp_path.iterdir() if not path.name.startswith("hsperfdata")]
