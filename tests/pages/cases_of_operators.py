"""
Cases for the tables of operators, joins and Python code.

The allowlist applies to the physical plan, so refusals name the nodes of the plan.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import ArrowUDFType, PandasUDFType, arrow_udf, pandas_udf
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from spark_rtm.services.scala import scala_object
from tests.pages.cases_of_sources import ALL
from tests.pages.operator_probe import Observe, OperatorProbe, once, together, writes

FUNCTIONS = Path(__file__).with_name("functions.scala")
NAMED = ("a 1 Ann", "a 1 Ann", "a 4 Ann", "z 9 Zoe")
DISTINCT = ("a 1", "b 2", "a 4", "z 9")
WITHOUT_EQUALITY = "select /*+ broadcast(names) */ rows.k from rows join names on rows.k < names.k"
SUBQUERIES = "select k, (select max(name) from names) from rows where k in (select k from names) and n > 1"


def _stream_stream(*types: str) -> Observe:
    def join(how: str, probe: OperatorProbe) -> DataFrame:
        left, right = probe.timed().alias("l"), probe.timed().alias("r")
        return left.join(right, F.expr("l.k = r.k and l.at = r.at"), how).select("l.k")

    return together(*(writes(partial(join, how)) for how in types))


def _above_the_threshold(probe: OperatorProbe) -> DataFrame:
    probe.spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    return probe.rows().join(F.broadcast(probe.names()), "k")


def _one_name(probe: OperatorProbe) -> DataFrame:
    return probe.names().where("k = 'a'")


def _windows(probe: OperatorProbe, length: str, step: str) -> DataFrame:
    counted = probe.timed().where("n > 3").groupBy("k", F.window("at", length, step)).count()
    return counted.selectExpr("k", "minute(window.start)", "count")


def _java_and_scala(probe: OperatorProbe) -> DataFrame:
    functions = scala_object(probe.spark, FUNCTIONS, "row_functions.Functions")
    probe.spark.udf.registerJavaFunction("java_marked", "row_functions.Marked", "string")
    rows = probe.rows().selectExpr("java_marked(k) as k")
    for apply in (functions.scalaUdf, functions.mapPartitions, functions.typed):
        rows = DataFrame(apply(rows._jdf), probe.spark)  # noqa: SLF001 - for Scala
    return rows


def _columns_and_views(probe: OperatorProbe) -> DataFrame:
    probe.rows().where("n > 4").withColumn("m", F.col("n")).select("k", "m").createOrReplaceTempView("large")
    exploded = probe.spark.sql("select k, e from large lateral view explode(array(m, 0)) as e where e > 3")
    return exploded.selectExpr("k", "e", "1 as one").drop("one").unpivot("k", ["e"], "what", "value")


def _left_joins(probe: OperatorProbe) -> DataFrame:
    one_name = F.broadcast(_one_name(probe))
    left = probe.rows().join(one_name, "k", "left").join(F.broadcast(probe.names()), "k", "left_semi")
    return left.join(one_name, "k", "left_anti")


def _aggregates(probe: OperatorProbe, *expressions: str) -> DataFrame:
    return probe.rows().groupBy("k").agg(*map(F.expr, expressions))


def _large(group: Callable[[DataFrame], DataFrame], *results: str) -> Observe:
    return writes(lambda probe: group(probe.rows().where("n > 4")), *results)


JVM_FUNCTIONS = once(writes(_java_and_scala, *("a!!!+", "a!!!+?") * 3, "b!!!+?", "z!!!+", "z!!!+?"))
OBSERVED_UNION = once(
    writes(lambda b: b.rows().union(b.rows()).observe("seen", F.count("*").alias("rows")), *ALL, *ALL)
)
STATELESS = {
    "`select`, `where`, `withColumn`; `selectExpr`, `drop`, temporary view; "
    "`explode`, `lateral view`; `unpivot`": writes(_columns_and_views, "z e 9"),
    "`observe`": OBSERVED_UNION,
    "Scala UDF": JVM_FUNCTIONS,
    "Java UDF; typed `map`; typed `flatMap`; typed `filter`": JVM_FUNCTIONS,
    "`mapPartitions` in Scala": JVM_FUNCTIONS,
    "`union` of two sources": OBSERVED_UNION,
    "`repartition(n)`, `repartition(n, column)`": writes(lambda b: b.rows().repartition(2).repartition(1, "k"), *ALL),
    "`union` of a stream with itself": writes(lambda b: (rows := b.rows()).union(rows)),
    "`union` with a static table": writes(lambda b: b.rows().union(b.sql("select 'a', 1"))),
    "`coalesce(n)`": writes(lambda b: b.rows().coalesce(1)),
    "`repartitionByRange`": writes(lambda b: b.rows().repartitionByRange(2, "k")),
    "`orderBy`; `limit`; `sample`": together(
        writes(lambda b: b.rows().orderBy("k")),
        writes(lambda b: b.rows().limit(2)),
        writes(lambda b: b.rows().sample(0.5)),
    ),
    "window function, such as `row_number() over ...`": writes(
        lambda b: b.sql("select row_number() over (order by n) from rows")
    ),
}

JOINS = {
    # The code blocks of joins.md run with the default threshold.
    "`join(broadcast(static))`; the same with `spark.sql.autoBroadcastJoinThreshold=-1`": writes(
        _above_the_threshold, *NAMED
    ),
    "broadcast join, `left`; `left_semi`; `left_anti`": writes(_left_joins, "z 9 -"),
    "broadcast join, `right`, static side on the left": writes(
        lambda b: F.broadcast(_one_name(b)).join(b.rows().where("n > 1"), "k", "right"), "b - 2", "a Ann 4", "z - 9"
    ),
    "no broadcast hint, static side known to be small": writes(lambda b: b.rows().join(b.names(), "k"), *NAMED),
    "static table in a scalar subquery, and in an `in` subquery": writes(lambda b: b.sql(SUBQUERIES), "a Zoe", "z Zoe"),
    "no broadcast hint, static side of unknown size; hint `merge`": together(
        writes(lambda b: b.rows().join(b.spark.createDataFrame([("a", "Ann")], "k string, name string"), "k")),
        writes(lambda b: b.rows().join(b.names().hint("merge"), "k")),
    ),
    "hint `shuffle_hash`": writes(lambda b: b.rows().join(b.names().hint("shuffle_hash"), "k")),
    "`crossJoin`; broadcast join without an equality": together(
        writes(lambda b: b.rows().crossJoin(b.names())), writes(lambda b: b.sql(WITHOUT_EQUALITY))
    ),
    "`full` join with a static table": writes(lambda b: b.rows().join(F.broadcast(b.names()), "k", "full")),
    "stream-stream inner join; stream-stream `left_semi` join": _stream_stream("inner", "left_semi"),
    "stream-stream outer join; stream-stream `left_anti` join": _stream_stream("left", "left_anti"),
}

STATEFUL = {
    "`groupBy(k).count()`, one result per row": writes(
        lambda b: b.rows().groupBy("k").count(), "a 1", "b 1", "a 2", "a 3", "z 1"
    ),
    "`sum`, `avg`, `min`, `max`; `min_by`, `max_by`, `first`, `last`; `collect_list`, `collect_set`; "
    "`approx_count_distinct`, `percentile_approx`": writes(
        lambda b: _aggregates(
            *(b, "sum(n)", "avg(n)", "min(n)", "max(n)", "min_by(n, n)", "max_by(n, n)", "first(n)", "last(n)"),
            *("collect_list(n)", "size(collect_set(n))", "approx_count_distinct(n)", "percentile_approx(n, 0.5)"),
        ),
        "a 1 1.0 1 1 1 1 1 1 [1] 1 1 1",
        "b 2 2.0 2 2 2 2 2 2 [2] 1 1 2",
        "a 2 1.0 1 1 1 1 1 1 [1, 1] 1 1 1",
        "a 6 2.0 1 4 1 4 1 4 [1, 1, 4] 2 2 1",
        "z 9 9.0 9 9 9 9 9 9 [9] 1 1 9",
    ),
    "aggregation without keys; `having`; `cube`; `rollup`; `kll_sketch_agg_bigint`": together(
        writes(lambda b: b.rows().groupBy().agg(F.max("k")), "a", "b", "b", "b", "z"),
        _large(lambda rows: rows.cube("k").count(), "z 1", "- 1"),
        _large(lambda rows: rows.rollup("k").count(), "z 1", "- 1"),
        writes(
            lambda b: _aggregates(b, "kll_sketch_get_quantile_bigint(kll_sketch_agg_bigint(n), 0.5) as median").where(
                "median > 1"
            ),
            *("b 2", "z 9"),
        ),
    ),
    "`window`, tumbling; `window`, sliding": together(
        writes(lambda b: _windows(b, "5 minutes", "5 minutes"), "a 0 1", "z 5 1"),
        writes(lambda b: _windows(b, "4 minutes", "2 minutes"), "a 2 1", "a 4 1", "z 6 1", "z 8 1"),
    ),
    "`dropDuplicates(columns)`": writes(lambda b: b.rows().dropDuplicates(["k", "n"]), *DISTINCT),
    "`dropDuplicates` with the event-time column": writes(
        lambda b: b.timed().dropDuplicates(["k", "at"]).select("k", "n"), *DISTINCT
    ),
    "`dropDuplicates`, then `groupBy`; `union`, then `groupBy`": together(
        writes(lambda b: b.rows().dropDuplicates(["k", "n"]).groupBy("k").count(), "a 1", "b 1", "a 2", "z 1"),
        writes(lambda b: b.rows().union(b.rows()).where("k = 'z'").groupBy("k").count(), "z 1", "z 2"),
    ),
    "`dropDuplicatesWithinWatermark`": writes(lambda b: b.timed().dropDuplicatesWithinWatermark(["k"])),
    "`groupBy`, then `union`; `dropDuplicates`, then `union`": together(
        writes(lambda b: b.rows().groupBy("k").count().union(b.rows())),
        writes(lambda b: b.rows().dropDuplicates(["k"]).union(b.rows())),
    ),
    "`groupBy` of a `groupBy`; `count(distinct n)`": together(
        writes(lambda b: b.rows().groupBy("k").count().groupBy("count").count()),
        writes(lambda b: _aggregates(b, "count(distinct n)")),
    ),
    "`pivot`": writes(lambda b: b.rows().groupBy("k").pivot("n").count()),
    "`session_window`": writes(lambda b: b.timed().groupBy(F.session_window("at", "5 minutes"), "k").count()),
}


COLUMNS = "k string, n int"


class _Silent(StatefulProcessor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        """Create no state."""

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: ARG002, N802, N803
        return iter(())


class _Double:
    def eval(self, n: int) -> Iterator[tuple[int]]:
        yield (2 * n,)


def _identity(values: Any) -> Any:
    return values


def _table_function(probe: OperatorProbe) -> DataFrame:
    function: Any = F.udtf(_Double, returnType="m int")
    probe.spark.udtf.register("doubled", function)
    return probe.sql("select k, m from rows, lateral doubled(n)")


PYTHON = {
    "`udf`": writes(lambda b: b.rows().select(F.udf(str.upper)("k"))),
    "`udf(useArrow=False)`": writes(lambda b: b.rows().select(F.udf(str.upper, useArrow=False)("k"))),
    "`pandas_udf`; `arrow_udf`": together(
        writes(lambda b: b.rows().select(pandas_udf(_identity, "int", PandasUDFType.SCALAR)("n"))),
        writes(lambda b: b.rows().select(arrow_udf(_identity, "int", ArrowUDFType.SCALAR)("n"))),
    ),
    "`udtf`": writes(_table_function),
    "`mapInPandas`": writes(lambda b: b.rows().mapInPandas(_identity, COLUMNS)),
    "`mapInArrow`": writes(lambda b: b.rows().mapInArrow(_identity, COLUMNS)),
    "`groupBy(k).applyInPandas`": writes(lambda b: b.rows().groupBy("k").applyInPandas(_identity, COLUMNS)),
    "`applyInPandasWithState`": writes(
        lambda b: b.rows().groupBy("k").applyInPandasWithState(_identity, COLUMNS, "n int", "update", "NoTimeout")  # type: ignore[arg-type]
    ),
    "`transformWithState` in Python": writes(
        lambda b: b.rows().groupBy("k").transformWithState(_Silent(), COLUMNS, "Update", "None")
    ),
    "`transformWithStateInPandas`": writes(
        lambda b: b.rows().groupBy("k").transformWithStateInPandas(_Silent(), COLUMNS, "Update", "None")
    ),
}
