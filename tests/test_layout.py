"""
All limits of size of this repository.

The design says: "Everything added must pay rent. A limit that is always touched measures packing: leave air. 64,000
lines of Python once `lint` (6,600) and `prove` (4,000) have their rooms; with the abilities that follow at most 73,000,
of which tests 28,000; 42 pages, 430 KB, SKILL.md 11,000 bytes; installed skill 300 files and 2.7 MB."

The limits of the folders are close to their present sizes. If a change needs more lines, first look for code to delete.
"""

import ast
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pytest

from scripts.pack import files
from scripts.pack.shipped import shipped_files
from spark_rtm.text import markdown

# The aim is 150 lines for a module and 30 for a function.
MAX_MODULE_LINES = 300
MAX_FUNCTION_LINES = 45
MAX_MODULES_IN_FOLDER = 14
MAX_PAGE_LINES = 200
MAX_FENCE_LINES_IN_SKILL = 10
MAX_LINES_WITHOUT_CONTENTS = 120

# folder: lines of Python, lines of Scala, Java and SQL, files
FOLDERS = {
    "spark_rtm": (27_100, 1_065, 214),
    "spark_rtm/lint": (7_950, 0, 55),  # the aim is 6,600
    "spark_rtm/prove": (6_113, 0, 36),  # of which 1,080 compare two versions of a job
    "examples": (6_930, 310, 70),
    "benchmarks": (5_260, 490, 68),
    "scripts": (3_720, 0, 71),
    "evals": (1_630, 0, 23),
    "databricks": (210, 0, 5),
    "tests": (28_600, 191, 361),  # the design allows 28,000: `rtm doctor` and `rtm init` are not paid for yet
}
TOTALS = {
    "Python lines": 73_000,
    "pages": 42,
    "bytes of pages": 430_000,
    "bytes of SKILL.md": 11_000,
    "lines of SKILL.md": 150,
    "files of an installed skill": 300,
    "bytes of an installed skill": 2_700_000,
}
KINDS = ("Python lines", "Scala, Java and SQL lines", "files")
LIMITS = {f"{folder}: {kind}": n for folder, most in FOLDERS.items() for kind, n in zip(KINDS, most, strict=True)}
LIMITS |= TOTALS
CODE = sorted(path for base in (*files.CODE, "scripts", "evals") for path in (files.ROOT / base).rglob("*.py"))


def sizes(folder: Path) -> tuple[int, int, int]:
    """Return the lines of Python, the lines of Scala, Java and SQL, and the number of files of a folder."""
    paths = files.files_below(folder)
    return _lines(paths, {".py"}), _lines(paths, {".scala", ".java", ".sql"}), len(paths)


def _lines(paths: Iterable[Path], suffixes: set[str]) -> int:
    return sum(len(path.read_bytes().splitlines()) for path in paths if path.suffix in suffixes)


def totals(root: Path, copied: Sequence[Path]) -> dict[str, int]:
    skill, pages = (root / files.SKILL).read_bytes(), files.references(root)
    values = (
        sum(sizes(root / folder)[0] for folder in FOLDERS if "/" not in folder),
        len(pages),
        sum(page.stat().st_size for page in pages),
        len(skill),
        len(skill.splitlines()),
        len(copied),
        sum(path.stat().st_size for path in copied),
    )
    return dict(zip(TOTALS, values, strict=True))


def exceeded(found: Mapping[str, int]) -> dict[str, str]:
    return {name: f"{found[name]:,} of {most:,}" for name, most in LIMITS.items() if found[name] > most}


def test_repository_is_within_its_limits() -> None:
    folders = {name: dict(zip(KINDS, sizes(files.ROOT / name), strict=True)) for name in FOLDERS}
    found = {f"{name}: {kind}": size for name, kinds in folders.items() for kind, size in kinds.items()}

    assert {} == exceeded(found | totals(files.ROOT, shipped_files(files.ROOT)))


@pytest.mark.parametrize("name", LIMITS)
def test_one_more_than_a_limit_is_found(name: str) -> None:
    assert {name: f"{LIMITS[name] + 1:,} of {LIMITS[name]:,}"} == exceeded(LIMITS | {name: LIMITS[name] + 1})


def test_every_folder_of_code_has_a_limit() -> None:
    folders = (path for path in files.ROOT.iterdir() if path.is_dir() and not path.name.startswith("."))

    assert {path.name for path in folders if any(path.glob("*.py"))} <= FOLDERS.keys()


def test_lines_and_files_of_a_folder_are_counted(tmp_path: Path) -> None:
    for name, lines in {"a.py": 2, "b.scala": 3, "c.java": 4, "d.sql": 5, "e.md": 6, ".hidden.py": 7}.items():
        (tmp_path / name).write_text("x\n" * lines)

    assert (2, 12, 5) == sizes(tmp_path)


def test_totals_of_a_repository_are_counted(tmp_path: Path) -> None:
    (tmp_path / "references").mkdir()
    (tmp_path / "references/a.md").write_text("12345")
    (tmp_path / files.SKILL).write_text("a\nb\n")
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals/a.py").write_text("x\n" * 3)

    assert (3, 1, 5, 4, 2, 1, 4) == (*totals(tmp_path, [tmp_path / files.SKILL]).values(),)


def long_parts(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    lines = len(text.splitlines())
    found = [f"{lines} lines"] if lines > MAX_MODULE_LINES else []
    for function in (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)):
        length = (function.end_lineno or 0) - function.lineno + 1
        found += [f"{function.name} has {length} lines"] if length > MAX_FUNCTION_LINES else []
    return found


def test_no_module_or_function_is_far_over_its_budget() -> None:
    """A module of more than twice the target size must be split, because a reader cannot remember it."""
    long = {files.relative(files.ROOT, path): long_parts(path) for path in CODE}

    assert {} == {path: parts for path, parts in long.items() if parts}


def test_long_module_and_function_would_be_found(tmp_path: Path) -> None:
    module = tmp_path / "m.py"
    module.write_text("def f():\n" + "    x = 1\n" * 301)

    assert ["302 lines", "f has 302 lines"] == long_parts(module)


def crowded_folders(paths: Iterable[Path]) -> dict[str, int]:
    counts = Counter(path.parent.as_posix() for path in paths if path.name != "__init__.py")
    return {folder: count for folder, count in counts.items() if count > MAX_MODULES_IN_FOLDER}


def test_no_folder_holds_more_modules_than_a_reader_keeps_in_mind() -> None:
    """A folder has about a dozen modules; more get subfolders."""
    assert {} == crowded_folders(CODE)


def test_crowded_folder_would_be_found() -> None:
    paths = [Path(f"examples/flat/m{n}.py") for n in range(MAX_MODULES_IN_FOLDER + 1)]

    assert {"examples/flat": MAX_MODULES_IN_FOLDER + 1} == crowded_folders(paths)


def faults_of_page(text: str, *, is_skill: bool = False) -> list[str]:
    lines = len(text.splitlines())
    found = [f"{lines} lines"] if lines > MAX_PAGE_LINES else []
    if not is_skill and lines > MAX_LINES_WITHOUT_CONTENTS and not _has_contents(text):
        found.append("no list of links to its sections before its second heading")
    fences = [fence.code.count("\n") for fence in markdown.fences(text)] if is_skill else []
    return found + [f"a fence of {n} lines" for n in fences if n > MAX_FENCE_LINES_IN_SKILL]


def _has_contents(text: str) -> bool:
    second = next((heading.line for heading in markdown.headings(text) if heading.level > 1), 0)
    return not second or any(link.target.startswith("#") and link.line < second for link in markdown.links(text))


def test_every_page_is_short_and_a_long_one_has_contents() -> None:
    found = {page.name: faults_of_page(page.read_text(encoding="utf-8")) for page in files.references(files.ROOT)}
    found[files.SKILL] = faults_of_page((files.ROOT / files.SKILL).read_text(encoding="utf-8"), is_skill=True)

    assert {} == {name: faults for name, faults in found.items() if faults}


def test_long_page_and_long_fence_would_be_found() -> None:
    page = "# Page\n\n## Section\n" + "Line.\n" * 198

    assert ["201 lines", "no list of links to its sections before its second heading"] == faults_of_page(page)
    assert ["201 lines"] == faults_of_page(page.replace("\n\n", "\n[Section](#section)\n", 1))
    assert ["a fence of 11 lines"] == faults_of_page("```text\n" + "x\n" * 11 + "```\n", is_skill=True)
