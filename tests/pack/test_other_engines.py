import itertools
import json
import re

from benchmarks.results.format import milliseconds
from scripts.pack import files

NAMES = {"real-time": "real-time mode", "real-time, two copies": "real-time mode with two copies"}


def ranks() -> dict[tuple[str, str], list[tuple[str, str]]]:
    text = (files.ROOT / "references/other_engines.md").read_text(encoding="utf-8")
    lines = re.findall(r"^- (p\d+) in ms (without|with) state: (.*)$", text, re.MULTILINE)
    return {
        (name, state): [(words.rpartition(" ")[0], words.rpartition(" ")[2]) for words in order.split(", ")]
        for name, state, order in lines
    }


def test_page_ranks_engines_by_the_published_medians() -> None:
    measured = files.ROOT / "references/measured/other_engines.json"
    cases = json.loads(measured.read_text(encoding="utf-8"))["cases"]

    assert set(itertools.product(("p50", "p99"), ("with", "without"))) == ranks().keys()
    for (name, state), ranked in ranks().items():
        workload = "stateful" if state == "with" else "stateless"
        medians = {NAMES.get(c["engine"], c["engine"]): c[f"{name}_ms"] for c in cases if c["workload"] == workload}
        assert medians.keys() == {engine for engine, _ in ranked}
        values = [medians[engine] for engine, _ in ranked]
        assert sorted(values) == values
        assert [milliseconds(value) for value in values] == [text for _, text in ranked]
