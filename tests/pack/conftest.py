"""A copy of the pack in which a test can spoil something."""

import shutil
from pathlib import Path

import pytest

from scripts.pack import files, generate

LEFT_OVERS = shutil.ignore_patterns("__pycache__", ".*", "cases")


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """Return the root of a copy of the pack whose generated parts are up to date."""
    root = tmp_path / "pack"
    root.mkdir()
    for name in (*files.SHIPPED, "tests", "CHANGELOG.md", "AGENTS.md", "CONTRIBUTING.md"):
        source = files.ROOT / name
        if source.is_dir():
            shutil.copytree(source, root / name, ignore=LEFT_OVERS)
        elif source.is_file():
            shutil.copyfile(source, root / name)
    generate.write_all(root)
    return root
