"""The table of other engines shows the numbers of its JSON, and names the engines that were not measured."""

import json
from pathlib import Path
from typing import Any

import pytest

from scripts.pack import files
from scripts.pack.tables.other_engines import OTHER_ENGINES, other_engines

CONDITIONS = {
    "date": "2026-11-21",
    "cores": 2,
    "java": "17.0.15",
    "java_options": "",
    "pyspark": "4.3.0",
    "kafka_broker_and_clients": "4.4.0",
    "partitions": 2,
    "interval_seconds": 30,
    "duration_seconds": 120,
    "warm_up_seconds": 45,
    "repeats": 2,
}
TABLE = """\
Measured with `make bench-other-engines PUBLISH=1` on 2026-11-21. Machine: 2 cores, Java 17.0.15, PySpark 4.3.0, \
Flink 2.3.0, broker 4.4.0. Load: 2 partitions, trigger interval 30 s. Runs: 2 per case, \
each with 45 s of warm-up and then 120 s of measurement. \
Other programs used at most 0.07 cores. Latency is in ms, measured from scheduled send to receipt.

| stateful: engine | records/s | p50 | p90 | p99 | p99.9 | max | p50 / baseline \
| batch boundaries | CPU cores of the engine |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
| baseline (echo) | 1,000 | 0.8 | 1.6 | 4.0 | 8.0 | 1,234 | 1x | - | 0.12 |
| Flink | 1,000 | 1.6 | 3.2 | 8.0 | 16 | 1,234 | 2x | - | 0.43 |
| Spark, real-time mode | 1,000 | 2.4 | 4.8 | 12 | 24 | 1,234 | 3x | 6 | 0.55 |

Quix Streams was not measured: pip cannot install it.
"""


def case(workload: str, engine: str, times: float, cores: float, boundaries: int = 0) -> dict[str, Any]:
    """Return a benchmark row whose latencies are `times` those of the baseline."""
    latencies = {"p50_ms": 0.8, "p90_ms": 1.6, "p99_ms": 4.0, "p99.9_ms": 8.0}
    return {
        "workload": workload,
        "engine": engine,
        "rate": 1000.0,
        "times_baseline": times,
        "boundaries": boundaries,
        **{name: milliseconds * times for name, milliseconds in latencies.items()},
        "max_ms": 1234.4,
        "engine_cores": cores,
    }


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a repository where Flink was measured and Quix Streams could not be installed."""
    content = {
        "conditions": CONDITIONS,
        "other_engines": [
            {"engine": "Flink", "packages": "apache-flink==2.3.0, org.apache.flink:x:5.0.0-2.2", "not_measured": ""},
            {"engine": "Quix Streams", "packages": "quixstreams==99", "not_measured": "pip cannot install it"},
        ],
        "cases": [
            case("echo", "baseline (echo)", 1, 0.12),
            case("stateless", "Flink", 1, 0.4),
            case("stateful", "Flink", 2, 0.43),
            case("stateful", "real-time", 3, 0.55, boundaries=6),
        ],
        "runs": [{"foreign_cores": 0.02}, {"foreign_cores": 0.07}],
    }
    path = tmp_path / OTHER_ENGINES
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(content))
    return tmp_path


def test_table_shows_the_numbers_of_the_json(root: Path) -> None:
    """Each number of the table is in the JSON file, and a sentence names the engine that was not measured."""
    assert other_engines(root, "stateful") == TABLE


def test_unknown_workload_is_refused_with_the_known_ones(root: Path) -> None:
    """A mistyped workload in a page is an error that lists the measured workloads."""
    with pytest.raises(ValueError, match=r"workload 'statefull' was not measured; use one of stateful, stateless"):
        other_engines(root, "statefull")


def test_missing_measurement_is_refused_with_its_command(tmp_path: Path) -> None:
    """Without the JSON file the error names the command that writes it."""
    with pytest.raises(ValueError, match=r"other_engines\.json does not exist; create it with `make bench-"):
        other_engines(tmp_path, "stateful")


def test_page_compares_the_published_medians_correctly() -> None:
    """With state, OSS has the highest p50, and only Quix Streams is more than twice as fast, as the page says."""
    cases = json.loads((files.ROOT / OTHER_ENGINES).read_text(encoding="utf-8"))["cases"]
    medians = {case["engine"]: case["p50_ms"] for case in cases if case["workload"] == "stateful"}
    ours = medians.pop("real-time")

    assert ours > max(medians.values())
    assert ["Quix Streams"] == [engine for engine, median in medians.items() if ours > 2 * median]
