"""The process of `solution`: run an assistant's file, and call its function for each request."""

import json
import os
import runpy
import sys
from pathlib import Path
from typing import Any

from pyspark import SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from evals.solution import ENTRY, FRAME, PREFIX, QUERY, SESSION, SOLUTION, objects_of


def _serve(path: Path) -> None:
    """Run the file, and call its function for each request on standard input."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the code prints

    def answer(content: dict[str, Any]) -> None:
        answers.write(json.dumps(content) + "\n")
        answers.flush()

    session = _session()
    try:
        transform = runpy.run_path(str(path)).get(ENTRY)
    except BaseException as error:  # noqa: BLE001 - the code of an assistant may raise anything
        return answer({"error": f"{SOLUTION} raises {type(error).__name__}: {error}"})
    if not callable(transform):
        return answer({"error": f"{SOLUTION} does not define {ENTRY}"})
    answer({})
    for line in sys.stdin:
        request = json.loads(line)
        try:
            arguments = [_received(session, each) for each in request["arguments"]]
            result = transform(*arguments, **{name: _received(session, v) for name, v in request["named"].items()})
            is_query = isinstance(result, StreamingQuery)
            java = result._jsq if is_query else result._jdf  # noqa: SLF001 - not public
        except BaseException as error:  # noqa: BLE001 - the code of an assistant may raise anything
            answer({"error": f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"})
            continue
        objects_of(session).put(f"{PREFIX}result", java)
        answer({"kind": QUERY if is_query else FRAME})
    return None


def _session() -> SparkSession:
    gateway = launch_gateway()  # type: ignore[no-untyped-call]
    context = gateway.jvm.org.apache.spark.SparkContext.getOrCreate()
    shared = SparkContext(gateway=gateway, jsc=gateway.jvm.JavaSparkContext.fromSparkContext(context))
    # The first session of a process becomes the default of the JVM, so it must be the current default session.
    return SparkSession(shared, gateway.jvm.org.apache.spark.sql.classic.SparkSession.getDefaultSession().get())


def _received(session: SparkSession, passed: dict[str, Any]) -> Any:
    if "text" in passed:
        return passed["text"]
    java = objects_of(session).remove(passed["name"])
    if passed["kind"] == SESSION:
        return SparkSession(session.sparkContext, java)
    return DataFrame(java, SparkSession(session.sparkContext, java.sparkSession()))


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
