import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import registry
from benchmarks.harness.benchmark import Outcome, run
from tests.conftest import ROOT

SPARK_FREE = "import sys, benchmarks.registry; print({'pyspark', 'matplotlib'} & sys.modules.keys())"


def output_of(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def test_make_lists_every_benchmark_with_what_it_measures() -> None:
    """`make` would not list a benchmark without a line in the Makefile."""
    listed = re.findall(r"^bench-([a-z-]+): ## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)

    assert [*registry.MODULES] == listed


@pytest.mark.spark  # importing a benchmark imports PySpark
@pytest.mark.parametrize("name", registry.MODULES)
def test_benchmark_has_the_name_of_the_registry_and_an_example(name: str) -> None:
    benchmark = registry.load(name)

    assert name == benchmark.name
    assert benchmark.parse(benchmark.example.split())
    assert f"make bench-{name}" in (benchmark.description or "")


def test_unknown_name_lists_the_benchmarks() -> None:
    done = output_of("-m", "benchmarks", "latencies")

    assert (2, "") == (done.returncode, done.stdout)
    assert "'latencies' is not a benchmark; use one of latency, throughput, settings," in done.stderr
    assert "offline-lateness" in output_of("-m", "benchmarks").stdout


@pytest.mark.spark
def test_interrupted_benchmark_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> Outcome:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)

    assert 130 == run(replace(registry.load("latency"), measure=interrupted), [])

    assert "interrupted; no results were written\n" == capsys.readouterr().err
    assert [] == [*tmp_path.iterdir()]


def test_tables_need_neither_spark_nor_matplotlib() -> None:
    """`skills.py generate` stays fast."""
    assert "set()\n" == output_of("-c", SPARK_FREE).stdout
