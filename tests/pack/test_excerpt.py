"""Excerpts are cut by name and are exactly what stands in the module."""

from pathlib import Path

import pytest

from scripts.pack.excerpt import excerpt

MODULE = '''
# Why it is so.
LIMIT = 3

other = 4


@decorated
def run(a):
    """Run."""
    return a


class Box:
    size: int = 1

    # A reason.
    def open(self):
        return self.size
'''


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("LIMIT", "# Why it is so.\nLIMIT = 3\n"),
        ("other", "other = 4\n"),
        ("run", '@decorated\ndef run(a):\n    """Run."""\n    return a\n'),
        ("Box.size", "size: int = 1\n"),
        ("Box.open", "# A reason.\ndef open(self):\n    return self.size\n"),
    ],
)
def test_symbol_is_cut_with_what_belongs_to_it(tmp_path: Path, name: str, expected: str) -> None:
    """Decorators and the comment above belong to a symbol; its indentation does not."""
    (tmp_path / "m.py").write_text(MODULE)

    assert expected == excerpt(tmp_path, f"m.py:{name}")


@pytest.mark.parametrize(
    ("target", "missing"), [("m.py:gone", "'gone'"), ("n.py:run", "'n.py'"), ("m.py:Box.gone", "gone")]
)
def test_missing_symbol_is_named(tmp_path: Path, target: str, missing: str) -> None:
    """A page that shows code that is no longer there cannot be generated."""
    (tmp_path / "m.py").write_text(MODULE)

    with pytest.raises(ValueError, match=missing):
        excerpt(tmp_path, target)
