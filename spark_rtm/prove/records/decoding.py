"""Determine from a query's plan how the query decodes records: the format, and the fields with their types."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import DataType, LongType, StringType, StructField, StructType

from spark_rtm.prove.records.plan import Node, plan_of

JSON, CSV, OTHER, NONE = "json", "csv", "other", ""
OTHER_DECODERS = {
    *("JsonToStructs", "CsvToStructs", "XmlToStructs", "ParseJson", "RegExpExtract"),
    *("AvroDataToCatalyst", "FromAvro", "ProtobufDataToCatalyst", "FromProtobuf"),
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
"""Functions that can be slow for long strings, by expression class."""
SEPARATOR = re.compile(r"\bfrom_csv\([^\n]*?\((?:sep|delimiter),(.+?)\), ")
STEP = re.compile(r"\.([\w-]+)|\['([^']+)'\]")


@dataclass(frozen=True)
class Decoding:
    """The way in which a query decodes record values."""

    format: str
    """`JSON`, `CSV`, `OTHER` for unknown fields, or `NONE` if the query does not read record values."""
    schema: StructType = field(default_factory=StructType)
    separator: str = ","
    patterns: tuple[tuple[str, str, frozenset[str]], ...] = ()
    """Function, pattern and column names for each expression of a class in `PATTERNS`."""

    def line(self, fields: Mapping[str, Any]) -> str:
        """Format the fields as a CSV line."""
        return self.separator.join("" if value is None else str(value) for value in fields.values())


def decoding(rows: DataFrame) -> Decoding:
    """Return how a query decodes its stream's records."""
    trees = [tree for _, root in plan_of(rows).expressions for tree in root.all()]
    # The plan's JSON omits the options of `from_csv`.
    found = SEPARATOR.search(rows._jdf.queryExecution().analyzed().toString())  # noqa: SLF001 - no public plan
    separator = found[1] if found else ","
    patterns = tuple(
        (PATTERNS[tree.kind], _literal(tree.children[1]) if len(tree.children) > 1 else "", _names(tree.children[0]))
        for tree in trees
        if tree.kind in PATTERNS and tree.children
    )
    if fields := [*_schemas(trees, "JsonToStructs"), *_paths(trees)]:
        return Decoding(JSON, _merged(fields), patterns=patterns)
    if fields := list(_schemas(trees, "CsvToStructs")):
        return Decoding(CSV, _merged(fields), separator, patterns)
    if columns := _columns(trees):
        return Decoding(CSV, columns[1], columns[0], patterns)
    return Decoding(OTHER if any(map(_decodes, trees)) else NONE, patterns=patterns)


def _literal(node: Node) -> str:
    return str(node.content.get("value")) if node.kind == "Literal" else ""


def _names(node: Node) -> frozenset[str]:
    readers = (one for one in node.all() if one.kind in {"AttributeReference", "GetStructField"})
    return frozenset(str(reader.content.get("name")) for reader in readers)


def _schemas(trees: Iterable[Node], name: str) -> Iterator[StructField]:
    for tree in trees:
        schema = tree.content.get("schema")
        if tree.kind == name and isinstance(schema, dict) and "fields" in schema:
            yield from StructType.fromJson(schema).fields


def _paths(trees: Iterable[Node]) -> Iterator[StructField]:
    for tree in trees:
        if tree.kind in {"GetJsonObject", "VariantGet"} and tree.children[1:]:
            steps = [dotted or quoted for dotted, quoted in STEP.findall(_literal(tree.children[1]))]
            kind: DataType = StringType()
            for step in reversed(steps[1:]):
                kind = StructType([StructField(step, kind)])
            if steps:
                yield StructField(steps[0], kind)
        elif tree.kind == "JsonTuple":
            yield from (StructField(_literal(child), StringType()) for child in tree.children[1:] if _literal(child))


def _columns(trees: Sequence[Node]) -> tuple[str, StructType] | None:
    """Return the separator and the columns, if the query splits its records."""
    split = {
        str(t.content["name"]): t.children[0]
        for t in trees
        if t.kind == "Alias" and t.children[0].kind == "StringSplit"
    }
    numbers, separators = {id(t.children[0]) for t in trees if _is_number(t)}, list[str]()
    kinds = dict[int, DataType]()
    for tree in trees:
        if tree.kind in {"GetArrayItem", "ElementAt"} and _literal(tree.children[1]).isdigit():
            array = split.get(str(tree.children[0].content.get("name")), tree.children[0])
            if array.kind == "StringSplit" and _names(array.children[0]) == {"value"}:
                kind = LongType() if id(tree) in numbers else StringType()
                kinds[int(_literal(tree.children[1])) + (tree.kind == "GetArrayItem")] = kind
                separators.append(_literal(array.children[1]).replace("\\", ""))
    columns = [StructField(f"column {n}", kinds.get(n, StringType())) for n in range(1, max(kinds, default=0) + 1)]
    return (separators[0], StructType(columns)) if columns else None


def _is_number(tree: Node) -> bool:
    # The type of an array or struct is a dictionary, so it cannot be looked up in a set.
    return tree.kind == "Cast" and tree.content.get("dataType") not in ("string", "binary")


def _decodes(tree: Node) -> bool:
    return tree.kind in OTHER_DECODERS or (_is_number(tree) and _names(tree) == {"value"})


def _merged(fields: Iterable[StructField]) -> StructType:
    """Merge fields into one schema. Structs with the same name are merged."""
    merged = dict[str, StructField]()
    for found in fields:
        before, kind = merged.get(found.name), found.dataType
        if before and isinstance(before.dataType, StructType) and isinstance(kind, StructType):
            kind = _merged([*before.dataType.fields, *kind.fields])
        elif before:
            continue
        merged[found.name] = StructField(found.name, kind, found.nullable)
    return StructType(list(merged.values()))
