from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf, pandas_udf
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from tests.pages.operator_probe import OperatorProbe
from tests.pages.outcomes import together, writes

COLUMNS = "k string, n int"
# Its type hints do not accept the name of a type.
_pandas_function: Any = pandas_udf
_arrow_function: Any = arrow_udf


class _Silent(StatefulProcessor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        """Create no state."""

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: ARG002, N802, N803
        return iter(())


class _Double:
    def eval(self, n: int) -> Iterator[tuple[int]]:
        yield (2 * n,)


def _identity(frames: Iterator[Any]) -> Iterator[Any]:
    return frames


def _identity_series(numbers: pd.Series) -> pd.Series:
    return numbers


def _identity_array(numbers: pa.Array) -> pa.Array:
    return numbers


def _table_function(probe: OperatorProbe) -> DataFrame:
    function: Any = F.udtf(_Double, returnType="m int")
    probe.spark.udtf.register("doubled", function)
    return probe.sql("select k, m from rows, lateral doubled(n)")


def _pandas_state(probe: OperatorProbe) -> DataFrame:
    def count(key: Any, frames: Any, state: Any) -> Iterator[pd.DataFrame]:
        return iter(())

    return probe.rows().groupBy("k").applyInPandasWithState(count, COLUMNS, "n int", "update", "NoTimeout")


PYTHON = {
    "`udf`": writes(lambda b: b.rows().select(F.udf(str.upper)("k"))),
    "`udf(useArrow=False)`": writes(lambda b: b.rows().select(F.udf(str.upper, useArrow=False)("k"))),
    "`pandas_udf`; `arrow_udf`": together(
        writes(lambda b: b.rows().select(_pandas_function(_identity_series, "int")("n"))),
        writes(lambda b: b.rows().select(_arrow_function(_identity_array, "int")("n"))),
    ),
    "`udtf`": writes(_table_function),
    "`mapInPandas`": writes(lambda b: b.rows().mapInPandas(_identity, COLUMNS)),
    "`mapInArrow`": writes(lambda b: b.rows().mapInArrow(_identity, COLUMNS)),
    "`groupBy(k).applyInPandas`": writes(
        lambda b: b.rows().groupBy("k").applyInPandas(lambda frame: frame, COLUMNS),
    ),
    "`applyInPandasWithState`": writes(_pandas_state),
    "`transformWithState` in Python": writes(
        lambda b: b.rows().groupBy("k").transformWithState(_Silent(), COLUMNS, "Update", "None")
    ),
    "`transformWithStateInPandas`": writes(
        lambda b: b.rows().groupBy("k").transformWithStateInPandas(_Silent(), COLUMNS, "Update", "None")
    ),
}
