"""Banned words are reported wherever people read them, and code is left alone."""

import json
import re
from pathlib import Path

import pytest

from scripts.pack import files
from scripts.pack.checks.wording import WORDING_FILE, check_wording

WORDING = json.loads((files.ROOT / WORDING_FILE).read_text(encoding="utf-8"))
TICKS = "```"
# One phrase or more for each pattern of the data file, as it appears inside a sentence.
PHRASES = [
    "what arrives",
    "what leaves",
    "Real-time mode demands",
    "for ever",
    "time-out",
    "time-outs",
    "heart-beat",
    "heart-beats",
    "anew",
    "Whoever",
    "of its own accord",
    "so long as it",
    "in silence",
    "lets us in",
    "lets nobody in",
    "fail-over",
    "fall-back",
    "sub-class",
    "sub-classes",
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return an empty pack with the list of banned words."""
    for folder in ("examples", "references", "scripts/pack"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / WORDING_FILE).write_text(json.dumps(WORDING))
    return tmp_path


def reports(root: Path) -> list[str]:
    """Return the findings as lines."""
    return [f"{f.path}:{f.line}: {f.rule}: {f.message}; {f.fix}" for f in check_wording(root)]


def test_every_pattern_is_covered_by_a_phrase() -> None:
    """No pattern of the data file is untested."""
    uncovered = [
        entry["pattern"]
        for entry in WORDING
        if not any(re.fullmatch(entry["pattern"].replace("_", " "), phrase, re.IGNORECASE) for phrase in PHRASES)
    ]

    assert [] == uncovered


@pytest.mark.parametrize("phrase", PHRASES)
@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        ("README.md", "# Title\n\nIt is {} here.\n", 3),
        ("references/page.md", "# Title\n\n| a | {} |\n|---|---|\n", 3),
        ("examples/module.py", '"""\nSummary.\n\nIt is {} here.\n"""\n', 4),
        ("examples/module.py", "a = 1\nb = 2  # it is {} here\n", 2),
        ("scripts/module.py", "def f(a):\n    raise ValueError(f'{a!r} is {} here')\n", 2),
    ],
    ids=["page", "table", "docstring", "comment", "message"],
)
def test_banned_phrase_is_reported_with_its_line(root: Path, phrase: str, path: str, text: str, line: int) -> None:
    """Each banned phrase is found in pages, docstrings, comments and messages."""
    (root / path).write_text(text.replace("{}", phrase))

    [report] = reports(root)

    assert report.startswith(f"{path}:{line}: wording: {phrase!r} is not house style; write '")


def test_report_names_the_replacement(root: Path) -> None:
    """A finding consists of place, rule, problem and remedy."""
    (root / "SKILL.md").write_text("It waits for ever.\n")

    assert ["SKILL.md:1: wording: 'for ever' is not house style; write 'forever'"] == reports(root)


@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        ("README.md", "It waits for\never.\n", 1),
        ("examples/module.py", '"""It waits for\never."""\n', 1),
        ("examples/module.py", "# It waits for\n# ever.\n", 1),
        ("examples/module.py", 'A = (\n    "It waits for "\n    f"ever: {1}"\n)\n', 2),
    ],
    ids=["page", "docstring", "comment", "strings"],
)
def test_phrase_across_two_lines_is_reported(root: Path, path: str, text: str, line: int) -> None:
    """A line break inside a phrase does not hide it."""
    (root / path).write_text(text)

    assert [f"{path}:{line}: wording: 'for ever' is not house style; write 'forever'"] == reports(root)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("README.md", f"# Title\n\n{TICKS}text\nwaits for ever\n{TICKS}\n"),
        ("README.md", "The option `time-out` has a default.\n"),
        ("README.md", "It is called for every record.\n\nIt waits for\n\never larger files.\n"),
        ("CHANGELOG.md", "Renamed `a`, which waited for ever.\n"),
        ("examples/module.py", "time = out = anew = 1\nwhoever = time-out\n"),
        ("examples/data.json", '{"a": "for ever"}\n'),
    ],
    ids=["fence", "inline-code", "similar-words", "changelog", "names", "other-file"],
)
def test_code_and_similar_words_are_not_reported(root: Path, path: str, text: str) -> None:
    """Code of pages, names in Python, the changelog and similar words are not reported."""
    (root / path).write_text(text)

    assert [] == reports(root)


def test_repository_contains_no_banned_wording() -> None:
    """Pages, examples and scripts follow the house style."""
    assert [] == reports(files.ROOT)
