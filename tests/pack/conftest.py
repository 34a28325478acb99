import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.pack import files, generate


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the root of a copy of the pack with up-to-date generated parts, which no test modifies."""
    root = tmp_path_factory.mktemp("original") / "pack"
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=files.ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    for path in filter(Path.is_file, map(files.ROOT.joinpath, listed)):
        copy = root / path.relative_to(files.ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy)
    generate.write_all(root)
    return root


def _git(root: Path, *arguments: str) -> None:
    places = (f"--git-dir={root.with_name('git')}", f"--work-tree={root}")
    subprocess.run(["git", "-C", str(root), *places, *arguments], check=True)


@pytest.fixture(scope="session")
def second_copy(original: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the root of a copy of the original, whose files are in a Git index outside of it."""
    root = Path(shutil.copytree(original, tmp_path_factory.mktemp("copy") / "pack"))
    _git(root, "init", "--quiet")
    _git(root, "add", "--all", "--force")
    return root


@pytest.fixture
def copied(second_copy: Path) -> Iterator[Path]:
    """Yield the root of a copy of the pack, and restore it afterwards."""
    yield second_copy
    second_copy.mkdir(exist_ok=True)  # A test renames it.
    _git(second_copy, "checkout-index", "--all", "--force")
    _git(second_copy, "clean", "-fdqx")
