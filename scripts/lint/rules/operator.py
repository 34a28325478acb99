"""
Rules about joins, unions and the order of rows.

What arrives is a module with its queries; what leaves are problems.
Real-time mode demands that every operator hands rows on one by one.
"""

from collections.abc import Iterator

from scripts.lint.rules.rule import BOTH, OSS_ONLY, Module, Problem, Rules
from scripts.lint.rules.source import ALLOWLIST
from scripts.lint.spark.steps import JOINS, UNIONS, is_stateful, joins_streams, steps
from scripts.lint.spark.values import texts_of

OPERATOR_RULES = Rules()
INNER = {"inner", "cross"}


@OPERATOR_RULES.add("stream-join")
def stream_join(module: Module) -> Iterator[Problem]:
    """
    Find joins of two streams: none in open-source Spark, inner ones only on Databricks.

    Why: open-source Spark refuses the operator, and Databricks (18 LTS or later, with settings) has inner joins only.

    Example:
        events.join(events_2, "key")
    Use instead:
        events.union(events_2).groupBy("key").count()
    Source: https://docs.databricks.com/aws/en/structured-streaming/real-time/reference, 2026-11-20
    """
    enabled = module.setting("spark.databricks.streaming.realTimeMode.streamStreamJoin.enabled")
    for query in module.real_time:
        for step in steps(query, "join", "crossJoin"):
            how = [text.lower().replace("_", "") for text in texts_of(step.arguments.get("how", 2))]
            is_inner = step.name == "join" and all(kind in INNER for kind in how)
            if joins_streams(step) and not (is_inner and enabled):
                message = f"real-time mode refuses a join of two streams with {ALLOWLIST}"
                fix = "union both streams and aggregate by key, or join in a micro-batch query"
                yield Problem(step.line, message, fix, OSS_ONLY if is_inner else BOTH, lines=query.writer.lines)


@OPERATOR_RULES.add("static-join")
def static_join(module: Module) -> Iterator[Problem]:
    """
    Find joins of a stream with a static table without `broadcast`.

    Why: without it Spark may plan a sort-merge join, which is refused with OPERATOR_OR_SINK_NOT_IN_ALLOWLIST.

    Example:
        events.join(users, "key")
    Use instead:
        events.join(F.broadcast(users), "key")
    Source: https://docs.databricks.com/aws/en/structured-streaming/real-time/reference, 2026-11-20
    """
    for query in module.real_time:
        for step in steps(query, *JOINS):
            left, right = step.left, step.other
            if right is None or left.is_streaming is False is right.is_streaming:
                continue
            static = right if right.is_streaming is False else left if left.is_streaming is False else None
            if static and not static.is_broadcast and not static.is_small:
                message = "the static side of the join is not broadcast, and real-time mode refuses a sort-merge join"
                fix = "wrap the static side in F.broadcast(...)"
                yield Problem(step.line, message, fix, lines=query.writer.lines)


@OPERATOR_RULES.add("union-self")
def union_self(module: Module) -> Iterator[Problem]:
    """
    Find a union of streams that come from the same source DataFrame.

    Why: one source cannot be read twice in a query: it ends with IDENTICAL_SOURCES_IN_UNION_NOT_SUPPORTED.

    Example:
        events.union(events)
    Use instead:
        events.union(events_2)
    Source: https://docs.databricks.com/aws/en/structured-streaming/real-time/limitations, 2026-11-20
    """
    for query in module.real_time:
        for step in steps(query, *UNIONS):
            if step.other and step.left.sources & step.other.sources:
                message = "both sides of the union read one source: IDENTICAL_SOURCES_IN_UNION_NOT_SUPPORTED"
                fix = "load the source a second time, or make one pass with explode or when"
                yield Problem(step.line, message, fix, lines=query.writer.lines)


@OPERATOR_RULES.add("union-after-state")
def union_after_state(module: Module) -> Iterator[Problem]:
    """
    Find a stateful operator below a union.

    Why: it is refused with STATEFUL_OPERATORS_BEFORE_UNION_NOT_SUPPORTED.

    Example:
        events.dropDuplicates(["key"]).union(events_2)
    Use instead:
        events.union(events_2).dropDuplicates(["key"])
    Source: https://spark.apache.org/docs/4.3.0/streaming/real-time-mode.html, 2026-11-20
    """
    for query in module.real_time:
        for step in steps(query, *UNIONS):
            if is_stateful(step.left) or (step.other and is_stateful(step.other)):
                message = "an operator with state stands below a union: STATEFUL_OPERATORS_BEFORE_UNION_NOT_SUPPORTED"
                fix = "union first, then aggregate or drop duplicates"
                yield Problem(step.line, message, fix, lines=query.writer.lines)


@OPERATOR_RULES.add("sort-or-coalesce")
def sort_or_coalesce(module: Module) -> Iterator[Problem]:
    """
    Find `orderBy`, `sort`, `limit`, `coalesce` and `repartitionByRange` in a real-time query.

    Why: a sort or a limit needs an end, which a stream lacks; coalesce and ranges are not in the list of operators.

    Example:
        events.coalesce(1)
    Use instead:
        events.repartition(1)
    Source: https://spark.apache.org/docs/4.3.0/streaming/real-time-mode.html, 2026-11-20
    """
    ended = {"orderBy", "sort", "sortWithinPartitions", "limit", "sample"}
    for query in module.real_time:
        for step in steps(query, "coalesce", "repartitionByRange", *(ended - {"sortWithinPartitions", "sample"})):
            engines = BOTH if step.name in ended else OSS_ONLY
            message = f"{step.name} is refused in real-time mode, so the query fails"
            fix = "let the reader of the results sort or limit" if step.name in ended else "use repartition(n)"
            yield Problem(step.line, message, fix, engines, lines=query.writer.lines)
