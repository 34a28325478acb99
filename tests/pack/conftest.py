"""A copy of the pack that a test may modify."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.pack import files, generate, manifest

IGNORED_FILES = shutil.ignore_patterns("__pycache__", ".*", "cases")


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the root of a copy of the pack with up-to-date generated parts, which no test modifies."""
    root = tmp_path_factory.mktemp("original") / "pack"
    root.mkdir()
    others = ("evals", "tests", ".claude-plugin", "CITATION.cff", *(path.name for path in files.ROOT.glob("*.md")))
    for name in dict.fromkeys([*manifest.SHIPPED_PATHS, *others]):
        source = files.ROOT / name
        if source.is_dir():
            shutil.copytree(source, root / name, ignore=IGNORED_FILES)
        elif source.is_file():
            shutil.copyfile(source, root / name)
    generate.write_all(root)
    return root


@pytest.fixture(scope="session")
def second_copy(original: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the root of a copy of the original with the same times of modification."""
    return Path(shutil.copytree(original, tmp_path_factory.mktemp("copy") / "pack"))


@pytest.fixture
def copied(original: Path, second_copy: Path) -> Iterator[Path]:
    """Yield the root of a copy of the pack; afterwards, restore what the test has changed, added or removed."""
    yield second_copy
    second_copy.mkdir(exist_ok=True)  # A test renames it.
    for path in sorted(second_copy.rglob("*"), reverse=True):
        if not (original / path.relative_to(second_copy)).exists():
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    for path in original.rglob("*"):
        copy = second_copy / path.relative_to(original)
        if path.is_dir():
            copy.mkdir(exist_ok=True)
        elif not copy.exists() or path.stat().st_mtime_ns != copy.stat().st_mtime_ns:
            shutil.copy2(path, copy)
