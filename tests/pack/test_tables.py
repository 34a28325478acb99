import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scripts.pack import files
from scripts.pack.blocks import BLOCKS
from scripts.site import measured

MEASURED = "references/measured"
STEMS = sorted(path.stem for path in (files.ROOT / MEASURED).glob("*.json"))
MEASURED_BLOCKS = [name for name in BLOCKS if name.startswith(("measured-", "output-"))]
REQUEST = re.compile(r"<!-- generated: ((?:measured|output)-[\w-]+)(?: ([^\n]+?))? -->")
PAGES = {files.relative(files.ROOT, path): path.read_text(encoding="utf-8") for path in files.pages(files.ROOT)}
USES = [(page, *request) for page, text in PAGES.items() for request in REQUEST.findall(text)]

Change = Callable[[Any], Any]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a folder with the published measurements, which a test may change."""
    shutil.copytree(files.ROOT / MEASURED, tmp_path / MEASURED)
    return tmp_path


def published(stem: str) -> Any:
    return json.loads((files.ROOT / MEASURED / f"{stem}.json").read_text(encoding="utf-8"))


def test_each_renderer_is_used_on_a_page() -> None:
    assert set(MEASURED_BLOCKS) == {name for _, name, _ in USES}


@pytest.mark.parametrize("stem", STEMS)
def test_missing_measurement_is_named_with_its_command(root: Path, stem: str) -> None:
    """Each measurement is shown on a page, which cannot be generated without it."""
    (root / MEASURED / f"{stem}.json").unlink()
    found = set()
    for _, name, argument in USES:
        try:
            BLOCKS[name](root, argument)
        except ValueError as error:
            found.add(str(error))

    message = rf"{MEASURED}/{stem}\.json does not exist; create the file with `(make|python|rtm) .+`"
    assert found
    assert all(re.fullmatch(message, text) for text in found)


@pytest.mark.parametrize("stem", STEMS)
def test_published_runs_are_valid(stem: str) -> None:
    runs = [run for name in ("cases", "runs") for run in published(stem).get(name, [])]

    assert [] == [run for run in runs if run.get("problems") or run.get("missing") or run.get("wrong")]
    # The pipeline compares its results with a replay.
    assert 0 == sum(run["differences"] for run in runs if isinstance(run.get("differences"), int))


@pytest.mark.parametrize("block", ["measured-modes", "measured-other-engines"])
def test_unknown_workload_is_refused_with_the_known_ones(block: str) -> None:
    name, _, argument = f"{block} statefull".partition(" ")

    with pytest.raises(ValueError, match=r"workload 'statefull' was not measured; use one of stateful, stateless"):
        BLOCKS[name](files.ROOT, argument)


def keep_rates(content: Any) -> None:
    first, second, *_ = content["limits"]
    second["sustained_rate"] = 0
    content["cases"] = [case for case in content["cases"] if not is_of(case, second)]
    for step in content["steps"]:
        step["sustained"] = is_of(step, first) or (step["sustained"] and not is_of(step, second))


def is_of(row: Any, limit: Any) -> bool:
    return (row["workload"], row["engine"]) == (limit["workload"], limit["engine"])


def change_rows(name: str, **values: Any) -> Change:
    return lambda content: [row.update(values) for row in content[name]]


def change_first_fault(content: Any) -> None:
    content["runs"][0]["incidents"][0]["seconds"] = None


@pytest.mark.parametrize(
    ("block", "stem", "change", "present", "absent"),
    [
        ("measured-modes stateful", "latency", change_rows("cases", outputs_per_record=1.0), "", "Outputs per record"),
        ("measured-throughput", "throughput", keep_rates, "| stateless, real-time | 0 | - | - | - |", ""),
        ("measured-chaos", "chaos", change_first_fault, " | no recovery | ", ""),
    ],
    ids=lambda value: value if isinstance(value, str) and value.startswith(("measured", "output")) else "",
)
def test_unusual_run_is_shown(root: Path, block: str, stem: str, change: Change, present: str, absent: str) -> None:
    """Missing, late, slow and wrong runs change the text, which proves that no table is constant."""
    content = published(stem)
    change(content)
    (root / MEASURED / f"{stem}.json").write_text(json.dumps(content))

    name, _, argument = block.partition(" ")
    text = BLOCKS[name](root, argument)

    assert present in text
    assert not absent or absent not in text


def test_charts_of_one_measurement_share_a_section() -> None:
    """A measurement without a chart has no section."""
    _, *sections = measured.page(files.ROOT).split("\n## ")

    [latency] = [section for section in sections if section.startswith("Latency\n")]
    assert 4 == latency.count("<img ") == latency.count('src="latency_')
    assert "Conditions: " in latency
    assert "Prove" not in [section.splitlines()[0] for section in sections]
