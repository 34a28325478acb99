"""
What real-time mode of OSS 4.3.0 does with Python code on the path of the rows.

Cases leave, one for each row of the table of Python code.
Real-time mode demands that rows stay in the JVM: it refuses all of it.
"""

from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import pandas_udf
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from tests.pages.bench import Bench
from tests.pages.outcomes import fails

NO_ARROW = "later: not allowed: `ArrowEvalPythonExec`"
NO_PROCESSOR = "later: `STDS_FAILED_TO_READ_OPERATOR_METADATA`"
COLUMNS = "k string, n int"
# Its hints know no name of a type.
_pandas_function: Any = pandas_udf


class _Silent(StatefulProcessor):
    """A processor that keeps and says nothing."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Need no state."""

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: ARG002, N802, N803
        """Drop all rows."""
        return iter(())


class _Twice:
    def eval(self, n: int) -> Iterator[tuple[int]]:
        yield (2 * n,)


def _same(frames: Iterator[Any]) -> Iterator[Any]:
    return frames


def _same_numbers(numbers: pd.Series) -> pd.Series:
    return numbers


def _table_function(bench: Bench) -> DataFrame:
    function: Any = F.udtf(_Twice, returnType="m int")
    bench.spark.udtf.register("twice", function)
    return bench.sql("select k, m from rows, lateral twice(n)")


def _pandas_state(bench: Bench) -> DataFrame:
    def count(key: Any, frames: Any, state: Any) -> Iterator[pd.DataFrame]:
        return iter(())

    return bench.rows().groupBy("k").applyInPandasWithState(count, COLUMNS, "n int", "update", "NoTimeout")


PYTHON = (
    fails("`udf`", NO_ARROW, lambda b: b.rows().select(F.udf(str.upper)("k"))),
    fails(
        "`udf(useArrow=False)`",
        "later: not allowed: `BatchEvalPythonExec`",
        lambda b: b.rows().select(F.udf(str.upper, useArrow=False)("k")),
    ),
    fails(
        "`pandas_udf`, `arrow_udf`", NO_ARROW, lambda b: b.rows().select(_pandas_function(_same_numbers, "int")("n"))
    ),
    fails("`udtf`", "later: not allowed: `ArrowEvalPythonUDTFExec`", _table_function),
    fails("`mapInPandas`", "later: not allowed: `MapInPandasExec`", lambda b: b.rows().mapInPandas(_same, COLUMNS)),
    fails("`mapInArrow`", "later: not allowed: `MapInArrowExec`", lambda b: b.rows().mapInArrow(_same, COLUMNS)),
    fails(
        "`groupBy(k).applyInPandas`",
        "later: not allowed: `SortExec`, `FlatMapGroupsInPandasExec`",
        lambda b: b.rows().groupBy("k").applyInPandas(lambda frame: frame, COLUMNS),
    ),
    fails(
        "`applyInPandasWithState`",
        "later: not allowed: `SortExec`, `FlatMapGroupsInPandasWithStateExec`",
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
