"""Two published limits of one case either agree, or the page with the older limit mentions the newer limit."""

import json
from typing import Any

from scripts.pack import files

FILES = ("throughput", "other_engines_limits")
STEP = 1.5
"""Largest ratio of two rates between which the search does not try another one."""


def rates() -> dict[str, dict[str, int]]:
    """Return the sustained rates by workload and engine, and then by file."""
    found: dict[str, dict[str, int]] = {}
    for name in FILES:
        content: Any = json.loads((files.ROOT / f"references/measured/{name}.json").read_text(encoding="utf-8"))
        for limit in content["limits"]:
            found.setdefault(f"{limit['workload']}, {limit['engine']}", {})[name] = round(limit["sustained_rate"])
    return {case: by_file for case, by_file in found.items() if len(by_file) == len(FILES)}


def hidden(by_file: dict[str, int], text: str) -> list[str]:
    """Return the rates of other files that differ from the rate of `throughput`, and that its text does not name."""
    rate = by_file["throughput"]
    others = [other for name, other in by_file.items() if name != "throughput"]
    differing = [other for other in others if max(other, rate) / min(other, rate) > STEP]
    return [f"{other:,}" for other in differing if f"{other:,} records/s" not in text]


def test_page_names_a_differing_limit_of_the_same_case() -> None:
    text = (files.ROOT / "references/throughput.md").read_text(encoding="utf-8")

    found = {case: hidden(by_file, text) for case, by_file in rates().items()}
    assert {"stateless, real-time": [], "stateful, real-time": []} == found
    assert "other_engines.md#highest-rate" in text


def test_unnamed_limit_is_reported() -> None:
    assert ["64,000"] == hidden({"throughput": 32_000, "other_engines_limits": 64_000}, "12,000 records/s")
    assert [] == hidden({"throughput": 8_000, "other_engines_limits": 12_000}, "")
