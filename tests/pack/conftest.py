import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.pack import files, generate

OTHERS = ("CITATION.cff", "action.yml", ".pre-commit-config.yaml", ".pre-commit-hooks.yaml")
IGNORED_FILES = shutil.ignore_patterns("__pycache__", ".*", "*.cases")


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the root of a copy of the pack with up-to-date generated parts, which no test modifies."""
    root = tmp_path_factory.mktemp("original") / "pack"
    root.mkdir()
    patterns = ("*.md", "*.toml", "*.txt", "mkdocs.yml", "Makefile", "LICENSE")
    top = [path.name for pattern in patterns for path in files.ROOT.glob(pattern)]
    folders = (
        *files.CODE,
        "scripts",
        "references",
        "requirements",
        "evals",
        "tests",
        "databricks",
        "bin",
        "hooks",
        ".ci",
        ".github",
        ".claude-plugin",
        ".cursor-plugin",
    )
    for name in (*folders, *OTHERS, *top):
        source = files.ROOT / name
        if source.is_dir():
            shutil.copytree(source, root / name, ignore=IGNORED_FILES)
        elif source.is_file():
            shutil.copyfile(source, root / name)
    generate.write_all(root)
    return root


def _times(root: Path) -> dict[str, int]:
    """Return the modification time of each file, and 0 for each folder, by relative path."""
    times: dict[str, int] = {}
    for folder, folders, names in os.walk(root):
        times |= {os.path.relpath(f"{folder}/{name}", root): 0 for name in folders}
        times |= {os.path.relpath(f"{folder}/{name}", root): os.lstat(f"{folder}/{name}").st_mtime_ns for name in names}
    return times


@pytest.fixture(scope="session")
def second_copy(original: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, int]]:
    """Return the root of a copy of the original with the same modification times, and these times."""
    root = Path(shutil.copytree(original, tmp_path_factory.mktemp("copy") / "pack"))
    return root, _times(original)


@pytest.fixture
def copied(original: Path, second_copy: tuple[Path, dict[str, int]]) -> Iterator[Path]:
    """Yield the root of a copy of the pack, and restore it afterwards."""
    root, expected = second_copy
    yield root
    root.mkdir(exist_ok=True)  # A test renames it.
    found = _times(root)
    for name in sorted(found.keys() - expected.keys(), reverse=True):
        path = root / name
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    for name in sorted(name for name, time in expected.items() if found.get(name) != time):
        if (original / name).is_dir():
            (root / name).mkdir(exist_ok=True)
        else:
            shutil.copy2(original / name, root / name)
