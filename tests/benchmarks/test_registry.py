import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks import registry
from benchmarks.harness.benchmark import Outcome, RunOptions, conditions, parse, run
from benchmarks.latency import measure as latency
from benchmarks.throughput import measure as throughput
from tests.conftest import ROOT

SPARK_FREE = "import sys, benchmarks.registry; print({'pyspark', 'matplotlib'} & sys.modules.keys())"


def output_of(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def test_make_lists_every_benchmark_with_what_it_measures() -> None:
    """Without a line in the Makefile, `make` would not list the benchmark."""
    listed = re.findall(r"^bench-([a-z-]+): ## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)

    assert [*registry.MODULES] == listed


@pytest.mark.parametrize("name", registry.MODULES)
def test_run_of_engines_is_long_enough_for_its_boundaries(name: str) -> None:
    """By default, a run lasts at least 3.5 trigger intervals after a warm-up of more than one trigger interval."""
    module = registry.load(name)

    for quick in (False, True):
        options = parse(name, module, ["--quick"] if quick else [])
        assert quick == options.quick
        if isinstance(options, RunOptions):
            assert options.duration >= 3.5 * options.interval_seconds
            assert options.warm_up_seconds > options.interval_seconds


def test_conditions_contain_all_options_that_change_numbers() -> None:
    described = conditions(latency.Options(duration=9, publish=True, filter=("x",)))

    assert (9, 1000, 12) == tuple(described[name] for name in ("duration_seconds", "rate", "interval_seconds"))
    assert (2000, 4000) == conditions(throughput.Options())["rates"][:2]
    assert not {"duration", "publish", "filter"} & described.keys()


def test_unknown_name_lists_the_benchmarks() -> None:
    done = output_of("-m", "benchmarks", "latencies")

    assert (2, "") == (done.returncode, done.stdout)
    assert "'latencies' is not a benchmark; use one of latency, throughput, growth," in done.stderr


@pytest.mark.parametrize("name", ["latency", "throughput"])
def test_filter_without_a_case_is_named(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Without the error, a filter that matches no case would replace the published measurement by an empty one."""
    assert 1 == run(name, registry.load(name), ["--publish", "--filter", "realtime"])

    assert "error: --filter 'realtime' matches no case, so nothing is measured" in capsys.readouterr().err


def test_interrupted_benchmark_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> Outcome:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)

    assert 130 == run("latency", SimpleNamespace(**{**vars(latency), "measure": interrupted}), [])

    assert "interrupted; no results were written\n" == capsys.readouterr().err
    assert [] == [*tmp_path.iterdir()]


def test_tables_need_neither_spark_nor_matplotlib() -> None:
    """`skills.py generate` imports these modules, so it stays fast."""
    assert "set()\n" == output_of("-c", SPARK_FREE).stdout
