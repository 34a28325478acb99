"""A copy of the pack that a test may modify."""

import shutil
from pathlib import Path

import pytest

from scripts.pack import files, generate, manifest

IGNORED_FILES = shutil.ignore_patterns("__pycache__", ".*", "cases")


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """Return the root of a copy of the pack with up-to-date generated parts."""
    root = tmp_path / "pack"
    root.mkdir()
    for name in (*manifest.SHIPPED_PATHS, "tests", "CHANGELOG.md", "AGENTS.md", "CONTRIBUTING.md"):
        source = files.ROOT / name
        if source.is_dir():
            shutil.copytree(source, root / name, ignore=IGNORED_FILES)
        elif source.is_file():
            shutil.copyfile(source, root / name)
    generate.write_all(root)
    return root
