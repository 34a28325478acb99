"""Estimate a query's slots, cores, memory, pause, replay and price from the measured cost model."""

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Annotated, Any

from spark_rtm.command_line import Argument, whole_number
from spark_rtm.commands.slots import Query
from spark_rtm.program import Command, UsageError
from spark_rtm.text.finding import printable

FUNCTIONS: dict[str, Callable[[float], float]] = {"": float, "sqrt": math.sqrt, "log10": math.log10}
"""Functions in a term such as `queries * sqrt(rate)`, which also the benchmark's fit uses."""


@dataclass(frozen=True)
class CostModel:
    """The sum of terms for each predicted quantity, and each input's range in the fitted runs."""

    terms: Mapping[str, Mapping[str, float]]
    """Each quantity's coefficients, by term."""
    ranges: Mapping[str, tuple[float, float]]
    """Each input's minimum and maximum."""

    def predict(self, quantity: str, inputs: Mapping[str, float]) -> float:
        """Return a quantity's predicted value."""
        return sum(coefficient * value_of(term, inputs) for term, coefficient in self.terms.get(quantity, {}).items())


def value_of(term: str, inputs: Mapping[str, float]) -> float:
    """Evaluate a term. Raise ValueError for an unknown factor."""
    value = 1.0
    for text in term.split(" * "):
        function, _, name = text.removesuffix(")").rpartition("(")
        try:
            value *= float(text) if text.isdigit() else FUNCTIONS[function](inputs[name])
        except KeyError:
            reason = f"the term {term!r} contains {text!r}; use a name, sqrt(name), log10(name) or a number"
            raise ValueError(reason) from None
    return value


def model_of(content: Mapping[str, Any]) -> CostModel:
    """Read the model from the benchmark's JSON."""
    terms: dict[str, dict[str, float]] = {}
    for row in content["model"]:
        terms.setdefault(row["quantity"], {})[row["term"]] = row["coefficient"]
    return CostModel(terms, {row["input"]: (row["lowest"], row["highest"]) for row in content["ranges"]})


def rows_of(model: CostModel) -> dict[str, Sequence[Mapping[str, Any]]]:
    """Convert the model to JSON rows, the inverse of `model_of`."""
    return {
        "model": [
            {"quantity": quantity, "term": term, "coefficient": coefficient}
            for quantity, terms in model.terms.items()
            for term, coefficient in terms.items()
        ],
        "ranges": [
            {"input": name, "lowest": lowest, "highest": highest} for name, (lowest, highest) in model.ranges.items()
        ],
    }


PUBLISHED = Path(__file__).with_suffix(".json")
"""Cost model of the published benchmark runs. `skills.py generate` copies it from the benchmark's JSON."""
MODEL_KEYS = ("conditions", "model", "ranges", "errors")
MAX_BYTES = 10_000_000
MIN_NUMBER, MAX_NUMBER = 1e-6, 1e15
RUN_KEYS = ("rate", "partitions", "kept_up")
COMMAND = "make bench-growth PUBLISH=1"
DESCRIPTION = f"""Estimate the resources of real-time aggregation queries from the published runs of `{COMMAND}`.

The numbers apply to OSS 4.3.0 on the benchmark machine. A warning reports each input outside the measured range.

exit status:
  0  the estimate was printed, with or without warnings
  2  a usage error, or there are no published runs"""
MODEL_INPUTS = {
    "rate_per_partition": "records/s per source partition",
    "keys": "keys",
    "state_keys": "keys in the state",
    "record_bytes": "bytes per record",
    "partitions": "source partitions",
    "queries": "queries",
    "rate": "records/s",
}


@dataclass(frozen=True)
class Demand:
    """The expected load on the queries. Each query reads all records."""

    rate: float
    record_bytes: float = 200
    keys: float = 1_000
    state_keys: float = 1_000
    interval_seconds: float = 300
    queries: int = 1
    partitions: int | None = None
    """Number of source partitions (None: derived from the rate)."""


@dataclass(frozen=True)
class Capacity:
    """The estimated resources for a `Demand`."""

    partitions: int
    slots: int
    busy_cores: float
    memory_mb: float
    pause_ms: float
    replay_records: float
    cpu_seconds_per_million: float
    outside: tuple[str, ...]
    """A warning for each input outside the measured range."""


def capacity(content: Mapping[str, Any], demand: Demand) -> Capacity:
    """Estimate the resources for a `Demand` from the benchmark's JSON."""
    model, highest = model_of(content), highest_rate_per_partition(content)
    partitions = demand.partitions or math.ceil(demand.rate / highest)
    inputs = {**asdict(demand), "partitions": partitions}
    cores = model.predict("busy_cores", inputs)
    pause_ms = model.predict("pause_ms", inputs)
    return Capacity(
        partitions=partitions,
        # The aggregation's stateful stage has as many partitions as the source.
        slots=demand.queries * Query(partitions, (), partitions, stateful_stages=1).slots,
        busy_cores=cores,
        memory_mb=model.predict("memory_mb", inputs),
        pause_ms=pause_ms,
        # Spark stores offsets only at the end of a batch, so a failure just before the end repeats the whole batch.
        replay_records=demand.rate * (demand.interval_seconds + pause_ms / 1000),
        cpu_seconds_per_million=1e6 * cores / demand.rate,
        outside=(*_outside(model, inputs, highest), *_other_interval(content, demand)),
    )


def model_content(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of the benchmark's JSON that this module needs."""
    runs = [{name: run[name] for name in RUN_KEYS} for run in content["runs"]]
    return {**{name: content[name] for name in MODEL_KEYS}, "runs": runs}


def highest_rate_per_partition(content: Mapping[str, Any]) -> float:
    """Return the highest rate per source partition at which a benchmark run kept up with its input."""
    return float(max(row["rate"] / row["partitions"] for row in content["runs"] if row["kept_up"]))


def _outside(model: CostModel, inputs: Mapping[str, Any], highest: float) -> Iterator[str]:
    for name, (low, high) in model.ranges.items():
        if not low <= inputs[name] <= high:
            value, span = f"{inputs[name]:,.10g} {MODEL_INPUTS[name]}", f"{low:,.10g} to {high:,.10g}"
            yield f"{value} are outside the measured range of {span}"
    per_partition = inputs["rate"] / inputs["partitions"]
    if per_partition > highest:
        yield (
            f"{per_partition:,g} {MODEL_INPUTS['rate_per_partition']} exceed {highest:,g}, the highest rate at which "
            f"a run kept up; use {math.ceil(inputs['rate'] / highest)} source partitions"
        )


def _other_interval(content: Mapping[str, Any], demand: Demand) -> Iterator[str]:
    measured: float = content["conditions"]["interval_seconds"]
    if demand.interval_seconds != measured:
        yield (
            f"no published run used a trigger interval of {demand.interval_seconds:,g} s (all used {measured:g} s), "
            "so the estimated pause does not account for the interval"
        )


def number(text: str) -> float:
    """Parse a number from the command line."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not MIN_NUMBER <= value <= MAX_NUMBER:
        raise argparse.ArgumentTypeError(f"{text[:99]!r} is not a number from {MIN_NUMBER:g} to {MAX_NUMBER:g}")
    return value


NUMBER, COUNT = Argument("N", number), Argument("N", whole_number(1))


@dataclass(frozen=True)
class Options:
    """Options for the `capacity` command."""

    rate: Annotated[float, NUMBER]
    """Records per second in the source. Each query reads all records."""
    record_bytes: Annotated[float, NUMBER] = Demand.record_bytes
    """Record size in bytes. It only determines whether a warning is printed."""
    keys: Annotated[float, NUMBER] = Demand.keys
    """Number of distinct keys in the records."""
    state_keys: Annotated[float | None, NUMBER] = None
    """Number of keys in the state (default: the value of --keys)."""
    interval: Annotated[float, NUMBER] = Demand.interval_seconds
    """Trigger interval in seconds."""
    queries: Annotated[int, COUNT] = Demand.queries
    """Number of queries with this load."""
    partitions: Annotated[int | None, COUNT] = None
    """Number of source partitions (default: as few as possible)."""
    price: Annotated[float | None, Argument("P", number)] = None
    """Price of a core per hour."""
    measured: Annotated[Path | None, Argument("FILE")] = None
    """JSON file that `make bench-growth` wrote (default: the published runs)."""


def run(options: Options) -> int:
    """Print the resources that the queries need, and warn about inputs outside the measured range."""
    path = options.measured or PUBLISHED
    if not path.is_file():
        problem = "is not a file" if path.exists() else "does not exist"
        raise UsageError(
            f"{path} {problem}, so there is no cost model; create the file with `{COMMAND}`, which takes about an hour"
        )
    state_keys = max(options.state_keys or 0, options.keys)
    given = {**vars(options), "interval_seconds": options.interval, "state_keys": state_keys}
    demand = Demand(**{field.name: given[field.name] for field in fields(Demand)})
    try:
        content = _content(path)
        needed = capacity(content, demand)
        lines = [f"{name:18}{value}" for name, value in _lines(content, demand, needed, options.price)]
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        problem = f"{path} is not a JSON file from `{COMMAND}` ({type(error).__name__}: {str(error)[:99]})"
        raise UsageError(f"{problem}, so nothing was estimated; create the file again") from error
    print("\n".join(map(printable, lines)))
    for sentence in needed.outside:
        print(f"warning: {printable(sentence)}", file=sys.stderr)
    return 0


def _content(path: Path) -> Any:
    if path.stat().st_size > MAX_BYTES:
        raise ValueError(f"it has more than {MAX_BYTES:,} bytes")
    return json.loads(path.read_bytes())


def _lines(
    content: Mapping[str, Any], demand: Demand, needed: Capacity, price: float | None
) -> Iterator[tuple[str, str]]:
    # The model's error is unknown outside the measured range.
    known_errors = () if needed.outside else content["errors"]
    errors = {
        row["quantity"]: f" (largest error in {row['points']} runs that were not fitted: {row['max_error']:.0%})"
        for row in known_errors
    }
    yield "source partitions", f"{needed.partitions:,}"
    tasks = f"{needed.partitions:,} source + {needed.partitions:,} state"
    yield "task slots", f"{needed.slots:,} = {demand.queries} x ({tasks})"
    yield "busy cores", f"{needed.busy_cores:,.2f}{errors.get('busy_cores', '')}"
    yield "memory", f"{needed.memory_mb:,.0f} MB{errors.get('memory_mb', '')}"
    share = needed.pause_ms / (1000 * demand.interval_seconds)
    yield "pause", f"{needed.pause_ms:,.0f} ms, {share:.2%} of the time{errors.get('pause_ms', '')}"
    yield "replay", f"about {needed.replay_records:,.0f} records after a restart, if the queries keep up"
    yield "CPU s", f"{needed.cpu_seconds_per_million:,.0f} per million records"
    if price is not None:
        cost = needed.cpu_seconds_per_million / 3600 * price
        yield "price", f"{cost:,.4g} per million records, if no core is idle"
    known = content["conditions"]
    yield "measured", f"{known['date']} on {known['cores']} cores, PySpark {known['pyspark']}"


COMMANDS = [
    Command(
        "capacity",
        "estimate the resources that a query needs at a record rate",
        Options,
        run,
        {
            "capacity --rate 2000 --keys 100000 --interval 7": "estimate the resources of an aggregation",
            "capacity --rate 2000 --interval 7 --price 0.05": "also estimate the cost of the busy cores",
        },
        DESCRIPTION,
    )
]
