"""A Python processor in real-time mode continues on the checkpoint of its earlier code."""

import copy
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle, TimerValues

from spark_rtm.realtime.failures import name_of
from spark_rtm.realtime.python_state import transform_with_state
from spark_rtm.realtime.queries import QueryFailedError, stop_completely
from tests.helpers import eventually, new_topic
from tests.realtime.python_query import DEADLINE_SECONDS, PythonQuery

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(400)]

COUNT = "count int, text string"


class Counting(StatefulProcessor):
    """Reports its state before each row. The first version of the code also sets it."""

    def __init__(self, **variables: str) -> None:
        self._variables, self.is_first = variables, False

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._states = [handle.getValueState(name, schema) for name, schema in self._variables.items()]

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:  # noqa: ARG002, N802, N803
        yield from (Row(report=str([tuple(state.get() or ()) for state in self._states])) for _ in rows)
        if self.is_first:
            self._states[0].update((1, "old"))

    def close(self) -> None:
        pass


def counting(processor: Counting) -> Callable[..., DataFrame]:
    return lambda rows, _: transform_with_state(rows, ["key"], processor, "report string")


REFUSED = "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE"
CHANGES = {
    "code": (Counting(seen=COUNT), "[(1, 'old')]"),
    "variable added": (Counting(seen=COUNT, new="a string"), "[(1, 'old'), ()]"),
    "variable removed": (Counting(), "[]"),
    "variable renamed": (Counting(other=COUNT), "[()]"),
    "type changed": (Counting(seen="count long, text string"), REFUSED),
    "column added": (Counting(seen=f"{COUNT}, more string"), REFUSED),
    "column renamed": (Counting(seen="counted int, text string"), "[(1, 'old')]"),
}


@pytest.fixture(scope="module")
def outcomes(spark: SparkSession, kafka: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("changes")
    first = Counting(seen=COUNT)
    first.is_first = True
    base = PythonQuery(spark, kafka, folder / "old", "key string", counting(first))
    base.start()
    base.send({"key": "k"})
    base.await_results(lambda results: len(results) == 1)
    eventually(lambda: base.query.lastProgress, DEADLINE_SECONDS, "a batch")
    stop_completely(spark, base.query)
    base.send({"key": "k"})
    found = {}
    for change, (processor, _) in CHANGES.items():
        # The copies have the id of the first query, so only one can run.
        shutil.copytree(folder / "old", folder / change)
        query = copy.copy(base)
        query.checkpoint, query.target = folder / change, new_topic(kafka, 1)
        query.transform = counting(processor)
        query.start("5 minutes")
        try:
            found[change] = query.await_results(lambda results: len(results) > 0)[-1]["report"]
        except QueryFailedError as failed:
            found[change] = name_of(failed.__cause__ or failed)
        stop_completely(spark, query.query)
    return found


@pytest.mark.parametrize("change", CHANGES)
def test_change_continues_or_is_refused(outcomes: dict[str, str], change: str) -> None:
    assert CHANGES[change][1] == outcomes[change]
