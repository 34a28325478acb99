from pathlib import Path

import pytest

from scripts.pack.excerpt import excerpt

MODULE = '''
# A comment with the reason.
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
        ("LIMIT", "# A comment with the reason.\nLIMIT = 3\n"),
        ("other", "other = 4\n"),
        ("run", '@decorated\ndef run(a):\n    """Run."""\n    return a\n'),
        ("Box.size", "size: int = 1\n"),
        ("Box.open", "# A reason.\ndef open(self):\n    return self.size\n"),
    ],
)
def test_excerpt_includes_decorators_and_comment_above(tmp_path: Path, name: str, expected: str) -> None:
    (tmp_path / "m.py").write_text(MODULE)

    assert expected == excerpt(tmp_path, f"m.py:{name}")


@pytest.mark.parametrize(
    ("target", "missing"), [("m.py:gone", "'gone'"), ("n.py:run", "'n.py'"), ("m.py:Box.gone", "gone")]
)
def test_missing_symbol_is_named(tmp_path: Path, target: str, missing: str) -> None:
    (tmp_path / "m.py").write_text(MODULE)

    with pytest.raises(ValueError, match=missing):
        excerpt(tmp_path, target)


@pytest.mark.parametrize("place", ["../secret.py", "{tmp_path}/secret.py", "link.py", "link/secret.py"])
def test_excerpt_of_a_foreign_file_is_refused(tmp_path: Path, place: str) -> None:
    """A page cannot copy a file from outside the repository, neither by its path nor through a link."""
    root = tmp_path / "pack"
    root.mkdir()
    (tmp_path / "secret.py").write_text("TOKEN = 1\n")
    (root / "link.py").symlink_to(tmp_path / "secret.py")
    (root / "link").symlink_to(tmp_path)

    with pytest.raises(ValueError, match="is outside the repository"):
        excerpt(root, f"{place.format(tmp_path=tmp_path)}:TOKEN")
