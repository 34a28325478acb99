"""
The benchmarks by name, and the generated parts of pages about their published runs.

`scripts/pack/blocks.py` imports this module, so the module imports only `table` modules, not Spark or Matplotlib.
"""

from importlib import import_module
from types import ModuleType

from benchmarks.results.format import Block

FOLDERS = ("latency", "throughput", "growth", "other-engines")
PROBES = ("drains", "kills")
MODULES = {name: f"benchmarks.{name.replace('-', '_')}.measure" for name in FOLDERS}
MODULES |= {name: f"benchmarks.probes.{name.replace('-', '_')}" for name in PROBES}
"""The module of each benchmark, with `Options` and `measure`."""
TABLES = ("latency", "throughput", "growth", "other-engines", "probes", "chaos")
"""The folders whose published runs fill generated parts of pages."""
BLOCKS: dict[str, Block] = {
    name: block
    for folder in TABLES
    for name, block in import_module(f"benchmarks.{folder.replace('-', '_')}.table").BLOCKS.items()
}


def load(name: str) -> ModuleType:
    """Import the module of a benchmark."""
    return import_module(MODULES[name])
