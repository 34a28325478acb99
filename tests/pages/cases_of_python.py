from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf, pandas_udf
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from tests.pages.operator_probe import OperatorProbe
from tests.pages.outcomes import fails, together

NO_ARROW = "while running: not in allowlist: `ArrowEvalPythonExec`"
NO_PROCESSOR = "while running: `STDS_FAILED_TO_READ_OPERATOR_METADATA`"
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


PYTHON = (
    fails("`udf`", NO_ARROW, lambda b: b.rows().select(F.udf(str.upper)("k"))),
    fails(
        "`udf(useArrow=False)`",
        "while running: not in allowlist: `BatchEvalPythonExec`",
        lambda b: b.rows().select(F.udf(str.upper, useArrow=False)("k")),
    ),
    together(
        fails("`pandas_udf`", NO_ARROW, lambda b: b.rows().select(_pandas_function(_identity_series, "int")("n"))),
        fails("`arrow_udf`", NO_ARROW, lambda b: b.rows().select(_arrow_function(_identity_array, "int")("n"))),
    ),
    fails("`udtf`", "while running: not in allowlist: `ArrowEvalPythonUDTFExec`", _table_function),
    fails(
        "`mapInPandas`",
        "while running: not in allowlist: `MapInPandasExec`",
        lambda b: b.rows().mapInPandas(_identity, COLUMNS),
    ),
    fails(
        "`mapInArrow`",
        "while running: not in allowlist: `MapInArrowExec`",
        lambda b: b.rows().mapInArrow(_identity, COLUMNS),
    ),
    fails(
        "`groupBy(k).applyInPandas`",
        "while running: not in allowlist: `SortExec`, `FlatMapGroupsInPandasExec`",
        lambda b: b.rows().groupBy("k").applyInPandas(lambda frame: frame, COLUMNS),
    ),
    fails(
        "`applyInPandasWithState`",
        "while running: not in allowlist: `SortExec`, `FlatMapGroupsInPandasWithStateExec`",
        _pandas_state,
    ),
    fails(
        "`transformWithState` in Python",
        NO_PROCESSOR,
        lambda b: b.rows().groupBy("k").transformWithState(_Silent(), COLUMNS, "Update", "None"),
    ),
    fails(
        "`transformWithStateInPandas`",
        NO_PROCESSOR,
        lambda b: b.rows().groupBy("k").transformWithStateInPandas(_Silent(), COLUMNS, "Update", "None"),
    ),
)
