"""Find the literals that a query compares with record fields, in the JSON of its analysed plan."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pyspark.sql import DataFrame

EQUAL = {"EqualTo", "EqualNullSafe", "In"}
ORDERED = {"GreaterThan", "GreaterThanOrEqual", "LessThan", "LessThanOrEqual"}
COMPARED = {*EQUAL, *ORDERED, "Like", "StartsWith", "EndsWith", "Contains"}
MAX_TEXTS = 3
INTEGERS, FRACTIONS = ("byte", "short", "integer", "long"), ("float", "double", "decimal")
NUMBERS = (*INTEGERS, *FRACTIONS)
# Expressions that return an item of an array or a map.
READERS = {"ArrayFilter", "ArrayExists", "GetArrayItem", "Get", "ElementAt", "GetMapValue", "PythonUDF", "ScalaUDF"}
FIELD_OF = re.compile(r"(\w+)(?:'\])?$")
NUMBERED = re.compile(r"#\d+L?")


@dataclass(frozen=True)
class Node:
    """An expression of a plan, with its child expressions."""

    kind: str
    content: dict[str, Any]
    children: list["Node"]

    def all(self) -> Iterator["Node"]:
        """Yield this expression and its descendants."""
        yield self
        for child in self.children:
            yield from child.all()


@dataclass(frozen=True)
class Comparison:
    """A comparison of fields with literals."""

    names: frozenset[str]
    values: Sequence[Any]
    """Values on both sides of the literals; the first one probably passes a filter."""
    texts: Sequence[str]
    """The literals, if the fields are compared for equality with strings."""
    is_filter: bool


@dataclass(frozen=True)
class Plan:
    """The expressions of the operators that process a stream."""

    operators: Sequence[dict[str, Any]]
    aliases: dict[int, Node] = field(default_factory=dict)

    @cached_property
    def expressions(self) -> list[tuple[str, Node]]:
        """Each expression, with the kind of the operator that contains it."""
        found = [
            (_kind(operator_), tree)
            for operator_ in self.operators
            # The attributes of a source are not expressions.
            if operator_["num-children"]
            for value in operator_.values()
            for tree in expressions_of(value)
        ]
        for _, tree in found:
            self.aliases.update({n.content["exprId"]["id"]: n.children[0] for n in tree.all() if n.kind == "Alias"})
        return found

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """The comparisons of fields with literals, filters first."""
        found = [c for kind, tree in self.expressions for c in self._compared(tree, is_filter=kind == "Filter")]
        return sorted(found, key=lambda comparison: not comparison.is_filter)

    @cached_property
    def headers(self) -> list[str]:
        """The names of the headers that the query reads; a made-up name if it reads one by position."""
        names, reads_any = list[str](), False
        for reader in (node for _, tree in self.expressions for node in tree.all() if node.kind in READERS):
            if any(n.kind == "AttributeReference" and n.content["name"] == "headers" for n in self.behind(reader)):
                reads_any = True
                names += [value for node in reader.all() if isinstance(value := _literal(node), str)]
        return list(dict.fromkeys(names)) or ["header"] * reads_any

    def behind(self, node: Node) -> Iterator[Node]:
        """Yield an expression and all expressions that it depends on, also in lower operators."""
        for inner in node.all():
            yield inner
            if inner.kind == "AttributeReference" and (source := self.aliases.get(inner.content["exprId"]["id"])):
                yield from self.behind(source)

    def candidates(self, name: str, default: Any) -> list[Any]:
        """Return values for a field, best first: both sides of each literal, and `default`."""
        kind = type(default)
        own = [comparison for comparison in self.comparisons if name in comparison.names]
        # A projection such as CASE WHEN returns a value for every number, but often only for the strings that it lists.
        wanted = [c for c in own if c.is_filter or (kind is str and c.texts)]
        values = [_as(kind, value) for comparison in wanted for value in comparison.values]
        values += [default, *(_as(kind, value) for comparison in own for value in comparison.values)]
        return list({repr(value): value for value in values if value is not ...}.values())

    def _names(self, node: Node) -> set[str]:
        if node.kind in {"GetStructField", "GetArrayStructFields"} and (name := _name(node)):
            return {name}
        if node.kind in {"GetJsonObject", "VariantGet"}:
            return {found[1] for path in path_of(node) if (found := FIELD_OF.search(path))}
        if node.kind == "AttributeReference":
            source = self.aliases.get(node.content["exprId"]["id"])
            return {node.content["name"]} | (self._names(source) if source else set())
        return set[str]().union(*(self._names(child) for child in node.children))

    def _compared(self, node: Node, *, is_filter: bool, is_wanted: bool = True) -> Iterator[Comparison]:
        if node.kind in {"And", "Or", "Not"}:
            for child in node.children:
                yield from self._compared(child, is_filter=is_filter, is_wanted=is_wanted != (node.kind == "Not"))
            return
        source = self.aliases.get(node.content["exprId"]["id"]) if node.kind == "AttributeReference" else None
        if is_filter and source:
            yield from self._compared(source, is_filter=True, is_wanted=is_wanted)
            return
        named = next(expressions_of(node.content["input"])) if node.kind == "Between" else node
        # `when(~level.isin("INFO", "WARN"), "bad level")` rejects other levels.
        values = _values(node, is_filter=is_filter, is_wanted=is_wanted or not is_filter)
        if (names := self._names(named)) and values:
            texts = [text for text in _literals(node) if isinstance(text, str)] if node.kind in EQUAL else []
            yield Comparison(frozenset(names), values, texts, is_filter)
        for child in () if node.kind == "Between" else node.children:
            yield from self._compared(child, is_filter=False)


def plan_of(rows: DataFrame, *, of_stream: bool = True) -> Plan:
    """Return the analysed plan of some rows."""
    operators = json.loads(rows._jdf.queryExecution().analyzed().toJSON())  # noqa: SLF001 - PySpark has no plan as JSON
    return Plan(above_stream(operators) if of_stream else operators)


def filters_of(rows: DataFrame) -> list[str]:
    """Return the condition of each filter as text."""
    text = str(rows._jdf.queryExecution().analyzed())  # noqa: SLF001 - PySpark has no plan as text
    found = [line.partition("Filter ")[2] for line in text.splitlines() if re.match(r"[^A-Za-z]*Filter ", line)]
    return [NUMBERED.sub("", condition) for condition in found]


def path_of(node: Node) -> list[str]:
    """Return the JSON paths that an expression reads."""
    return [str(child.content["value"]) for child in node.children[1:] if child.kind == "Literal"]


def above_stream(plan: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """
    Return the operators that have a streaming source below them.

    `plan` lists the operators from the root, each followed by its children. Without a stream, all operators are kept.
    """
    kept = list[dict[str, Any]]()

    def visit(position: int) -> tuple[int, bool]:
        node = plan[position]
        following, has_stream = position + 1, "StreamingRelation" in node["class"]
        for _ in range(node["num-children"]):
            following, found = visit(following)
            has_stream |= found
        if has_stream:
            kept.append(node)
        return following, has_stream

    visit(0)
    return kept or plan


def expressions_of(value: Any) -> Iterator[Node]:
    """Yield the expressions in an attribute of an operator, where each expression is a list of nodes from its root."""
    if isinstance(value, list) and value and isinstance(value[0], dict) and "num-children" in value[0]:
        yield _tree(iter(value))
    elif isinstance(value, list):
        for part in value:
            yield from expressions_of(part)


def _kind(content: dict[str, Any]) -> str:
    return str(content["class"]).rpartition(".")[2]


def _tree(nodes: Iterator[dict[str, Any]]) -> Node:
    content = next(nodes)
    return Node(_kind(content), content, [_tree(nodes) for _ in range(content["num-children"])])


def _name(node: Node) -> str:
    """Return the name of the field that a `GetStructField` reads. For `e.*`, the node contains only its position."""
    if named := node.content.get("name") or node.content.get("field", {}).get("name"):
        return str(named)
    below = node.children[0].content
    fields: list[dict[str, Any]] = next(
        (kind["fields"] for kind in (below.get("dataType"), below.get("schema")) if isinstance(kind, dict)), []
    )
    return str(fields[node.content["ordinal"]]["name"]) if fields else ""


def _literal(node: Node) -> Any:
    """Return the value of a literal, or of a cast literal such as `cast(80 as double)`, else None."""
    while node.kind == "Cast":
        node = node.children[0]
    if node.kind != "Literal" or node.content["value"] is None:
        return None
    value, kind = str(node.content["value"]), str(node.content["dataType"])
    if kind == "boolean":
        return value == "true"
    if kind.startswith(NUMBERS):
        return float(value) if "." in value or "E" in value else int(value)
    return value if kind == "string" else None


def _literals(node: Node) -> list[Any]:
    return [value for child in node.children if (value := _literal(child)) is not None]


def _values(node: Node, *, is_filter: bool, is_wanted: bool) -> list[Any]:
    """Return values for which a condition is true, then others; without `is_wanted`, the other way around."""
    found, literals = list[Any](), _literals(node)
    if node.kind == "Between":
        found = [_literal(next(expressions_of(node.content[bound]))) for bound in ("lower", "upper")]
    elif node.kind in COMPARED and literals:
        found = _sides(node, *literals)
    elif is_filter and node.kind in {"AttributeReference", "GetStructField"}:
        found = [True, False]
    elif is_filter and node.kind == "IsNull" and is_wanted:
        return [None]
    found = [value for value in found if value is not None]
    return found if is_wanted else found[::-1]


def _sides(node: Node, first: Any, *others: Any) -> list[Any]:
    if node.kind == "Like":
        return [first.replace("%", "").replace("_", "a"), "other"]
    if isinstance(first, str):
        return [first, *others[:MAX_TEXTS], "", f"{first}a"]
    if isinstance(first, bool):
        return [first, not first]
    is_left = _literal(node.children[0]) is not None
    sides = [first + 1, first - 1] if node.kind.startswith("Greater") != is_left else [first - 1, first + 1]
    return [sides[0], first, sides[1]] if node.kind in {"GreaterThan", "LessThan"} else [first, *sides]


def _as(kind: type, value: Any) -> Any:
    """Return a value converted to the type of a field, or `...` if that is not possible."""
    if value is None or type(value) is kind:
        return value
    if bool in {kind, type(value)}:
        return ...
    try:
        return kind(value)
    except (TypeError, ValueError):
        return ...
