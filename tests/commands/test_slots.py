import json

import pytest

from scripts import skills
from scripts.pack.files import ROOT

CASES = json.loads((ROOT / "tests/pages/slot_cases.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["query"])
def test_slots_are_those_of_the_shared_cases(case: dict[str, object], capsys: pytest.CaptureFixture[str]) -> None:
    """Another test compares the same cases with the physical plans of Spark queries."""
    names = ("source_partitions", "shuffle_partitions", "stateful_stages", "queries")
    arguments = [f"--{name.replace('_', '-')}={case[name]}" for name in names]
    repartitions = case["repartitions"]
    assert isinstance(repartitions, list)
    arguments += [f"--repartition={count}" for count in repartitions]

    assert 0 == skills.main(["slots", *arguments])
    assert capsys.readouterr().out.startswith(f"{case['slots_needed']} task slots = ")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--source-partitions 8 --available 7", "never reads 1 source partitions"),
        ("--source-partitions 8 --stateful-stages 1 --shuffle-partitions 2 --available 9", "0 of 1 queries fit"),
        ("--source-partitions 8 --engine databricks --available 7", "Databricks does not schedule"),
        ("--source-partitions 8 --engine databricks --max-partitions 4 --available 3", "4 slots needed"),
    ],
)
def test_too_few_slots_exit_with_status_1(options: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert 1 == skills.main(["slots", *options.split()])
    assert message in capsys.readouterr().err
