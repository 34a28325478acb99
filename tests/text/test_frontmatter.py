"""The frontmatter is read as the reference implementation of the specification reads it."""

from pathlib import Path

import pytest
import skills_ref

from scripts.pack import files
from scripts.text.frontmatter import read_frontmatter


def test_fields_of_the_skill_are_those_that_the_reference_reads() -> None:
    """Two readers agree on the real page."""
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
def test_fields_are_read(text: str, fields: dict[str, str]) -> None:
    """Plain, nested and folded values are understood."""
    assert fields == read_frontmatter(text)


def test_version_is_that_of_the_project() -> None:
    """One release has one number."""
    fields = read_frontmatter((Path(files.ROOT) / files.SKILL).read_text(encoding="utf-8"))

    assert f'version = "{fields["metadata.version"]}"' in (files.ROOT / "pyproject.toml").read_text()
