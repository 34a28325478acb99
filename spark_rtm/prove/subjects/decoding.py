"""Find in a query's plan how it decodes records: the format, and the fields with their types."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import DataType, LongType, StringType, StructField, StructType

from spark_rtm.prove.subjects.filters import above_stream

JSON, CSV, OTHER, NONE = "json", "csv", "other", ""
OTHER_DECODERS = {
    "JsonToStructs",
    "CsvToStructs",
    "XmlToStructs",
    "AvroDataToCatalyst",
    "FromAvro",
    "ProtobufDataToCatalyst",
    "FromProtobuf",
    "RegExpExtract",
    "ParseJson",
}
PATTERNS = {
    "RegExpReplace": "regexp_replace",
    "RegExpExtract": "regexp_extract",
    "RegExpExtractAll": "regexp_extract_all",
    "RegExpInStr": "regexp_instr",
    "RLike": "rlike",
    "StringSplit": "split",
    "Levenshtein": "levenshtein",
}
"""Expressions that can be slow for long strings, by class."""
SEPARATOR = re.compile(r"\bfrom_csv\([^\n]*?\((?:sep|delimiter),(.+?)\), ")
STEP = re.compile(r"\.([\w-]+)|\['([^']+)'\]")


@dataclass(frozen=True)
class Decoding:
    """How a query reads the values of its records."""

    format: str
    """`JSON`, `CSV`, `OTHER` for unknown fields, or `NONE` if the query does not read the values."""
    schema: StructType = field(default_factory=StructType)
    separator: str = ","
    patterns: tuple[tuple[str, str, frozenset[str]], ...] = ()
    """Function, pattern and column names of each expression in `PATTERNS`."""

    def line(self, fields: Mapping[str, Any]) -> str:
        """Return the fields as a line of CSV."""
        return self.separator.join("" if value is None else str(value) for value in fields.values())


@dataclass(frozen=True)
class _Tree:
    """An expression in a plan, with its children."""

    node: Mapping[str, Any]
    children: tuple["_Tree", ...]

    @property
    def name(self) -> str:
        return str(self.node["class"]).rpartition(".")[2]

    @property
    def literal(self) -> str:
        return str(self.node.get("value")) if self.name == "Literal" else ""

    def below(self) -> Iterator["_Tree"]:
        """Yield this expression and its descendants."""
        yield self
        for child in self.children:
            yield from child.below()

    def columns(self) -> frozenset[str]:
        """Return the columns and fields that the expression reads."""
        return frozenset(
            str(tree.node.get("name")) for tree in self.below() if tree.name in {"AttributeReference", "GetStructField"}
        )


def decoding(rows: DataFrame) -> Decoding:
    """Return how a query decodes the records of its stream."""
    plan = rows._jdf.queryExecution().analyzed()  # noqa: SLF001 - PySpark has no plan as JSON
    separator = SEPARATOR.search(plan.toString())
    return decoding_of(above_stream(json.loads(plan.toJSON())), separator[1] if separator else ",")


def decoding_of(operators: Sequence[Mapping[str, Any]], separator: str = ",") -> Decoding:
    """
    Return how the operators of a plan in Spark's JSON form decode the records of their stream.

    This JSON omits the options of `from_csv`, so the separator comes from the plan as text.
    """
    trees = [
        tree for operator in operators for value in operator.values() for root in _roots(value) for tree in root.below()
    ]
    patterns = tuple(
        (PATTERNS[tree.name], tree.children[1].literal if len(tree.children) > 1 else "", tree.children[0].columns())
        for tree in trees
        if tree.name in PATTERNS and tree.children
    )
    if fields := [*_schemas(trees, "JsonToStructs"), *_paths(trees)]:
        return Decoding(JSON, _merged(fields), patterns=patterns)
    if fields := list(_schemas(trees, "CsvToStructs")):
        return Decoding(CSV, _merged(fields), separator, patterns)
    if columns := _columns(trees):
        return Decoding(CSV, columns[1], columns[0], patterns)
    return Decoding(OTHER if any(map(_decodes, trees)) else NONE, patterns=patterns)


def _roots(value: Any) -> Iterator[_Tree]:
    """Yield the expressions in a part of an operator, where each expression is a list of nodes."""
    if isinstance(value, list) and value and all(isinstance(part, dict) and "num-children" in part for part in value):
        yield _tree(value, 0)[0]
    elif isinstance(value, list | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _roots(part)


def _tree(nodes: Sequence[Mapping[str, Any]], position: int) -> tuple[_Tree, int]:
    node, children, following = nodes[position], list[_Tree](), position + 1
    for _ in range(node["num-children"]):
        child, following = _tree(nodes, following)
        children.append(child)
    return _Tree(node, tuple(children)), following


def _schemas(trees: Iterable[_Tree], name: str) -> Iterator[StructField]:
    for tree in trees:
        schema = tree.node.get("schema")
        if tree.name == name and isinstance(schema, dict) and "fields" in schema:
            yield from StructType.fromJson(schema).fields


def _paths(trees: Iterable[_Tree]) -> Iterator[StructField]:
    """Yield a field for each path or name that the query reads from JSON strings and variants."""
    for tree in trees:
        if tree.name in {"GetJsonObject", "VariantGet"} and tree.children[1:]:
            steps = [dotted or quoted for dotted, quoted in STEP.findall(tree.children[1].literal)]
            kind: DataType = StringType()
            for step in reversed(steps[1:]):
                kind = StructType([StructField(step, kind)])
            if steps:
                yield StructField(steps[0], kind)
        elif tree.name == "JsonTuple":
            yield from (StructField(child.literal, StringType()) for child in tree.children[1:] if child.literal)


def _columns(trees: Sequence[_Tree]) -> tuple[str, StructType] | None:
    """Return the separator and the columns of a query that splits its records."""
    split = {
        str(t.node["name"]): t.children[0] for t in trees if t.name == "Alias" and t.children[0].name == "StringSplit"
    }
    numbers, separators = {id(t.children[0]) for t in trees if _is_number(t)}, list[str]()
    kinds = dict[int, DataType]()
    for tree in trees:
        if tree.name in {"GetArrayItem", "ElementAt"} and tree.children[1].literal.isdigit():
            array = split.get(str(tree.children[0].node.get("name")), tree.children[0])
            if array.name == "StringSplit" and array.children[0].columns() == {"value"}:
                kind = LongType() if id(tree) in numbers else StringType()
                kinds[int(tree.children[1].literal) + (tree.name == "GetArrayItem")] = kind
                separators.append(array.children[1].literal.replace("\\", ""))
    columns = [StructField(f"column {n}", kinds.get(n, StringType())) for n in range(1, max(kinds, default=0) + 1)]
    return (separators[0], StructType(columns)) if columns else None


def _is_number(tree: _Tree) -> bool:
    return tree.name == "Cast" and tree.node.get("dataType") not in {"string", "binary"}


def _decodes(tree: _Tree) -> bool:
    return tree.name in OTHER_DECODERS or (_is_number(tree) and tree.columns() == {"value"})


def _merged(fields: Iterable[StructField]) -> StructType:
    """Return one schema in which each repeated struct has all of its fields."""
    merged = dict[str, StructField]()
    for found in fields:
        before, kind = merged.get(found.name), found.dataType
        if before and isinstance(before.dataType, StructType) and isinstance(kind, StructType):
            kind = _merged([*before.dataType.fields, *kind.fields])
        elif before:
            continue
        merged[found.name] = StructField(found.name, kind, found.nullable)
    return StructType(list(merged.values()))
