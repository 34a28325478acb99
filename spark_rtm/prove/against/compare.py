"""Derive from the plans of two queries how to compare their results, and compare the results."""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pyspark.sql import DataFrame

from spark_rtm.prove.job.recorders import Caught
from spark_rtm.prove.query import topics_of
from spark_rtm.prove.records.plan import Node, Plan, expressions_of, filters_of, plan_of
from spark_rtm.testing.records import Received

FIELD = "value."
"""Prefix of a JSON field's name, which distinguishes it from columns. A value with unknown fields is one column."""
UNSTABLE = {
    **dict.fromkeys(("CurrentTimestamp", "Now", "CurrentDate", "LocalTimestamp", "CurrentTime"), "a clock"),
    **dict.fromkeys(("CallMethodViaReflection", "TryReflect"), "a Java method"),
    **dict.fromkeys(("Rand", "Randn", "Uuid", "Shuffle", "Uniform", "RandStr"), "a random value"),
    **dict.fromkeys(("MonotonicallyIncreasingID", "SparkPartitionID", "InputFileName"), "the partition or file"),
}
"""What makes the values of an expression differ between two runs, by the expression's class in Spark."""
# Expressions that have different values for different groups.
INJECTIVE = {
    *("Cast", "GetStructField", "CreateNamedStruct", "StructsToJson", "DateFormatClass", "Concat", "ConcatWs"),
    *("FormatString", "UnixTimestamp", "UnixMillis", "Md5", "Sha1", "Sha2", "XxHash64", "KnownNullable"),
}
OWN_STATE = re.compile(r"^(FlatMapGroups|MapGroups|TransformWithState|ApplyInPandasWithState)")
DELAY = re.compile(r"EventTimeWatermark [^\n]*: timestamp(?:_ntz)?, ([^\n]+)")
WINDOW = re.compile(r"(?:%|\+) (\d{6,})\b")
SECONDS = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "week": 604_800, "millisecond": 0.001}
PARTS = re.compile(r"(\d+(?:\.\d+)?) (\w+?)s?\b")
ANSI = "spark.sql.ansi.enabled"
TOPIC = "topic"
KAFKA_PARTS = ("key", TOPIC, "headers")

Groups = list[tuple[str, set[int]]]
"""The name of each grouping column, with the ids of the plan's attributes that contain the column."""
Row = tuple[tuple[str, str], ...]
"""The parts of a result (columns and JSON fields), each with its name and its value as text."""


@dataclass(frozen=True)
class Facts:
    """The facts about a query that determine how its results are compared."""

    output_mode: str
    topics: tuple[str, ...]
    is_to_kafka: bool
    is_keyed: bool
    """Whether a result replaces earlier results for the same key."""
    key: tuple[str, ...]
    """The names of the parts that form the key of a result."""
    problem: str
    """The reason why the plan does not show the key, or an empty string."""
    masked: Mapping[str, str]
    """The parts of a result that differ between two runs, each with what makes them differ."""
    partial: str
    """A filter on an aggregate, such as `n < 2`, or an empty string if there is none."""
    delays: tuple[float, ...]
    """Delays of the watermarks in seconds."""
    windows: tuple[float, ...]
    """Durations of the windows in seconds."""
    is_ansi: bool
    parts: tuple[str, ...]
    target: str
    """The topic to which the query writes its results during the comparison."""


def facts_of(rows: DataFrame, caught: Caught, target: str) -> Facts:
    """Return the facts about the query `caught`, which writes `rows` (Kafka sink rows) to the topic `target`."""
    plan = plan_of(rows)
    parts = dict(_parts(rows, plan))
    kinds = [str(one["class"]).rpartition(".")[2] for one in plan.operators]
    places = [number for number, kind in enumerate(kinds) if kind == "Aggregate"]
    groups = _groups(plan.operators[places[-1]]) if places else []
    key, problem = _key(plan, kinds, groups, parts)
    text = str(rows._jdf.queryExecution().analyzed())  # noqa: SLF001 - PySpark has no plan as text
    is_own = any(map(OWN_STATE.match, kinds))
    return Facts(
        caught.output_mode.lower(),
        tuple(topics_of(rows)),
        caught.is_to_kafka,
        is_own or bool({"Aggregate", "Distinct"}.intersection(kinds)),
        key,
        problem,
        {name: reason for name, tree in parts.items() if (reason := _unstable(plan, tree))},
        _partial(rows, Plan(plan.operators[places[-1] + 1 :], plan.aliases), groups) if places else "",
        tuple(sorted({seconds_of(found) for found in DELAY.findall(text)})),
        tuple(sorted({int(found) / 1e6 for found in WINDOW.findall(text)})),
        str(rows.sparkSession.conf.get(ANSI)) == "true",
        tuple(parts),
        target,
    )


def seconds_of(text: str) -> float:
    """Return the seconds of an interval such as `1 hours 30 minutes`."""
    return sum(float(number) * SECONDS.get(unit, 0) for number, unit in PARTS.findall(text))


def _parts(rows: DataFrame, plan: Plan) -> Iterator[tuple[str, Node]]:
    """Yield each part of a result with its expression. The parts are the columns, and the fields of a JSON value."""
    output = rows._jdf.queryExecution().analyzed().output()  # noqa: SLF001 - PySpark has no plan
    aliases = plan.aliases if plan.expressions else {}
    for column in map(output.apply, range(output.size())):
        number, name = column.exprId().id(), column.name()
        tree = aliases.get(number, Node("AttributeReference", {"exprId": {"id": number}, "name": name}, []))
        found = list(_fields(plan, tree)) if name == "value" else []
        yield from ((FIELD + inner, part) for inner, part in found)
        if not found:
            yield name, tree


def _fields(plan: Plan, tree: Node) -> Iterator[tuple[str, Node]]:
    tree = _resolved(plan, tree)
    if tree.kind != "StructsToJson":
        return
    struct = _resolved(plan, tree.children[0])
    if struct.kind == "CreateNamedStruct":
        names = (str(node.content.get("value")) for node in struct.children[::2])
        yield from zip(names, struct.children[1::2], strict=True)


def _resolved(plan: Plan, tree: Node) -> Node:
    while True:
        if tree.kind in {"Cast", "Alias"}:
            tree = tree.children[0]
        elif tree.kind == "AttributeReference" and (source := plan.aliases.get(tree.content["exprId"]["id"])):
            tree = source
        else:
            return tree


def _unstable(plan: Plan, tree: Node) -> str:
    return next((UNSTABLE[node.kind] for node in plan.behind(tree) if node.kind in UNSTABLE), "")


def _key(plan: Plan, kinds: Sequence[str], groups: Groups, parts: Mapping[str, Node]) -> tuple[tuple[str, ...], str]:
    """Return the names of the parts that contain the grouping columns, and the reason if these are not known."""
    if any(map(OWN_STATE.match, kinds)):
        return (), "the plan does not show which columns are the key of the stateful function's results"
    if "Aggregate" not in kinds:
        return (tuple(parts), "") if "Distinct" in kinds else ((), "")
    numbers = {number: position for position, (_, ids) in enumerate(groups) for number in ids}
    found = {name: _covered(plan, tree, numbers) for name, tree in parts.items()}
    missing = [groups[n][0] for n in set(range(len(groups))) - set().union(*found.values())]
    if missing:
        return (), f"the results lack the grouping columns {', '.join(sorted(missing))}, so their key is not known"
    return tuple(name for name, covered in found.items() if covered), ""


def _groups(operator: Mapping[str, Any]) -> Groups:
    outputs = [tree for one in operator["aggregateExpressions"] for tree in expressions_of(one)]
    found = list[tuple[str, set[int]]]()
    for tree in (tree for one in operator["groupingExpressions"] for tree in expressions_of(one)):
        same = [out for out in outputs if out.kind == "Alias" and out.children[0] == tree]
        ids = {int(out.content["exprId"]["id"]) for out in (*same, tree) if "exprId" in out.content}
        named = [*same, tree][0]
        found.append((str(named.content.get("name", tree.kind)), ids))
    return found


def _covered(plan: Plan, tree: Node, numbers: Mapping[int, int]) -> set[int]:
    """Return the positions of the grouping columns whose values an expression contains without loss."""
    if tree.kind == "AttributeReference":
        number = tree.content["exprId"]["id"]
        source = plan.aliases.get(number)
        return {numbers[number]} if number in numbers else _covered(plan, source, numbers) if source else set()
    if tree.kind not in INJECTIVE:
        return set()
    return set[int]().union(*(_covered(plan, child, numbers) for child in tree.children))


def _partial(rows: DataFrame, above: Plan, groups: Groups) -> str:
    """Return a filter on an aggregate, or an empty string. `above` contains the operators after the aggregation."""
    ids = {number for _, found in groups for number in found}
    for kind, tree in above.expressions:
        named = (node for node in tree.all() if node.kind == "AttributeReference")
        if kind == "Filter" and any(node.content["exprId"]["id"] not in ids for node in named):
            return next(iter(filters_of(rows)), "a filter")
    return ""


class NotComparableError(ValueError):
    """Raised if the results of two queries cannot be compared, with the reason."""


@dataclass(frozen=True)
class Comparison:
    """How results are compared."""

    is_keyed: bool
    key: tuple[str, ...]
    masked: Mapping[str, str]
    """The parts that are not compared, because they differ between two runs, each with what makes them differ."""
    dropped: tuple[str, ...]
    """The parts that are not compared, because at least one version has a sink without them."""

    def what(self, number: int) -> str:
        """Return the words with which a message describes `number` equal results."""
        if not self.is_keyed:
            return f"the same {number} rows, each equally often,"
        names = ", ".join(map(named, self.key)) or "one for all records"
        return f"the same last row for each of {number} keys ({names})"

    def row_of(self, one: Received) -> Row:
        """Return the compared parts of a result."""
        parts = {"key": _text(one.key), TOPIC: one.topic, "headers": repr(one.headers) if one.headers else ""}
        value = _json(one.value)
        if isinstance(value, dict):
            parts |= {FIELD + name: json.dumps(inner, sort_keys=True) for name, inner in value.items()}
        else:
            parts["value"] = _text(one.value)
        hidden = {*self.masked, *self.dropped}
        kept = {name: text for name, text in parts.items() if name not in hidden}
        if "value" in hidden:
            kept = {name: text for name, text in kept.items() if not name.startswith(FIELD)}
        return tuple(sorted((name, text) for name, text in kept.items() if text or not name.startswith(KAFKA_PARTS)))

    def count(self, results: Iterable[Received]) -> int:
        """Return the number of compared rows."""
        rows = [self.row_of(one) for one in results]
        return len(set(map(self.key_of, rows))) if self.is_keyed else len(rows)

    def key_of(self, row: Row) -> Row:
        """Return the key of a row. The key includes the topic, so a row never replaces a row for another topic."""
        return tuple(part for part in row if part[0] in {*self.key, TOPIC})


class Difference(NamedTuple):
    """The different rows of both versions for one key or, without keys, their different numbers of copies of a row."""

    old: tuple[Row, ...]
    new: tuple[Row, ...]


def comparison_of(old: Facts, new: Facts, given: Sequence[str] = ()) -> Comparison:
    """Return how to compare the results of two queries. `given` contains the key columns that the user has named."""
    if odd := {*old.topics} ^ {*new.topics}:
        raise NotComparableError(f"only one version reads {', '.join(sorted(odd))}; make both read the same topics")
    masked = {**old.masked, **new.masked}
    dropped = () if old.is_to_kafka and new.is_to_kafka else KAFKA_PARTS
    keyed = [one for one in (old, new) if one.is_keyed]
    key = tuple(name if name in KAFKA_PARTS else FIELD + name for name in given)
    if keyed and not key:
        problems = [one.problem for one in keyed if one.problem]
        if len(problems) == len(keyed):
            raise NotComparableError(f"{problems[0]}; pass the key columns as --key A,B")
        key = tuple(dict.fromkeys(name for one in keyed for name in one.key))
    if unstable := [name for name in key if name in masked]:
        raise NotComparableError(
            f"the key column {named(unstable[0])} depends on {masked[unstable[0]]}, so two runs have different keys; "
            "pass other key columns as --key A,B"
        )
    if not {*old.parts, *new.parts} - {*masked, *dropped, *key, TOPIC} and masked:
        names = ", ".join(f"{named(name)} (depends on {reason})" for name, reason in masked.items())
        raise NotComparableError(f"the values of all columns differ between two runs: {names}")
    return Comparison(bool(keyed), key, masked, dropped)


def differences(
    comparison: Comparison, old: Iterable[Received], new: Iterable[Received], still_open: Collection[Row] = ()
) -> list[Difference]:
    """Return the differences. `still_open` contains keys whose windows a query in append mode has not closed."""
    rows = [[comparison.row_of(one) for one in results] for results in (old, new)]
    if not comparison.is_keyed:
        before, after = map(Counter, rows)
        odd = [row for row in {**before, **after} if before[row] != after[row]]
        return [Difference((row,) * before[row], (row,) * after[row]) for row in odd]
    last = [{comparison.key_of(row): row for row in part} for part in rows]
    keys = [key for key in {**last[0], **last[1]} if key not in still_open or key in last[0]]
    pairs = [tuple((part[key],) if key in part else () for part in last) for key in keys]
    return [Difference(before, after) for before, after in pairs if before != after]


def named(part: str) -> str:
    """Return a part's name without the prefix of JSON fields, for a message."""
    return part.removeprefix(FIELD)


def _text(value: bytes | None) -> str:
    return "null" if value is None else value.decode(errors="backslashreplace")


def _json(value: bytes | None) -> object:
    try:
        return json.loads(value or b"")
    except (ValueError, RecursionError):
        return None
