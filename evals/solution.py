"""
Call an assistant's code in a separate process, which shares only the JVM and Kafka with the runner.

The runner keeps the verifier and the verdict, so the code can neither change them nor stop or delay the runner. Run
as a program, this module is the separate process.
"""

import contextlib
import json
import os
import runpy
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from py4j.java_gateway import JavaObject
from pyspark import SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from evals.processes import adopt_orphans, kill_processes
from evals.stage import WrongAnswerError

SOLUTION = "solution.py"
ENTRY = "transform"
TIME_LIMIT_SECONDS = 60.0
MAX_LINE = 100_000
PREFIX = "evals-"
FRAME, SESSION, QUERY = "frame", "session", "query"


class Solution:
    """The function `transform` of a file, callable in this process."""

    def __init__(self, process: "subprocess.Popen[str]", seconds: float) -> None:
        assert process.stdin
        assert process.stdout
        self._requests, self._answers, self._seconds = process.stdin, process.stdout, seconds

    def load(self) -> None:
        """Wait until the process has run the file."""
        self._answer()

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the function in its process, and return its DataFrame or query."""
        session = next(a if isinstance(a, SparkSession) else a.sparkSession for a in arguments)
        request = {
            "arguments": [_passed(session, argument) for argument in arguments],
            "named": {name: _passed(session, argument) for name, argument in named.items()},
        }
        with contextlib.suppress(BrokenPipeError):
            self._requests.write(json.dumps(request) + "\n")
            self._requests.flush()
        kind = self._answer()["kind"]
        result = objects_of(session).remove(f"{PREFIX}result")
        if not isinstance(result, JavaObject):
            raise WrongAnswerError(f"{ENTRY} returned no DataFrame")
        return StreamingQuery(result) if kind == QUERY else DataFrame(result, session)

    def _answer(self) -> dict[str, Any]:
        lines = list[str]()
        # A process that has inherited the pipe can keep it open.
        reader = threading.Thread(target=lambda: lines.append(self._answers.readline(MAX_LINE)), daemon=True)
        reader.start()
        reader.join(self._seconds)
        if not any(lines):
            end = "ended its process" if lines else f"was still running after {self._seconds:g} s"
            raise WrongAnswerError(f"{SOLUTION} {end}")
        try:
            answer: dict[str, Any] = json.loads(lines[0])
        except ValueError:
            raise WrongAnswerError(
                f"{SOLUTION} wrote to the pipe reserved for responses, so its response is not JSON"
            ) from None
        if "error" in answer:
            raise WrongAnswerError(str(answer["error"]))
        return answer


@contextlib.contextmanager
def solution(path: Path, seconds: float = TIME_LIMIT_SECONDS) -> Iterator[Solution]:
    """Yield the solution of a file. Each step has a time limit, and the processes stop at the end of the block."""
    gateway: Any = SparkContext._gateway  # noqa: SLF001 - PySpark has no public gateway
    parameters = gateway.java_parameters
    env = {
        **os.environ,
        "PYSPARK_GATEWAY_PORT": str(parameters.port),
        "PYSPARK_GATEWAY_SECRET": parameters.auth_token,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    command = [sys.executable, "-m", "evals.solution", str(path)]
    others = adopt_orphans()
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, env=env, cwd=path.parent, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            yield Solution(process, seconds)
        finally:
            kill_processes(others)


def objects_of(session: SparkSession) -> Any:
    """Return a table of JVM objects that all processes share."""
    # Java's table of system properties can hold any object, and both processes can reach it.
    return session._jvm.java.lang.System.getProperties()  # type: ignore[union-attr]  # noqa: SLF001 - not public


def _passed(session: SparkSession, argument: Any) -> dict[str, Any]:
    if isinstance(argument, str):
        return {"text": argument}
    kind, java = (FRAME, argument._jdf) if isinstance(argument, DataFrame) else (SESSION, argument._jsparkSession)  # noqa: SLF001
    name = f"{PREFIX}{id(argument)}"
    objects_of(session).put(name, java)
    return {"kind": kind, "name": name}


def _serve(path: Path) -> None:
    """Run the file, and call its function for each request on standard input."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of the code

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
