"""The runs of the benchmark: the base, one varied input at a time, and combined inputs that the fit excludes."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

from benchmarks.harness.workloads import Shape

BASE, COMBINED = "base", "combined"


@dataclass(frozen=True)
class Point:
    """The inputs of one run."""

    rate: float = 1_000
    """Records per second. Each query reads all of them."""
    partitions: int = 2
    """Number of source partitions of the topic, and of state partitions of each query."""
    keys: int = 1_000
    """Number of distinct keys in the records."""
    state_keys: int = 1_000
    """Number of keys in the state before the run, at least `keys`."""
    record_bytes: int = 200
    queries: int = 1
    """Number of queries in one session."""
    cores: int = 2
    """Number of cores that the engine may use."""
    dimension: str = BASE
    """Name of the input that differs from the base, `base` or `combined`."""

    @property
    def shape(self) -> Shape:
        """Return the keys and size of the records. The keys are evenly spaced among the keys in the state."""
        return Shape(self.keys, self.state_keys // self.keys, self.record_bytes)

    @property
    def slots(self) -> int:
        """Return the number of task slots that all queries need together."""
        return 2 * self.partitions * self.queries

    @property
    def inputs(self) -> dict[str, float]:
        """Return the inputs by name."""
        return {name: value for name, value in asdict(self).items() if name != "dimension"}

    @property
    def label(self) -> str:
        """Return the name of the run, with which `--filter` is compared."""
        base = Point().inputs
        changed = [f"{name} = {value:,.10g}" for name, value in self.inputs.items() if value != base[name]]
        return f"{self.dimension}: {'; '.join(changed)}" if changed else BASE


DIMENSIONS: dict[str, tuple[int, ...]] = {
    "rate": (100, 300, 2_000, 4_000),
    "partitions": (1, 4, 8),
    "keys": (10, 100, 10_000, 100_000),
    "state_keys": (10_000, 100_000, 1_000_000, 10_000_000),
    "record_bytes": (50, 1_000, 5_000),
    "queries": (2, 4),
    "cores": (1,),
}
"""The values of each input other than its base value."""
COMBINATIONS = (
    Point(rate=500, partitions=4, record_bytes=1_000),
    Point(rate=2_000, keys=10_000, state_keys=100_000),
    Point(rate=500, keys=10_000, state_keys=1_000_000, queries=2),
    Point(rate=1_500, partitions=1, record_bytes=2_000, state_keys=10_000),
)
"""Points that the fit excludes, which show the error of the model at new points."""


def planned_points() -> Iterator[Point]:
    """Yield all points. The base runs first and last, to show how much identical runs differ."""
    yield Point()
    for name, values in DIMENSIONS.items():
        for value in values:
            point = Point(**{name: value}, dimension=name)
            yield replace(point, state_keys=max(point.state_keys, point.keys))
    yield from (replace(point, dimension=COMBINED) for point in COMBINATIONS)
    yield Point()
