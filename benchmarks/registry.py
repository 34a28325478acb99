"""
The benchmarks by name, and the generated parts of pages that show their published runs.

`scripts/pack/blocks.py` imports this module, so it and the modules `table` import neither Spark nor Matplotlib.
"""

from benchmarks.boundary import table as boundary
from benchmarks.checkpoint_storage import table as checkpoint_storage
from benchmarks.growth import table as growth
from benchmarks.latency import table as latency
from benchmarks.other_engines import table as other_engines
from benchmarks.postgres_sink import table as postgres_sink
from benchmarks.results.format import Block
from benchmarks.settings import table as settings
from benchmarks.throughput import table as throughput

BLOCKS: dict[str, Block] = {}
for _table in (boundary, checkpoint_storage, growth, latency, other_engines, postgres_sink, settings, throughput):
    BLOCKS |= _table.BLOCKS
