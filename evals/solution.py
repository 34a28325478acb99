"""
Call an assistant's code in a separate process, which shares only the JVM and Kafka with the runner.

The runner keeps the verifier and the verdict, so the code can neither change them nor end or delay the runner.
"""

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from py4j.java_gateway import JavaObject
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from evals.stage import WrongAnswerError
from spark_rtm.prove.subjects.bench import adopt_orphans, kill_processes

SOLUTION = "solution.py"
ENTRY = "transform"
TIME_LIMIT_SECONDS = 60.0
MAX_LINE = 100_000
PREFIX = "evals-"
FRAME, SESSION, QUERY = "frame", "session", "query"


class Solution:
    """The function `transform` of a file, callable in this process."""

    def __init__(self, process: "subprocess.Popen[str]", seconds: float) -> None:
        self._process, self._seconds = process, seconds

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
            self._input.write(json.dumps(request) + "\n")
            self._input.flush()
        kind = self._answer()["kind"]
        result = objects_of(session).remove(f"{PREFIX}result")
        if not isinstance(result, JavaObject):
            raise WrongAnswerError(f"{ENTRY} returned no DataFrame")
        return StreamingQuery(result) if kind == QUERY else DataFrame(result, session)

    @property
    def _input(self) -> Any:
        return self._process.stdin

    def _answer(self) -> dict[str, Any]:
        output = self._process.stdout
        if output is None:
            raise AssertionError("internal error: the process has no pipe for its answers")
        lines = list[str]()
        # A process that has inherited the pipe can hold it open.
        reader = threading.Thread(target=lambda: lines.append(output.readline(MAX_LINE)), daemon=True)
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
    """Yield the solution of a file. Each step has a time limit, and the processes end with the block."""
    gateway: Any = SparkContext._gateway  # noqa: SLF001 - PySpark has no public gateway
    parameters = gateway.java_parameters
    env = {
        **os.environ,
        "PYSPARK_GATEWAY_PORT": str(parameters.port),
        "PYSPARK_GATEWAY_SECRET": parameters.auth_token,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    command = [sys.executable, "-m", "evals.solution_process", str(path)]
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
