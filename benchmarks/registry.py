"""
The benchmarks by name, and the generated parts of pages about their published runs.

`scripts/pack/blocks.py` imports this module, so it imports only the modules `table`, and neither Spark nor Matplotlib.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from benchmarks.boundary import table as boundary
from benchmarks.growth import table as growth
from benchmarks.latency import table as latency
from benchmarks.other_engines import table as other_engines
from benchmarks.postgres_sink import table as postgres_sink
from benchmarks.probes import table as probes
from benchmarks.results.format import Block
from benchmarks.settings import table as settings
from benchmarks.throughput import table as throughput

if TYPE_CHECKING:
    from benchmarks.harness.benchmark import Benchmark

MODULES = {
    "latency": "latency.measure",
    "throughput": "throughput.measure",
    "settings": "settings.measure",
    "growth": "growth.measure",
    "boundary": "boundary.measure",
    "other-engines": "other_engines.measure",
    "postgres-sink": "postgres_sink.measure",
    "joins": "probes.joins",
    "offline-lateness": "probes.offline_lateness",
    "python-path": "probes.python_path",
    "memory": "probes.memory",
    "drains": "probes.drains",
    "rate-to-stat": "probes.rate_to_stat",
    "burst": "probes.burst",
    "state-stores": "probes.state_stores",
}
"""The module of each benchmark, which defines `BENCHMARK`."""
BLOCKS: dict[str, Block] = {
    **latency.BLOCKS,
    **throughput.BLOCKS,
    **settings.BLOCKS,
    **growth.BLOCKS,
    **boundary.BLOCKS,
    **other_engines.BLOCKS,
    **postgres_sink.BLOCKS,
    **probes.BLOCKS,
}


def load(name: str) -> "Benchmark[Any]":
    """Import a benchmark. Raise ValueError for an unknown name."""
    if name not in MODULES:
        raise ValueError(f"{name!r} is not a benchmark; use one of {', '.join(MODULES)}")
    benchmark: Benchmark[Any] = import_module(f"benchmarks.{MODULES[name]}").BENCHMARK
    return benchmark
