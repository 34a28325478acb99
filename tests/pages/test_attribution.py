import ast
import json
import re
from importlib import import_module
from itertools import pairwise

import pytest

from examples.attribution.events import FAMILIES
from scripts.pack import files
from spark_rtm.text import markdown

RULE = files.ROOT / "examples/attribution/correlation/rule.py"
PAGE = files.ROOT / "references/attribution.md"


def _codes_of_the_rule() -> tuple[set[str], set[str]]:
    literal, composed = {"unfilled"}, set()
    for node in ast.walk(ast.parse(RULE.read_text())):
        if isinstance(node, ast.Call):
            codes = [argument for argument in node.args[:1] if ast.unparse(node.func) == "Match"]
            codes += [keyword.value for keyword in node.keywords if keyword.arg == "code"]
            for code in codes:
                literal |= {word for word in re.findall(r"'([a-z_]+)'", ast.unparse(code)) if not word.endswith("_")}
                composed |= set(re.findall(r"'([a-z]+_)\{", ast.unparse(code)))
    return literal, {prefix + family for prefix in composed | {"orphan_"} for family in (*FAMILIES, "step")}


def test_page_names_exactly_the_codes_of_the_rule() -> None:
    [table] = [table for table in markdown.tables(PAGE.read_text()) if table.header[0] == "code"]

    named = {code for _, cells in table.rows for code in re.findall(r"`([a-z_]+)`", cells[0])}

    literal, composed = _codes_of_the_rule()
    assert set() == literal - named
    assert set() == named - literal - composed
    assert {"matched", "pending", "late_click", "orphan_step"} <= named & (literal | composed)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("schemas", "INPUT"),
        ("schemas", "EVENTS"),
        ("correlation.schemas", "ATTRIBUTED"),
        ("attributed_to_pacing", "PACING"),
        ("touches_to_credit", "CREDITS"),
    ],
)
def test_row_beside_a_schema_has_the_fields_of_the_schema(module: str, name: str) -> None:
    """A field that may be null can be absent from the row."""
    loaded = import_module(f"examples.attribution.{module}")
    statements = ast.parse((files.ROOT / f"{loaded.__name__.replace('.', '/')}.py").read_text()).body
    [text] = [
        ast.literal_eval(ast.unparse(docstring))
        for assignment, docstring in pairwise(statements)
        if isinstance(assignment, ast.Assign) and ast.unparse(assignment.targets[0]) == name
    ]

    row, schema = json.loads(text[text.index("{") :]), getattr(loaded, name)

    assert row.keys() == {field.name for field in schema if field.name in row or not field.nullable}
