import re
import subprocess
from pathlib import Path

from scripts.pack import files
from scripts.pack.tables.folders import folders, modules

MAP = (files.ROOT / files.ARCHITECTURE).read_text(encoding="utf-8")


def unnamed(entries: set[str], text: str) -> set[str]:
    return entries - set(re.findall(r"`([\w./-]+)`", text))


def test_map_names_every_entry_of_the_top_level() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=files.ROOT, capture_output=True, text=True, check=True).stdout
    entries = {line.partition("/")[0] for line in listed.splitlines()} - {files.ARCHITECTURE}

    assert set() == unnamed(entries, MAP)
    assert {"surprise"} == unnamed({*entries, "surprise"}, MAP)


def test_folders_and_modules_are_described_by_their_docstrings(tmp_path: Path) -> None:
    (tmp_path / "examples/new/deep/deeper").mkdir(parents=True)
    for name, docstring in {"new": "Jobs\nof a kind.\n\nMore.", "new/deep": "Deep.", "new/deep/deeper": "No."}.items():
        (tmp_path / "examples" / name / "__init__.py").write_text(f'"""{docstring}"""')
        (tmp_path / "examples" / name / "job.py").write_text('"""Lint\neach file.\n\nMore."""')

    assert [
        "| [`examples/new`](examples/new/) | Jobs of a kind. | 3 |",
        "| [`examples/new/deep`](examples/new/deep/) | Deep. | 2 |",
    ] == (folders(tmp_path, "").splitlines()[2:])
    assert "- `examples/new/job.py`: Lint each file." in modules(tmp_path, "").splitlines()
