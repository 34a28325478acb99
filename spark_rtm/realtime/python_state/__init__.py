"""
Run a Python `StatefulProcessor` or row function in the real-time mode of open-source Spark 4.3.

A Scala processor (`python_state.scala`) passes each row to a Python process over a socket, and applies the returned
changes to Spark's state. Spark's Python worker pool starts, reuses and ends the processes. The same processor class
runs in micro-batch mode, but each checkpoint works only in the mode that wrote it.

This module works only with Spark 4.3, because the pool is private to Spark.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, TimerValues
from pyspark.sql.types import BinaryType, StructType

from .values import writer
from .worker import State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

SCALA = Path(__file__).with_name("python_state.scala")
TICK = "_tick"
"""Name of the column that is true in rows from `ticks`."""
CANDIDATES = 50


def transform_with_state(
    rows: DataFrame,
    keys: Sequence[str],
    processor: StatefulProcessor,
    schema: StructType | str,
    ticks: DataFrame | None = None,
    initial: DataFrame | None = None,
) -> DataFrame:
    """
    Run `rows.groupBy(*keys).transformWithState(processor, schema, "update", "processingTime")` in real-time mode.

    Each row of `ticks` fires the due timers of all keys. Without ticks, a due timer fires after the next row of its
    state partition. The processor gets one row per call. The first batch of a new checkpoint calls `handleInitialState`
    for each row of `initial`, a static DataFrame that contains the `keys` columns. With ticks, the query fails if the
    checkpoint and the session have different numbers of state partitions.
    """
    handle, output = DeclaringHandle(), _struct(schema)
    pickle.loads(_pickled(processor)).init(handle)
    key_schema = rows.select(*keys).schema
    work = (processor, handle.states, rows.schema, key_schema, initial.schema if initial else None, output)
    tick_partitions = 0
    if ticks is not None:
        rows, tick_partitions = with_ticks(rows, keys, ticks), _partitions(rows)
    return _in_scala("transformWithState", rows, work, list(keys), initial, tick_partitions=tick_partitions)


def with_python(rows: DataFrame, function: Callable[[Row], Any], schema: StructType | str) -> DataFrame:
    """Map each row to the `Row` or dictionary that `function` returns. None removes the row."""
    return _in_scala("map", rows, (_Function(function), [], rows.schema, StructType(), None, _struct(schema)), [])


def with_ticks(rows: DataFrame, keys: Sequence[str], ticks: DataFrame) -> DataFrame:
    """For each row of `ticks`, add a row to every state partition. Only its keys and `TICK` column have values."""
    each = F.array(*(F.struct(*columns) for columns in _tick_keys(rows, rows.select(*keys).schema)))
    ticking = ticks.select(F.explode(each).alias("key")).select("key.*", F.lit(True).alias(TICK))
    return rows.unionByName(ticking, allowMissingColumns=True)


class _Function(StatefulProcessor):
    """Adapter that makes a function a stateless processor."""

    def __init__(self, function: Callable[[Row], Any]) -> None:
        self._function = function

    def init(self, handle: Any) -> None:
        """Do nothing."""

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:  # noqa: ARG002, N802, N803
        return (result for row in rows if (result := self._function(row)) is not None)

    def close(self) -> None:
        """Do nothing."""


def _pickled(value: Any) -> bytes:
    return bytes(cloudpickle.dumps(value))  # type: ignore[no-untyped-call]


def _struct(schema: StructType | str) -> StructType:
    parsed: Any = StructType.fromDDL(schema) if isinstance(schema, str) else schema
    return parsed if isinstance(parsed, StructType) else StructType().add("value", parsed)


def _in_scala(
    method: str,
    rows: DataFrame,
    work: tuple[Any, ...],
    keys: list[str],
    initial: DataFrame | None = None,
    *,
    tick_partitions: int = 0,
) -> DataFrame:
    """Call a method of the Scala object with the processor's setup and the pickled work for its Python processes."""
    spark = rows.sparkSession
    context, states, output = spark.sparkContext, work[1], work[-1]
    jvm: Any = spark._jvm  # noqa: SLF001 - PySpark has no public API for classes of a jar
    scala = jvm.org.apache.spark.rtm.PythonState
    # For the name of a missing class, Py4J returns a package.
    if isinstance(scala, type(jvm.org)):
        raise RuntimeError(  # noqa: TRY004 - not an argument's type
            f"this session does not have the classes of {SCALA.name}, so it cannot run Python in real-time mode; start "
            "it with `spark_rtm.services.spark.build_session`, or run `python -m spark_rtm.services control` "
            "and add the printed path to `spark.jars`"
        )
    writer(output, "result", is_state=False)
    for state in states:
        for schema in filter(None, (state.schema, state.key_schema)):
            writer(schema, f"state variable {state.name!r}", is_state=True)
    described = [
        (state.kind, state.name, state.schema.json(), state.key_schema and state.key_schema.json(), state.ttl_ms)
        for state in states
    ]
    archives = context._python_includes  # noqa: SLF001 - the files of --py-files
    process = (__name__, list(archives or ()))
    setup = (context.pythonExec, dict(context.environment), output.json(), keys, described, tick_partitions, *process)
    frames = [frame and frame._jdf for frame in ((rows, initial) if keys else (rows,))]  # noqa: SLF001 - Scala needs it
    return DataFrame(getattr(scala, method)(*frames, pickle.dumps(setup), _pickled(work)), spark)


def _partitions(rows: DataFrame) -> int:
    return int(str(rows.sparkSession.conf.get("spark.sql.shuffle.partitions")))


def _tick_keys(rows: DataFrame, key_schema: StructType) -> list[list[Any]]:
    """Return one key per state partition, found by hashing many candidate keys."""
    spark, partitions = rows.sparkSession, _partitions(rows)

    def key(number: Column) -> list[Column]:
        # Spark cannot cast numbers to binary, the type of Kafka keys.
        binary = number.cast("string").cast("binary")
        types = [(field.name, field.dataType) for field in key_schema]
        return [(binary if of == BinaryType() else number.cast(of)).alias(name) for name, of in types]

    found = (
        spark.range(0, CANDIDATES * partitions, 1, 1)
        .select("id", F.pmod(F.hash(*key(F.col("id"))), F.lit(partitions)).alias("partition"))
        .groupBy("partition")
        .agg(F.min("id").alias("id"))
        .collect()
    )
    if len(found) < partitions:
        types = ", ".join(field.dataType.simpleString() for field in key_schema)
        raise ValueError(
            f"{partitions - len(found)} of {partitions} state partitions would receive no ticks, because the key "
            f"type {types} has too few values; use string keys"
        )
    return [key(F.lit(row.id)) for row in found]


class DeclaringHandle:
    """The driver's handle, which records a processor's state variables."""

    def __init__(self) -> None:
        self.states: list[State] = []

    def getValueState(self, stateName: str, schema: StructType | str, ttlDurationMs: int | None = None) -> None:  # noqa: D102, N802, N803
        self.states.append(State("value", stateName, _struct(schema), None, ttlDurationMs))

    def getListState(self, stateName: str, schema: StructType | str, ttlDurationMs: int | None = None) -> None:  # noqa: D102, N802, N803
        self.states.append(State("list", stateName, _struct(schema), None, ttlDurationMs))

    def getMapState(  # noqa: D102, N802
        self,
        stateName: str,  # noqa: N803
        userKeySchema: StructType | str,  # noqa: N803
        valueSchema: StructType | str,  # noqa: N803
        ttlDurationMs: int | None = None,  # noqa: N803
    ) -> None:
        self.states.append(State("map", stateName, _struct(valueSchema), _struct(userKeySchema), ttlDurationMs))
