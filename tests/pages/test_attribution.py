"""The page about attribution names every result code of the rule, and no other."""

import ast
import re

from examples.attribution.correlation.rule import FAMILIES
from scripts.pack import files
from scripts.text import markdown

RULE = files.ROOT / "examples/attribution/correlation/rule.py"
PAGE = files.ROOT / "references/attribution.md"


def _codes_of_the_rule() -> tuple[set[str], set[str]]:
    """Return the codes that stand in the rule as they are, and those that it makes from a family's name."""
    plain, made = {"unfilled"}, set()
    for node in ast.walk(ast.parse(RULE.read_text())):
        if isinstance(node, ast.Call):
            codes = [argument for argument in node.args[:1] if ast.unparse(node.func) == "Verdict"]
            codes += [keyword.value for keyword in node.keywords if keyword.arg == "code"]
            for code in codes:
                plain |= {word for word in re.findall(r"'([a-z_]+)'", ast.unparse(code)) if not word.endswith("_")}
                made |= set(re.findall(r"'([a-z]+_)\{", ast.unparse(code)))
    return plain, {prefix + family for prefix in made | {"orphan_"} for family in (*FAMILIES, "step")}


def test_page_names_the_codes_of_the_rule() -> None:
    """A reader can look up each code that a result carries."""
    [table] = [table for table in markdown.tables(PAGE.read_text()) if table.header[0] == "code"]

    named = {code for _, cells in table.rows for code in re.findall(r"`([a-z_]+)`", cells[0])}

    plain, made = _codes_of_the_rule()
    assert set() == plain - named
    assert set() == named - plain - made
    assert {"matched", "pending", "late_click", "orphan_step"} <= named & (plain | made)
