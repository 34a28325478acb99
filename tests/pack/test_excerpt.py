from pathlib import Path

import pytest

from scripts.pack.generate import excerpt

MODULE = '''
# A comment with the reason.
LIMIT = 3


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
        ("LIMIT", "# A comment with the reason.\nLIMIT = 3\n"),
        ("run", '@decorated\ndef run(a):\n    """Run."""\n    return a\n'),
        ("Box.size", "size: int = 1\n"),
        ("Box.open", "# A reason.\ndef open(self):\n    return self.size\n"),
    ],
)
def test_excerpt_includes_decorators_and_comment_above(tmp_path: Path, name: str, expected: str) -> None:
    (tmp_path / "m.py").write_text(MODULE)

    assert expected == excerpt(tmp_path, f"m.py:{name}")


@pytest.mark.parametrize(("target", "missing"), [("n.py:run", "'n.py'"), ("m.py:Box.gone", "gone")])
def test_missing_symbol_is_named(tmp_path: Path, target: str, missing: str) -> None:
    (tmp_path / "m.py").write_text(MODULE)

    with pytest.raises(ValueError, match=missing):
        excerpt(tmp_path, target)
