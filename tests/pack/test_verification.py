import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

from scripts.pack import files
from scripts.pack.verification import BLOCKS, ROWS, verification

PARSER = MarkdownIt("commonmark").enable("table")
OPTION = re.compile(r"\b(raises|excerpt|requires)=")
KINDS = {"python": "run", "mermaid": "text", "markdown": "text"}
PARSED = {"json", "yaml", "toml", "sql", "scala", "java"}


def tokens_of(path: Path) -> list[Token]:
    return PARSER.parse(re.sub(r"\A---\n.*?\n---\n", "", path.read_text(encoding="utf-8"), flags=re.DOTALL))


def kind_of_block(info: str) -> str:
    """Return the key in `BLOCKS` of a block with this info string."""
    language = info.split(maxsplit=1)[0]
    option = OPTION.search(info) if language == "python" else None
    return option[1] if option else "parsed" if language in PARSED else KINDS.get(language, language)


def anchors_with_code(tokens: list[Token]) -> set[str]:
    """Return the anchors of all sections in which a block of Python runs."""
    open_sections: list[tuple[int, str]] = []
    found = set()
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        if token.type == "heading_open" and following is not None:
            level = int(token.tag[1])
            anchor = re.sub(r"[^\w\s-]", "", re.sub(r"\]\([^)]*\)", "", following.content)).strip().lower()
            open_sections = [(other, name) for other, name in open_sections if other < level]
            open_sections.append((level, re.sub(r"\s", "-", anchor)))
        if token.type == "fence" and kind_of_block(token.info) in {"run", "raises"}:
            found |= {name for _, name in open_sections}
    return found


def claim_tables(tokens: list[Token]) -> Iterator[SyntaxTreeNode]:
    is_generated, comment = False, ""
    for node in SyntaxTreeNode(tokens).children:
        comment = node.content.strip() if node.type == "html_block" else comment
        if node.type == "html_block" and "<!-- generated" in comment:
            is_generated = True
        elif node.type == "html_block" and "<!-- end" in comment:
            is_generated = False
        elif node.type == "table" and not is_generated and not comment.endswith("<!-- no engine claim -->"):
            yield node
        comment = comment if node.type == "html_block" else ""


def evidence(tokens: list[Token]) -> Iterator[list[str]]:
    for node in claim_tables(tokens):
        header, *rows = [row for part in node.children for row in part.children]
        titles = [cell.children[0].content for cell in header.children]
        if "evidence" in titles:
            cells = [row.children[titles.index("evidence")] for row in rows]
            yield from ([str(link.attrs["href"]) for link in cell.walk() if link.type == "link"] for cell in cells)


def kind_of_row(page: Path, targets: list[str]) -> str:
    """Return the key in `ROWS` of a row with these links as evidence."""
    is_public = any(target.startswith("http") for target in targets)
    is_executed = False
    for target in targets:
        name, _, anchor = target.partition("#")
        is_executed |= name.startswith("../tests/")
        if anchor and not target.startswith("http"):
            is_executed |= anchor in anchors_with_code(tokens_of(page.parent / name if name else page))
    return {(1, 1): "both", (1, 0): "public", (0, 1): "executed", (0, 0): "pack"}[is_public, is_executed]


def counted(root: Path) -> dict[str, int]:
    blocks = Counter(
        kind_of_block(token.info) for path in files.pages(root) for token in tokens_of(path) if token.type == "fence"
    )
    rows = Counter(
        kind_of_row(path, targets) for path in files.references(root) for targets in evidence(tokens_of(path))
    )
    assert set(blocks) <= set(BLOCKS)
    return {text: blocks[name] for name, text in BLOCKS.items()} | {text: rows[name] for name, text in ROWS.items()}


def printed(text: str) -> dict[str, int]:
    rows = re.findall(r"^\| (.*) \| (\d+) \|$", text, re.MULTILINE)
    return {name: int(number) for name, number in rows if name in {*BLOCKS.values(), *ROWS.values()}}


def test_pages_print_the_numbers_of_an_independent_count() -> None:
    """CONTRIBUTING.md states how many code blocks run and how many rows have a test or a source; the README sums up."""
    numbers = printed((files.ROOT / files.CONTRIBUTING).read_text(encoding="utf-8"))

    assert counted(files.ROOT) == numbers
    tested = numbers[ROWS["executed"]] + numbers[ROWS["both"]]
    total = sum(numbers[row] for row in ROWS.values())
    summary = (files.ROOT / "README.md").read_text(encoding="utf-8").partition("generated: verified -->")[2]
    first, second, _ = summary.split("\n<!-- end -->")[0].strip().splitlines()
    assert [numbers[BLOCKS["run"]], numbers[BLOCKS["raises"]]] == [int(n) for n in re.findall(r" (\d+) ", first)]
    assert [total, tested, numbers[ROWS["public"]]] == [int(n) for n in re.findall(r" (\d+) ", second)]
    assert numbers[BLOCKS["run"]] > 20
    assert numbers[ROWS["executed"]] > 100


@pytest.mark.parametrize(
    ("addition", "line"),
    [
        ("```python\nprint(spark)\n```\n", BLOCKS["run"]),
        ('~~~python {raises="X"}\nprint(spark)\n~~~\n', BLOCKS["raises"]),
        ("```sql\nselect 1\n```\n", BLOCKS["parsed"]),
        ("| a | evidence |\n|---|---|\n| b | [test](../tests/test_a.py) |\n", ROWS["executed"]),
        ("| a | evidence |\n|---|---|\n| b | [docs] |\n\n[docs]: https://a.b 'read 2026-11-23'\n", ROWS["public"]),
        ("| a | evidence |\n|---|---|\n| b | [more](#empty), [docs](https://a.b) 2026-11-23 |\n", ROWS["public"]),
        ("| a | evidence |\n|---|---|\n| b | [more](#page), [docs](https://a.b) 2026-11-23 |\n", ROWS["both"]),
        ("| a | evidence |\n|---|---|\n| b | [more](#empty) |\n", ROWS["pack"]),
    ],
)
def test_count_follows_each_addition_to_a_page(tmp_path: Path, addition: str, line: str) -> None:
    page = tmp_path / "references/page.md"
    page.parent.mkdir()
    page.write_text("# Page\n\n```python\nprint(1)\n```\n\n## Empty\n\n")
    before = printed(verification(tmp_path, ""))
    assert counted(tmp_path) == before

    page.write_text(page.read_text() + addition)

    assert {**before, line: before[line] + 1} == printed(verification(tmp_path, ""))
    assert counted(tmp_path) == printed(verification(tmp_path, ""))


def test_wrong_number_on_the_page_is_found() -> None:
    """The comparison can fail: a number that is too high differs from the count."""
    text = (files.ROOT / files.CONTRIBUTING).read_text(encoding="utf-8")
    number = printed(text)[BLOCKS["run"]]

    assert counted(files.ROOT) != printed(text.replace(f"| {number} |", f"| {number + 1} |", 1))


def test_rows_of_generated_tables_and_without_claims_are_not_counted(tmp_path: Path) -> None:
    page = tmp_path / "references/page.md"
    page.parent.mkdir()
    row = "| a | evidence |\n|---|---|\n| b | [test](../tests/test_a.py) |\n"
    page.write_text(f"# Page\n\n<!-- generated: x -->\n{row}<!-- end -->\n\n<!-- no engine claim -->\n{row}")

    assert 0 == sum(counted(tmp_path).values()) == sum(printed(verification(tmp_path, "")).values())
