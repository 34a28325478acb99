"""Rules about joins, unions, sorting and limits."""

from collections.abc import Iterator

from spark_rtm.lint.problem import Problem
from spark_rtm.lint.rules.rule import BOTH, OSS_ONLY, Rules
from spark_rtm.lint.spark.steps import JOINS, UNIONS, joins_streams, stateful_steps
from spark_rtm.lint.spark.streams import Query, Step
from spark_rtm.lint.spark.values import quoted, texts_of

RULES = Rules()
INNER_JOINS = {"inner", "cross"}
SORT_HINTS = {"merge", "shuffle_merge", "mergejoin", "shuffle_hash", "shuffle_replicate_nl"}


@RULES.add("stream-join", subject="query")
def stream_join(query: Query) -> Iterator[Problem]:
    """
    Checks for joins of two streams.

    Why: OSS does not support stream-stream joins in real-time mode. Databricks supports inner joins from 18 LTS, with
    five settings.

    Both engines: outer, semi and anti joins.
    OSS: inner joins, which fail with OPERATOR_OR_SINK_NOT_IN_ALLOWLIST.

    Reported at: the join.

    Example: events.join(events_2, "key", "left")
    Use instead: events.union(events_2).groupBy("key").count()
    Source: [test], [setup], [settings](joins.md#two-streams-on-databricks)
    """
    for step in query.steps("join", "crossJoin"):
        how = [text.lower().replace("_", "") for text in texts_of(step.arguments.get("how", 2))]
        is_inner = step.name == "join" and all(kind in INNER_JOINS for kind in how)
        if joins_streams(step):
            kind = "a" if is_inner else "this"
            message = f"real-time mode does not support {kind} join of two streams, so the query fails"
            fix = "union both streams and aggregate by key, or join them in a micro-batch query"
            yield Problem(step.line, message, fix, OSS_ONLY if is_inner else BOTH)


@RULES.add("static-join", subject="query")
def static_join(query: Query) -> Iterator[Problem]:
    """
    Checks for joins of a stream with a static table that is not wrapped in `broadcast`, or that has another join hint.

    Why: Spark may plan a sort-merge join. On OSS, that join fails with OPERATOR_OR_SINK_NOT_IN_ALLOWLIST.

    Both engines: a static table without `broadcast`, and another hint.
    OSS: each `crossJoin`, also with a broadcast table.

    Reported at: the join. A join with a small table that OSS broadcasts automatically works until the table grows.

    Example: events.join(users, "key")
    Use instead: events.join(F.broadcast(users), "key")
    Source: [test], [reference]
    """
    for step in query.steps(*JOINS):
        left, right = step.left, step.other
        if hint := _sort_hint(step):
            message = f"the join hint {quoted(hint)} prevents a broadcast join, so the query fails"
            yield Problem(step.line, message, "use the broadcast hint on the static side")
            continue
        if right is None or left.is_streaming is False is right.is_streaming:
            continue
        static = right if right.is_streaming is False else left if left.is_streaming is False else None
        if static and step.name == "crossJoin":
            message = "real-time mode does not support cross joins, even with a broadcast table, so the query fails"
            fix = "join on a column that is equal on both sides, and wrap the static side in F.broadcast(...)"
            yield Problem(step.line, message, fix, OSS_ONLY)
        elif static and not static.is_broadcast and not static.is_small:
            message = "the static side of the join is not broadcast, so Spark may plan a sort-merge join, which fails"
            fix = "wrap the static side in F.broadcast(...)"
            exchange = "put the stream on the left, and wrap the other side in F.broadcast(...)"
            yield Problem(step.line, message, fix if static is right else exchange)


def _sort_hint(step: Step) -> str:
    """Return a join hint other than broadcast, unless both sides are streams."""
    if joins_streams(step) or step.other is None or step.other.is_broadcast:
        return ""
    hints = [each for side in (step.left, step.other) for each in side.steps[-1:] if each.name == "hint"]
    names = [text for each in hints for text in texts_of(each.arguments.get("name", 0))]
    return next((name for name in names if name.lower() in SORT_HINTS), "")


@RULES.add("union-self", subject="query")
def union_self(query: Query) -> Iterator[Problem]:
    """
    Checks for unions of streams that read the same source DataFrame.

    Why: A query that reads the same source twice fails with IDENTICAL_SOURCES_IN_UNION_NOT_SUPPORTED.

    Reported at: the union.

    Example: events.union(events)
    Use instead: events.union(events_2)
    Source: [test], [limitations]
    """
    for step in query.steps(*UNIONS):
        if step.other and step.left.sources & step.other.sources:
            message = "the union reads one source twice, so it fails with IDENTICAL_SOURCES_IN_UNION_NOT_SUPPORTED"
            fix = "load the source a second time, or replace the union with explode or when"
            yield Problem(step.line, message, fix)


@RULES.add("union-after-state", subject="query")
def union_after_state(query: Query) -> Iterator[Problem]:
    """
    Checks for stateful operators before a union.

    Why: Such a query fails. On OSS, the condition is STATEFUL_OPERATORS_BEFORE_UNION_NOT_SUPPORTED.

    Reported at: the union, not the operator that keeps state.

    Example: events.dropDuplicates(["key"]).union(events_2)
    Use instead: events.union(events_2).dropDuplicates(["key"])
    Source: [test], [guide], [limitations]
    """
    for step in query.steps(*UNIONS):
        if stateful_steps(step.left) or (step.other and stateful_steps(step.other)):
            message = "real-time mode does not support a union after a stateful operator, so the query fails"
            fix = "union first, then aggregate or drop duplicates"
            yield Problem(step.line, message, fix)


@RULES.add("sort-or-coalesce", subject="query")
def sort_or_coalesce(query: Query) -> Iterator[Problem]:
    """
    Checks for sorts, limits, `coalesce` and `repartitionByRange` in real-time queries.

    Why: Sorts and limits require finite input, so no streaming query in update mode can use them.

    Both engines: `orderBy`, `sort`, `limit`.
    OSS: `coalesce` and `repartitionByRange`; use `repartition`. We found no documentation of either for Databricks.

    Reported at: the operator.

    Example: events.orderBy("key")
    Use instead: events.repartition(1)
    Source: [test], [guide]
    """
    later = "sort or limit the results where they are read"
    for step in query.steps("coalesce", "repartitionByRange", "orderBy", "sort", "limit"):
        fix, engines = (later, BOTH) if step.name in {"orderBy", "sort", "limit"} else ("use repartition(n)", OSS_ONLY)
        yield Problem(step.line, f"real-time mode does not support {step.name}, so the query fails", fix, engines)
