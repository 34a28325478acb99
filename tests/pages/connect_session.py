"""
Call each function of `spark_rtm.realtime` that takes a session, rows or a query, in any kind of session.

As a program, run queries through a Spark Connect server, and print what the client sees, as JSON. The arguments are the
addresses of the server and of a broker.
"""

import inspect
import json
import pkgutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import TestCase

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from spark_rtm import realtime
from spark_rtm.realtime import (
    control,
    decoding,
    exactly_once,
    joins,
    keeper,
    latency,
    proof,
    python_state,
    queries,
    slots,
    warm_up,
)
from spark_rtm.realtime.queries import QueryFailedError
from tests.helpers import eventually, kafka_rows, new_topic, produce, start_to_kafka, texts_of

RUNS = "runs"
SPARK_TYPES = ("SparkSession", "DataFrame", "StreamingQuery")
WITHIN_KEEP = {"standby.leading"}


def public_functions() -> Iterator[str]:
    for module in pkgutil.iter_modules(realtime.__path__):
        content = import_module(f"{realtime.__name__}.{module.name}")
        for name, function in inspect.getmembers(content, inspect.isfunction):
            types, full = str(inspect.get_annotations(function)), f"{module.name}.{name}"
            is_own = function.__module__ == content.__name__ and not name.startswith("_")
            if is_own and full not in WITHIN_KEEP and any(each in types for each in SPARK_TYPES):
                yield full


def outcomes(calls: Mapping[str, Callable[[], object]]) -> dict[str, str]:
    found = dict.fromkeys(calls, RUNS)
    for name, call in calls.items():
        try:
            call()
        except Exception as error:  # noqa: BLE001 - the test compares any exception
            found[name] = type(error).__name__
    return found


def calls(session: SparkSession, servers: str, folder: Path) -> dict[str, Callable[[], object]]:
    """Return a call of each function, in an order in which no call stops the query of a later one."""
    source, target, silent = (new_topic(servers, 1) for _ in range(3))
    rows = kafka_rows(session, servers, source, control.source_format())
    keyed, empty = rows.select("value"), kafka_rows(session, servers, silent)
    produce(servers, source, [(0, b"a")])
    query = start_to_kafka(keyed, servers, folder / "query", "5 minutes", topic=target)
    drained = start_to_kafka(keyed, servers, folder / "drained", topic=target)
    side = rows.select(F.col("value").alias("key"), F.col("timestamp").alias("at"), F.col("value").alias("row"))
    parsed = decoding.parse(rows, StructType(), "event").withColumn("reason", F.lit(None).cast("string"))
    columns: dict[str, Any] = {name: F.col(name) for name in ("key", "value")}
    any_processor = python_state._Function(str)  # noqa: SLF001
    (folder / "offsets").mkdir(parents=True)
    refusal = f"checkpoint location {folder}/offsets should be empty"
    return {
        "control.obeys": lambda: control.obeys(query),
        "control.commit": lambda: control.commit(query),
        "control.drain": lambda: control.drain(query),
        "control.stagger": lambda: _staggered(query),
        "decoding.parse": lambda: parsed.schema,
        "decoding.route": lambda: decoding.route(parsed, "t", kept_headers=F.array(), topic="u", **columns).schema,
        "exactly_once.to_kafka": lambda: exactly_once.to_kafka(
            keyed, transactional_prefix="p", checkpoint="c", topic=target, options={"kafka.bootstrap.servers": servers}
        ),
        "joins.inner_join": lambda: joins.inner_join(side, side, joins.TimeBound(1, 1)).schema,
        "keeper.keep": lambda: keeper.keep(session, {}, stop=threading.Event()),
        "latency.with_latency": lambda: latency.with_latency(rows).schema,
        "proof.assert_real_time": lambda: proof.assert_real_time(query),
        "proof.plan_of_frame": lambda: proof.plan_of_frame(rows),
        "proof.plan_of_query": lambda: proof.plan_of_query(query),
        "python_state.transform_with_state": lambda: python_state.transform_with_state(
            keyed, ["value"], any_processor, "value binary"
        ),
        "python_state.with_python": lambda: python_state.with_python(keyed, str, "value binary"),
        "python_state.with_ticks": lambda: python_state.with_ticks(keyed, ["value"], rows),
        "queries.clear_first_commit": lambda: queries.clear_first_commit(session, refusal),
        "queries.has_tasks": lambda: queries.has_tasks(session, query),
        "queries.raise_if_failed": lambda: queries.raise_if_failed([query]),
        "queries.wait_until": lambda: queries.wait_until(lambda: query.isActive, 1, "a query", [query]),
        "slots.preflight": lambda: slots.preflight(session, {"rows": (rows, 1)}),
        "slots.slots_free": lambda: slots.slots_free(session),
        "slots.slots_needed": lambda: slots.slots_needed(rows, 1),
        "slots.slots_total": lambda: slots.slots_total(session),
        "warm_up.warm_up": lambda: warm_up.warm_up(
            session, lambda path, _: [start_to_kafka(empty, servers, path / "empty", topic=source)], 1, folder
        ),
        "warm_up.warm_up_silently": lambda: warm_up.warm_up_silently(session, lambda _: {}, folder),
        "queries.drain": lambda: queries.drain(session, drained, 60),
        "control.stop": lambda: control.stop(query),
        "control.stop_all": lambda: control.stop_all(session, [query]),
        "queries.stop_completely": lambda: queries.stop_completely(session, query),
    }


def _staggered(query: StreamingQuery) -> None:
    """Commit once. A refused commit is only a warning."""
    stop, commits = threading.Event(), iter([1, 2])

    def last_commit() -> int:
        if not (number := next(commits, 0)):
            stop.set()
        return number

    with TestCase().assertNoLogs(control.LOG):
        control.stagger(query, last_commit, 0, stop)


def seen_by_the_client(server: str, servers: str) -> dict[str, Any]:
    session = SparkSession.builder.remote(server).config("spark.sql.shuffle.partitions", "1").getOrCreate()
    source = new_topic(servers, 1)
    produce(servers, source, [(0, b"a"), (0, b"a")])
    rows = kafka_rows(session, servers, source)
    counts = rows.groupBy("value").count().select(F.col("count").cast("string").alias("value"))
    udf = F.udf(lambda value: value.upper())

    def start(stream: DataFrame, interval: str = "5 minutes", sink: str = "kafka") -> tuple[str, Any]:
        target = new_topic(servers, 1)
        writer = stream.writeStream.format(sink).option("kafka.bootstrap.servers", servers).outputMode("update")
        return target, writer.options(checkpointLocation=target, topic=target).trigger(realTime=interval).start()  # type: ignore[call-overload]

    started = start(rows.select("value")), start(counts, "5 seconds"), start(rows.select(udf("value").alias("value")))
    (copied, copy), (counted, counter), (_, refused) = started
    for target, query in started[:2]:
        queries.wait_until(lambda: len(texts_of(servers, target)) == 2, 60, "two results", [query])  # noqa: B023
    queries.wait_until(lambda: counter.lastProgress, 60, "a batch", [counter])
    eventually(refused.exception, 60, "a refusal")
    append = rows.writeStream.format("console")
    return {
        "copied": texts_of(servers, copied),
        "counted": texts_of(servers, counted),
        "progress of the open batch": copy.lastProgress,
        "rows in progress": counter.lastProgress["numInputRows"],
        "append": _raised(lambda: append.trigger(realTime="5 minutes").start()),  # type: ignore[call-overload]
        "noop": _raised(lambda: start(rows, sink="noop")),
        "udf": _raised(lambda: queries.raise_if_failed([refused])),
        "sparkContext": _raised(lambda: session.sparkContext),
        "source_format": control.source_format(),
        "commit": _raised(lambda: control.commit(copy)),
        "keep": _raised(lambda: keeper.keep(session, {})),
        "helpers": outcomes(calls(session, servers, Path(tempfile.mkdtemp()))),
        "spark.app.name": session.conf.get("spark.app.name"),
        "spark.app.password": _raised(lambda: session.conf.get("spark.app.password")),
    }


def _raised(call: Callable[[], object]) -> str:
    try:
        return f"nothing: {call()}"
    except QueryFailedError as error:
        return f"QueryFailedError {error.condition}"
    except RuntimeError as error:
        return str(error).partition(";")[0]
    except Exception as error:  # noqa: BLE001 - the test compares any exception
        condition = getattr(error, "getCondition", lambda: None)()
        return f"{type(error).__module__}.{type(error).__name__} {condition}"


if __name__ == "__main__":
    print(f"=> {json.dumps(seen_by_the_client(*sys.argv[1:]))}")
