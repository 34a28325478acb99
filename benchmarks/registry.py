"""
The benchmarks by name, and the generated parts of pages about their published runs.

`scripts/pack/blocks.py` imports this module, so it imports only the modules `table`, and neither Spark nor Matplotlib.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from benchmarks.results.format import Block

if TYPE_CHECKING:
    from benchmarks.harness.benchmark import Benchmark

FOLDERS = ("latency", "throughput", "settings", "growth", "other-engines", "postgres-sink")
PROBES = ("joins", "offline-lateness", "python-path", "memory", "drains", "rate-to-stat", "burst", "state-stores")
MODULES = {name: f"benchmarks.{name.replace('-', '_')}.measure" for name in FOLDERS}
MODULES |= {name: f"benchmarks.probes.{name.replace('-', '_')}" for name in PROBES}
"""The module of each benchmark, which defines `BENCHMARK`."""
BLOCKS: dict[str, Block] = {
    name: block
    for folder in (*FOLDERS, "probes")
    for name, block in import_module(f"benchmarks.{folder.replace('-', '_')}.table").BLOCKS.items()
}


def load(name: str) -> "Benchmark[Any]":
    """Import a benchmark. Raise ValueError for an unknown name."""
    if name not in MODULES:
        raise ValueError(f"{name!r} is not a benchmark; use one of {', '.join(MODULES)}")
    benchmark: Benchmark[Any] = import_module(MODULES[name]).BENCHMARK
    return benchmark
