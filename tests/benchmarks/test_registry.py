import re
import subprocess
import sys

import pytest

from benchmarks import registry
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


def test_tables_need_neither_spark_nor_matplotlib() -> None:
    """`skills.py generate` stays fast."""
    assert "set()\n" == output_of("-c", SPARK_FREE).stdout
