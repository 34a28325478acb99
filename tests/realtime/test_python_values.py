import json
from contextlib import suppress
from datetime import UTC, date
from decimal import Decimal
from itertools import product
from typing import Any, cast

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.streaming import stateful_processor_api_client as client

from spark_rtm.realtime.python_state import transform_with_state, with_python
from spark_rtm.realtime.python_state.values import writer
from spark_rtm.realtime.queries import QueryFailedError, stop_completely, wait_until
from tests.realtime.python_query import DEADLINE_SECONDS, PythonQuery
from tests.realtime.python_values import (
    COLUMNS,
    MOMENT,
    PAIRS,
    RESULTS,
    STATE,
    TYPES,
    Writing,
    by_micro_batch_mode,
    by_real_time_mode,
    is_lost,
    state_of,
    written,
)

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(400)]

Observed = tuple[dict[str, str], str]
STEPS = "key string, step long"
KEYS = [f"{shape} {number}" for shape in ("plain", "deep") for number, _ in enumerate(PAIRS)]
NUMBER = next(number for number, (column, value) in enumerate(PAIRS) if column == 6 and value == "a")
UNCHECKED = {"key": f"deep {NUMBER}", "step": 2}
RESULT_COUNT = sum(1 + (written(key)[0] in STATE.names) for key in KEYS)
ROWS = [{"key": key, "step": step} for key in KEYS for step in (0, 1)]


def without_state(spark: SparkSession) -> frozenset[str]:
    """Return the pairs for which the update of the state ends a query in micro-batch mode."""
    jvm, api = cast("Any", spark)._jvm, cast("Any", client)  # noqa: SLF001 - the functions of Spark's state server
    utils, encoders = jvm.org.apache.spark.sql.api.python.PythonSQLUtils, jvm.org.apache.spark.sql.catalyst.encoders
    schema = jvm.org.apache.spark.sql.types.DataType.fromJson(STATE.json())
    encoder = encoders.ExpressionEncoder.apply(schema)
    defaults = (getattr(encoder, f"resolveAndBind$default${number}")() for number in (1, 2))
    decode, pickler = encoder.resolveAndBind(*defaults).createDeserializer(), api.PickleSerializer()
    api._load_numpy()  # noqa: SLF001 - see above

    def fails(pair: str) -> bool:
        try:
            values = tuple(map(api._normalize_state_value, state_of(pair)))  # noqa: SLF001 - see above
            utils.toJVMRow(pickler.dumps(STATE.toInternal(values)), schema, decode)
        except Exception:  # noqa: BLE001 - Python and the JVM raise several types
            return True
        return False

    return frozenset(filter(fails, KEYS))


def outcomes(results: list[str]) -> dict[str, str]:
    rows = [json.loads(result) for result in results]
    return {row.pop("pair"): row.pop("text", None) or json.dumps(row) for row in rows}


def of(kind: str, found: dict[str, str]) -> dict[str, str]:
    return {pair: outcome for pair, outcome in found.items() if pair.startswith(kind)}


@pytest.fixture(scope="module")
def micro_batch(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("values")
    folder.joinpath("in.json").write_text("\n".join(map(json.dumps, ROWS)))
    rows = spark.readStream.schema(STEPS).json(f"{folder}/in*")
    processor = Writing(by_micro_batch_mode, without_state(spark))
    results = rows.groupBy("key").transformWithState(processor, RESULTS, "update", "processingTime")
    writer = results.select(F.to_json(F.struct("*")).alias("value")).writeStream.format("text")
    query = writer.option("checkpointLocation", f"{folder}/checkpoint").start(f"{folder}/out")
    wait_until(lambda: any(one.numInputRows for one in query.recentProgress), DEADLINE_SECONDS, "a batch", [query])
    stop_completely(spark, query)
    return outcomes([row.value for row in spark.read.text(f"{folder}/out").collect()])


@pytest.fixture(scope="module")
def observed(spark: SparkSession, kafka: str, tmp_path_factory: pytest.TempPathFactory) -> Observed:
    """Return the outcomes in real-time mode, and the error for the row that does not check its result."""

    def transform(rows: DataFrame, _: DataFrame) -> DataFrame:
        return transform_with_state(rows, ["key"], Writing(by_real_time_mode, frozenset()), RESULTS)

    query = PythonQuery(spark, kafka, tmp_path_factory.mktemp("values") / "checkpoint", STEPS, transform)
    query.send(*ROWS)
    query.start("5 minutes")
    results = query.await_results(lambda results: len(results) >= RESULT_COUNT)
    query.send(UNCHECKED)
    with pytest.raises(QueryFailedError) as failed:
        query.await_results(lambda _: False)
    return outcomes(list(map(json.dumps, results))), str(failed.value.__cause__)


def test_results_are_those_of_micro_batch_mode(micro_batch: dict[str, str], observed: Observed) -> None:
    expected = of("result", micro_batch)

    assert expected == of("result", observed[0])
    refused = sum(outcome == "refused" for outcome in expected.values())
    assert min(refused, len(expected) - refused) >= 400


def test_state_keeps_a_value_or_refuses_it(micro_batch: dict[str, str], observed: Observed) -> None:
    """Micro-batch mode stores some values as NULL or as a different value; real-time mode rejects these values."""

    def expected(pair: str, stored: str) -> str:
        column, value = PAIRS[int(pair.split(" ")[2])]
        return "refused" if stored == "refused" or is_lost(COLUMNS[2 * column].dataType, value, stored) else stored

    wanted = {pair: expected(pair, stored) for pair, stored in of("state", micro_batch).items()}

    assert wanted == of("state", observed[0])
    refused = sum(outcome == "refused" for outcome in wanted.values())
    assert min(refused, len(wanted) - refused) >= 300


def test_an_error_names_key_column_and_value(observed: Observed) -> None:
    assert f"the Python code failed for the key ({UNCHECKED['key']!r},) with TypeError" in observed[1]
    assert "result, column deep6[0]['k'].a: the type double cannot store 'a' (str)" in observed[1]


def test_checkpoints_of_older_code_continue() -> None:
    """State has always been written in the form of PySpark's `toInternal`."""
    values = (1, True, 1.5, Decimal("2.00"), b"a", date(2020, 1, 2), MOMENT, MOMENT.replace(tzinfo=UTC))
    written = []
    for data_type, value in product([kind for kind in TYPES if not isinstance(kind, T.StringType)], values):
        schema = T.StructType().add("a", T.MapType(T.StringType(), T.ArrayType(data_type)))
        with suppress(TypeError):
            written.append((schema, ({"k": [value]},), writer(schema, "state", is_state=True)(({"k": [value]},))))

    assert 17 == len(written)
    assert [internal for *_, internal in written] == [schema.toInternal(value) for schema, value, _ in written]


def test_state_has_positions_and_names_the_wrong_one() -> None:
    state = writer(T.StructType().add("a", "long").add("b", "string"), "owner", is_state=True)

    assert (1, "x") == state(Row(a=1, b="x")) == state([1, "x"])
    with pytest.raises(TypeError, match=r"column a: the type bigint cannot store 'x'"):
        state(Row(b="x", a=1))
    with pytest.raises(TypeError, match=r"has the columns a, b, but the value is \(1,\)"):
        state((1,))


@pytest.mark.parametrize("data_type", [T.YearMonthIntervalType(), T.VarcharType(3), T.VariantType()])
def test_type_without_python_values_is_refused_at_the_start(spark: SparkSession, data_type: T.DataType) -> None:
    with pytest.raises(TypeError, match=r"cannot write the type .* to results"):
        with_python(spark.range(1), dict, T.StructType().add("a", T.ArrayType(data_type)))
