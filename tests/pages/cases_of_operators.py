"""
Cases for the tables of operators and joins: their outcome in real-time mode on OSS 4.3.0.

The allowlist applies to the physical plan, so refusals name the nodes of the plan.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_rtm.services.scala import scala_object
from tests.pages.cases_of_sources import ALL
from tests.pages.operator_probe import OperatorProbe
from tests.pages.outcomes import fails, runs, together

FUNCTIONS = Path(__file__).with_name("functions.scala")
# The condition of most refusals that concern all streaming queries; only the message distinguishes them.
LEGACY = "at start: `_LEGACY_ERROR_TEMP_3102`"
BEFORE_UNION = "at start: `STATEFUL_OPERATORS_BEFORE_UNION_NOT_SUPPORTED`"
NAMED = ("a 1 Ann", "a 1 Ann", "a 4 Ann", "z 9 Zoe")
COUNTS = ("a 1", "b 1", "a 2", "a 3", "z 1")
DISTINCT = ("a 1", "b 2", "a 4", "z 9")
NESTED_LOOP = "while running: not in allowlist: `BroadcastNestedLoopJoinExec`"
NO_MERGE = "while running: not in allowlist: `SortExec`, `SortMergeJoinExec`"
TWO_STREAMS = "while running: not in allowlist: `StreamingSymmetricHashJoinExec`"
EXPLODED = "rows lateral view explode(array(n, 0)) as m"
SUBQUERIES = "select k, (select max(name) from names) from rows where k in (select k from names) and n > 1"


def _unknown_size(probe: OperatorProbe) -> DataFrame:
    return probe.spark.createDataFrame([("a", "Ann"), ("z", "Zoe")], "k string, name string")


def _with_itself(probe: OperatorProbe) -> DataFrame:
    rows = probe.rows()
    return rows.union(rows)


def _joined_streams(probe: OperatorProbe, how: str) -> DataFrame:
    left, right = probe.timed().alias("l"), probe.timed().alias("r")
    return left.join(right, F.expr("l.k = r.k and l.at = r.at"), how).select("l.k")


def _above_the_threshold(probe: OperatorProbe) -> DataFrame:
    session = probe.spark.newSession()
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    own = replace(probe, spark=session)
    return own.rows().join(F.broadcast(own.names()), "k")


def _one_name(probe: OperatorProbe) -> DataFrame:
    return probe.names().where("k = 'a'")


def _windows(probe: OperatorProbe, length: str, step: str) -> DataFrame:
    counted = probe.timed().where("n > 3").groupBy("k", F.window("at", length, step)).count()
    return counted.selectExpr("k", "minute(window.start)", "count")


def _scala(name: str) -> Callable[[OperatorProbe], DataFrame]:
    """Return a function that applies a method of `functions.scala` to the rows."""

    def build(probe: OperatorProbe) -> DataFrame:
        method = getattr(scala_object(probe.spark, FUNCTIONS, "row_functions.Functions"), name)
        return DataFrame(method(probe.rows()._jdf), probe.spark)  # noqa: SLF001 - for Scala

    return build


def _java_udf(probe: OperatorProbe) -> DataFrame:
    scala_object(probe.spark, FUNCTIONS, "row_functions.Functions")
    probe.spark.udf.registerJavaFunction("java_marked", "row_functions.Marked", "string")
    return probe.rows().selectExpr("java_marked(k)")


def _aggregates(probe: OperatorProbe, *expressions: str) -> DataFrame:
    return probe.rows().groupBy("k").agg(*map(F.expr, expressions))


MARKED = ("a!", "a!", "a!", "b!", "z!")
STATELESS = (
    together(
        runs("`select`, `where`, `withColumn`", lambda b: b.rows().where("n > 4").withColumn("m", F.col("n")), "z 9 9"),
        runs(
            "`selectExpr`, `drop`, temporary view",
            lambda b: b.sql("select *, 1 m from rows where n > 4").drop("m"),
            "z 9",
        ),
        runs("`explode`, `lateral view`", lambda b: b.sql(f"select k, m from {EXPLODED} where m > 3"), "a 4", "z 9"),
        runs("`unpivot`", lambda b: b.rows().where("n > 4").unpivot("k", ["n"], "what", "m"), "z n 9"),
    ),
    runs("`observe`", lambda b: b.rows().observe("seen", F.count("*").alias("rows")), *ALL),
    runs("Scala UDF", _scala("scalaUdf"), *MARKED),
    together(
        runs("Java UDF", _java_udf, *MARKED),
        runs("typed `map`", _scala("typedMap"), *MARKED),
        runs("typed `flatMap`", _scala("typedFlatMap"), *MARKED, "a", "a", "a", "b", "z"),
        runs("typed `filter`", _scala("typedFilter"), "a", "a", "a", "z"),
    ),
    runs("`mapPartitions` in Scala", _scala("mapPartitions"), *MARKED),
    runs("`union` of two sources", lambda b: b.rows().union(b.rows()), *ALL, *ALL),
    runs("`repartition(n)`, `repartition(n, column)`", lambda b: b.rows().repartition(2).repartition(1, "k"), *ALL),
    fails("`union` of a stream with itself", "while running: `IDENTICAL_SOURCES_IN_UNION_NOT_SUPPORTED`", _with_itself),
    fails("`union` with a static table", LEGACY, lambda b: b.rows().union(b.sql("select 'a', 1"))),
    fails("`coalesce(n)`", "while running: not in allowlist: `CoalesceExec`", lambda b: b.rows().coalesce(1)),
    fails(
        "`repartitionByRange`",
        "while running: not in allowlist: `ShuffleExchangeExec`",
        lambda b: b.rows().repartitionByRange(2, "k"),
    ),
    together(
        fails("`orderBy`", LEGACY, lambda b: b.rows().orderBy("k")),
        fails("`limit`", LEGACY, lambda b: b.rows().limit(2)),
        fails("`sample`", LEGACY, lambda b: b.rows().sample(0.5)),
    ),
    fails(
        "window function, such as `row_number() over ...`",
        "at start: `NON_TIME_WINDOW_NOT_SUPPORTED_IN_STREAMING`",
        lambda b: b.sql("select row_number() over (order by n) from rows"),
    ),
)

JOINS = (
    together(
        runs("`join(broadcast(static))`", lambda b: b.rows().join(F.broadcast(b.names()), "k"), *NAMED),
        runs("the same with `spark.sql.autoBroadcastJoinThreshold=-1`", _above_the_threshold, *NAMED),
    ),
    together(
        runs("broadcast join, `left`", lambda b: b.rows().join(F.broadcast(b.names()), "k", "left"), *NAMED, "b 2 -"),
        runs(
            "`left_semi`", lambda b: b.rows().join(F.broadcast(b.names()), "k", "left_semi"), "a 1", "a 1", "a 4", "z 9"
        ),
        runs("`left_anti`", lambda b: b.rows().join(F.broadcast(_one_name(b)), "k", "left_anti"), "b 2", "z 9"),
    ),
    runs(
        "broadcast join, `right`, static side on the left",
        lambda b: F.broadcast(_one_name(b)).join(b.rows().where("n > 1"), "k", "right"),
        *("b - 2", "a Ann 4", "z - 9"),
    ),
    runs("no broadcast hint, static side known to be small", lambda b: b.rows().join(b.names(), "k"), *NAMED),
    runs("static table in a scalar subquery, and in an `in` subquery", lambda b: b.sql(SUBQUERIES), "a Zoe", "z Zoe"),
    together(
        fails(
            "no broadcast hint, static side of unknown size", NO_MERGE, lambda b: b.rows().join(_unknown_size(b), "k")
        ),
        fails("hint `merge`", NO_MERGE, lambda b: b.rows().join(b.names().hint("merge"), "k")),
    ),
    fails(
        "hint `shuffle_hash`",
        "while running: not in allowlist: `ShuffledHashJoinExec`",
        lambda b: b.rows().join(b.names().hint("shuffle_hash"), "k"),
    ),
    together(
        fails("`crossJoin`", NESTED_LOOP, lambda b: b.rows().crossJoin(b.names())),
        fails(
            "broadcast join without an equality",
            NESTED_LOOP,
            lambda b: b.rows().alias("r").join(F.broadcast(b.names().alias("s")), F.expr("r.k < s.k")).select("r.k"),
        ),
    ),
    fails("`full` join with a static table", LEGACY, lambda b: b.rows().join(F.broadcast(b.names()), "k", "full")),
    together(
        fails("stream-stream inner join", TWO_STREAMS, lambda b: _joined_streams(b, "inner")),
        fails("stream-stream `left_semi` join", TWO_STREAMS, lambda b: _joined_streams(b, "left_semi")),
    ),
    together(
        fails("stream-stream outer join", LEGACY, lambda b: _joined_streams(b, "left")),
        fails("stream-stream `left_anti` join", LEGACY, lambda b: _joined_streams(b, "left_anti")),
    ),
)

STATEFUL = (
    runs("`groupBy(k).count()`, one result per row", lambda b: b.rows().groupBy("k").count(), *COUNTS),
    runs(
        "`sum`, `avg`, `min`, `max`; `min_by`, `max_by`, `first`, `last`; `collect_list`, `collect_set`; "
        "`approx_count_distinct`, `percentile_approx`",
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
    together(
        runs("aggregation without keys", lambda b: b.rows().groupBy().agg(F.max("k")), "a", "b", "b", "b", "z"),
        runs("`having`", lambda b: b.rows().groupBy("k").count().where("count > 2 or k = 'z'"), "a 3", "z 1"),
        runs("`cube`", lambda b: b.rows().where("n > 4").cube("k").count(), "z 1", "- 1"),
        runs("`rollup`", lambda b: b.rows().where("n > 4").rollup("k").count(), "z 1", "- 1"),
        runs(
            "`kll_sketch_agg_bigint`",
            lambda b: _aggregates(b, "kll_sketch_get_quantile_bigint(kll_sketch_agg_bigint(n), 0.5)"),
            *("a 1", "b 2", "a 1", "a 1", "z 9"),
        ),
    ),
    together(
        runs("`window`, tumbling", lambda b: _windows(b, "5 minutes", "5 minutes"), "a 0 1", "z 5 1"),
        runs("`window`, sliding", lambda b: _windows(b, "4 minutes", "2 minutes"), "a 2 1", "a 4 1", "z 6 1", "z 8 1"),
    ),
    runs("`dropDuplicates(columns)`", lambda b: b.rows().dropDuplicates(["k", "n"]), *DISTINCT),
    runs(
        "`dropDuplicates` with the event-time column",
        lambda b: b.timed().dropDuplicates(["k", "at"]).select("k", "n"),
        *DISTINCT,
    ),
    together(
        runs(
            "`dropDuplicates`, then `groupBy`",
            lambda b: b.rows().dropDuplicates(["k", "n"]).groupBy("k").count(),
            *("a 1", "b 1", "a 2", "z 1"),
        ),
        runs(
            "`union`, then `groupBy`",
            lambda b: b.rows().union(b.rows()).where("k = 'z'").groupBy("k").count(),
            *("z 1", "z 2"),
        ),
    ),
    fails(
        "`dropDuplicatesWithinWatermark`",
        "while running: not in allowlist: `StreamingDeduplicateWithinWatermarkExec`",
        lambda b: b.timed().dropDuplicatesWithinWatermark(["k"]),
    ),
    together(
        fails("`groupBy`, then `union`", BEFORE_UNION, lambda b: b.rows().groupBy("k").count().union(b.rows())),
        fails("`dropDuplicates`, then `union`", BEFORE_UNION, lambda b: b.rows().dropDuplicates(["k"]).union(b.rows())),
    ),
    together(
        fails("`groupBy` of a `groupBy`", LEGACY, lambda b: b.rows().groupBy("k").count().groupBy("count").count()),
        fails("`count(distinct n)`", LEGACY, lambda b: _aggregates(b, "count(distinct n)")),
    ),
    fails("`pivot`", "at start: `_LEGACY_ERROR_TEMP_3063`", lambda b: b.rows().groupBy("k").pivot("n").count()),
    fails(
        "`session_window`",
        "at start: `STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION`",
        lambda b: b.timed().groupBy(F.session_window("at", "5 minutes"), "k").count(),
    ),
)
