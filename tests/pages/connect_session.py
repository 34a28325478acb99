"""
Run queries through a Spark Connect server, and print what the client sees, as JSON.

The arguments are the addresses of the server and of a broker.
"""

import json
import sys
from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_rtm.realtime import control, keeper, proof, queries, slots
from spark_rtm.realtime.queries import QueryFailedError
from tests.helpers import eventually, kafka_rows, new_topic, produce, texts_of


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
        "preflight": _raised(lambda: slots.preflight(session, {"rows": (rows, 1)})),
        "assert_real_time": _raised(lambda: proof.assert_real_time(copy)),
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
