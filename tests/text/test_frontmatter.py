import pytest
import skills_ref

from scripts.pack import files
from spark_rtm.text.frontmatter import read_frontmatter


def test_fields_of_skill_equal_the_reference_implementation() -> None:
    theirs = skills_ref.read_properties(files.ROOT)

    ours = read_frontmatter((files.ROOT / files.SKILL).read_text(encoding="utf-8"))

    assert (theirs.name, theirs.description, theirs.license) == (ours["name"], ours["description"], ours["license"])
    assert theirs.metadata == {"version": ours["metadata.version"]}


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("---\nname: a\ndescription: b: c\n---\n", {"name": "a", "description": "b: c"}),
        (
            "---\nname: 'a'\nmetadata:\n  version: \"1\"\nlicense: x\n---\n",
            {"name": "a", "metadata.version": "1", "license": "x"},
        ),
        ("---\ndescription: >-\n  one\n  two\nname: a\n---\n", {"description": "one two", "name": "a"}),
        ("# no frontmatter\n", {}),
    ],
    ids=["plain", "nested", "folded", "none"],
)
def test_plain_nested_and_folded_fields_are_parsed(text: str, fields: dict[str, str]) -> None:
    assert fields == read_frontmatter(text)
