"""Find the literals that a query compares with record fields, in the analyzed plan's JSON."""

import fnmatch
import json
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pyspark.sql import DataFrame

LITERALS = {"StartsWith": "{}*", "EndsWith": "*{}", "Contains": "*{}*"}
HOLDS: dict[str, Callable[[Any, Any], Any]] = {
    "EqualTo": operator.eq,
    "EqualNullSafe": operator.eq,
    "In": lambda value, literals: value in literals,
    "Like": fnmatch.fnmatchcase,
    "IsNull": lambda value, _: value is None,
    "GreaterThan": operator.gt,
    "GreaterThanOrEqual": operator.ge,
    "LessThan": operator.lt,
    "LessThanOrEqual": operator.le,
}
MAX_TEXTS, MAX_HEADERS = 3, 20
MIRRORED = {"Greater": "Less", "Less": "Greater"}
INTEGERS, FRACTIONS = ("byte", "short", "integer", "long"), ("float", "double", "decimal")
NUMBERS = (*INTEGERS, *FRACTIONS)
# Functions that return a type name. A literal compared with a type name is not a field value.
TYPES = {"SchemaOfVariant", "TypeOf"}
# Expressions that return an element of an array or a map.
READERS = {"ArrayFilter", "ArrayExists", "GetArrayItem", "Get", "ElementAt", "GetMapValue", "PythonUDF", "ScalaUDF"}
FIELD_OF = re.compile(r"(\w+)(?:'\])?$")
NUMBERED = re.compile(r"#\d+L?")


@dataclass(frozen=True)
class Node:
    """An expression in a plan, with its child expressions."""

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
    """A comparison of fields with a literal, or with a tuple of literals for `In`."""

    names: frozenset[str]
    operator: str
    value: Any
    is_wanted: bool
    """Whether the comparison must be true (False below a NOT)."""
    is_filter: bool

    def weight(self, value: Any) -> int:
        """Return how strongly the comparison suggests a value for its field. Filters weigh more than projections."""
        try:
            return (10 if self.is_filter else 1) * (bool(HOLDS[self.operator](value, self.value)) == self.is_wanted)
        except TypeError:
            return 0

    def sides(self) -> list[Any]:
        """Return values for which comparisons with the literal have different outcomes."""
        if self.operator == "Like":
            return [self.value.replace("*", "").replace("?", "a"), "other"]
        first, *others = self.value if self.operator == "In" else [self.value]
        if isinstance(first, str):
            return [first, *others[:MAX_TEXTS], f"{first}a", ""]
        is_number = isinstance(first, int | float) and not isinstance(first, bool)
        return [first + 1, first - 1, first, first * 10] if is_number else [first, not first]


@dataclass(frozen=True)
class Plan:
    """The expressions in the operators that process a stream."""

    operators: Sequence[dict[str, Any]]
    aliases: dict[int, Node] = field(default_factory=dict)

    @cached_property
    def expressions(self) -> list[tuple[str, Node]]:
        """Each expression, with the type of its operator."""
        found = [
            (_kind(operator_), tree)
            for operator_ in self.operators
            # A source's attributes are not expressions.
            if operator_["num-children"]
            for value in operator_.values()
            for tree in expressions_of(value)
        ]
        for _, tree in found:
            self.aliases.update({n.content["exprId"]["id"]: n.children[0] for n in tree.all() if n.kind == "Alias"})
        return found

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """The comparisons of fields with literals, comparisons in filters first."""
        found = [c for kind, tree in self.expressions for c in self._compared(tree, is_filter=kind == "Filter")]
        return sorted(found, key=lambda comparison: not comparison.is_filter)

    @cached_property
    def headers(self) -> list[str]:
        """The names of the headers that the query reads, or generated names for headers read by position."""
        names, count = list[str](), 0
        for reader in (node for _, tree in self.expressions for node in tree.all() if node.kind in READERS):
            if any(n.kind == "AttributeReference" and n.content["name"] == "headers" for n in self.behind(reader)):
                literals = [value for node in reader.all() if (value := _literal(node)) is not None]
                names += [value for value in literals if isinstance(value, str)]
                count = max([count, 1, *(value + 1 for value in literals if type(value) is int)])
        names = list(dict.fromkeys(names))
        return [*names, *(f"header{n}" for n in range(len(names), min(count, MAX_HEADERS)))]

    def behind(self, node: Node) -> Iterator[Node]:
        """Yield an expression and all expressions on which it depends, including those in lower operators."""
        for inner in node.all():
            yield inner
            if inner.kind == "AttributeReference" and (source := self.aliases.get(inner.content["exprId"]["id"])):
                yield from self.behind(source)

    def candidates(self, name: str, default: Any) -> list[Any]:
        """Return values for a field, best first: `default`, and values on both sides of each literal."""
        kind = type(default)
        own = [comparison for comparison in self.comparisons if name in comparison.names]
        # A projection such as CASE WHEN returns a value for every number, but often only for listed strings.
        ranked = [c for c in own if c.is_filter or (kind is str and c.operator in {"EqualTo", "In"})]
        values = [default, *(_as(kind, value) for comparison in own for value in comparison.sides())]
        kept = list({repr(value): value for value in values if value is not ...}.values())
        return sorted(kept, key=lambda value: -sum(c.weight(_same(c, value)) for c in ranked))

    def _names(self, node: Node) -> set[str]:
        if node.kind in TYPES:
            return set()
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
        for name, value, names in self._bounds(node, is_filter=is_filter):
            if names and (name == "IsNull" or value is not None):
                # For example, `when(~level.isin("INFO", "WARN"), "bad level")` rejects all other levels.
                yield Comparison(frozenset(names), name, value, is_wanted or not is_filter, is_filter)
        for child in () if node.kind == "Between" else node.children:
            yield from self._compared(child, is_filter=False)

    def _bounds(self, node: Node, *, is_filter: bool) -> Iterator[tuple[str, Any, set[str]]]:
        """Yield operator, literal and field names for each comparison in an expression."""
        names = self._names(node)
        if node.kind == "Between":
            (named,), (low,), (high,) = (expressions_of(node.content[part]) for part in ("input", "lower", "upper"))
            yield "GreaterThanOrEqual", _literal(low), self._names(named)
            yield "LessThanOrEqual", _literal(high), self._names(named)
        elif node.kind in HOLDS.keys() - {"IsNull"} | LITERALS.keys():
            literals = [value for child in node.children if (value := _literal(child)) is not None]
            if literals:
                yield (*_operator(node, literals), names)
        elif is_filter and node.kind == "IsNull":
            yield "IsNull", None, names
        elif is_filter and node.kind in {"AttributeReference", "GetStructField"}:
            yield "EqualTo", True, names


def plan_of(rows: DataFrame, *, of_stream: bool = True) -> Plan:
    """Return a DataFrame's analyzed plan."""
    operators = json.loads(rows._jdf.queryExecution().analyzed().toJSON())  # noqa: SLF001 - PySpark has no plan as JSON
    return Plan(above_stream(operators) if of_stream else operators)


def filters_of(rows: DataFrame) -> list[str]:
    """Return each filter's condition as text."""
    text = str(rows._jdf.queryExecution().analyzed())  # noqa: SLF001 - PySpark has no plan as text
    found = [line.partition("Filter ")[2] for line in text.splitlines() if re.match(r"[^A-Za-z]*Filter ", line)]
    return [NUMBERED.sub("", condition) for condition in found]


def path_of(node: Node) -> list[str]:
    """Return the JSON paths that an expression reads."""
    return [str(child.content["value"]) for child in node.children[1:] if child.kind == "Literal"]


def above_stream(plan: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """
    Return the operators above a streaming source.

    `plan` contains the operators in pre-order. Without a stream, all operators are returned.
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
    """Yield the expressions in an operator's attribute, where each expression is a list of nodes in pre-order."""
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
    """Return the field name in a `GetStructField`. For `e.*`, the node contains only a position."""
    if named := node.content.get("name") or node.content.get("field", {}).get("name"):
        return str(named)
    below = node.children[0].content
    fields: list[dict[str, Any]] = next(
        (kind["fields"] for kind in (below.get("dataType"), below.get("schema")) if isinstance(kind, dict)), []
    )
    return str(fields[node.content["ordinal"]]["name"]) if fields else ""


def _literal(node: Node) -> Any:
    """Return the value of a literal or of a cast literal such as `cast(80 as double)`, otherwise None."""
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


def _operator(node: Node, literals: list[Any]) -> tuple[str, Any]:
    if node.kind == "In":
        return "In", tuple(literals)
    if node.kind in LITERALS:
        return "Like", LITERALS[node.kind].format(literals[0])
    if node.kind == "Like":
        return "Like", str(literals[0]).replace("%", "*").replace("_", "?")
    is_mirrored = _literal(node.children[0]) is not None
    word = next((word for word in MIRRORED if is_mirrored and node.kind.startswith(word)), "")
    return node.kind.replace(word, MIRRORED[word]) if word else node.kind, literals[0]


def _as(kind: type, value: Any) -> Any:
    """Convert a value to a field's type, or return `...` if the conversion fails."""
    if value is None or type(value) is kind:
        return value
    if bool in {kind, type(value)}:
        return ...
    try:
        return kind(value)
    except (TypeError, ValueError):
        return ...


def _same(comparison: Comparison, value: Any) -> Any:
    """Convert a value to the literal's type like Spark, or return None if the conversion fails."""
    literal = comparison.value[0] if comparison.operator == "In" else comparison.value
    if value is None or literal is None or isinstance(literal, bool):
        return value
    found = _as(type(literal), value)
    return None if found is ... else found
