import itertools
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.results.summary import summarize
from tests.benchmarks.helpers import BASELINE, run_result
from tests.benchmarks.results.conftest import Draw


def content_of(engines: Sequence[str]) -> dict[str, Any]:
    """Return the JSON of a benchmark with two workloads, after a round trip through a file."""
    cases = itertools.product(("stateless", "stateful"), engines)
    results = [run_result("echo", BASELINE, [1, 2, 3]), *(run_result(*case, [2, 5, 90]) for case in cases)]
    return dict(json.loads(json.dumps(summarize(results))))


def test_same_json_gives_the_same_charts_again(tmp_path: Path, draw: Draw) -> None:
    content = content_of(["micro-batch", "real-time"])

    first = {path: path.read_bytes() for path in draw(content, tmp_path, "latency")}
    for path in first:
        path.unlink()

    assert first == {path: path.read_bytes() for path in draw(content, tmp_path, "latency")}
    assert {"latency_stateless.svg", "latency_stateful.svg"} <= {path.name for path in first}


def test_titles_are_findings_and_rows_have_numbers(tmp_path: Path, draw: Draw) -> None:
    """The title compares real-time mode with what it stands beside, also where it loses; ticks are plain numbers."""
    titles = {}
    for stem, engines in (("modes", ["micro-batch", "real-time"]), ("engines", ["Flink", "real-time"])):
        draw(content_of(engines), tmp_path, stem)
        text = (tmp_path / f"{stem}_stateful.svg").read_text()
        titles[stem] = re.findall(r">(Stateful: [^<]+)<", text)
        assert {"p50 / p99 / max, ms", "5.0 / 90 / 90", "p99.9", "10", *engines} <= set(
            re.findall(r">([^<>]+)</text>", text)
        )

    assert [
        "Stateful: half of the records are answered within 5.0 ms in real-time mode, 5.0 ms in micro-batch mode"
    ] == titles["modes"]
    assert [
        "Stateful: real-time mode has a p50 of 5.0 ms; its p99.9, 90 ms, is less than that of all others"
    ] == titles["engines"]


def test_chart_of_rates_has_a_bar_for_each_mode(tmp_path: Path, draw: Draw) -> None:
    rates = {("stateless", "real-time"): 300, ("stateless", "micro-batch"): 100, ("stateful", "real-time"): 60}
    rates |= {("stateful", "micro-batch"): 80, ("echo", "baseline (echo)"): 900}
    limits = [{"workload": w, "engine": e, "sustained_rate": rate} for (w, e), rate in rates.items()]
    [path] = draw({**content_of(["micro-batch", "real-time"]), "limits": limits}, tmp_path, "throughput")
    text = path.read_text()

    assert (
        ">Sustained records/s against micro-batch mode: stateless 3 times as many, stateful 0.75 times as many<" in text
    )
    assert [">300<", ">100<", ">60<", ">80<"] == [bar for bar in (">300<", ">100<", ">60<", ">80<") if bar in text]
    assert ">900<" not in text


def timelines(content: Mapping[str, Any], factor: int) -> dict[str, Any]:
    """Return a timeline for each case of real-time mode, each `factor` times higher than the one before."""
    labels = [label for label in content["settings"] if "real-time" in label]
    line = {"bucket_seconds": 0.1, "boundary_seconds": [0.1]}
    levels = (factor**number for number in range(len(labels)))
    return {label: {**line, "worst_ms": [2.0 * k, 90.0 * k, 3.0 * k]} for label, k in zip(labels, levels, strict=True)}


def test_timeline_is_drawn_only_if_its_lines_can_be_told_apart(tmp_path: Path, draw: Draw) -> None:
    """Engines at one rate share a chart; equal lines, many lines, and several rates have none."""
    content = content_of(["real-time", "real-time, two copies"])
    content["timelines"] = timelines(content, 2)
    draw(content, tmp_path, "few")
    draw({**content, "timelines": timelines(content, 1)}, tmp_path, "equal")
    content["cases"][-1]["rate"] += 1
    draw(content, tmp_path, "rates")
    many = content_of([f"real-time, {number}" for number in range(5)])
    many["timelines"] = timelines(many, 2)
    draw(many, tmp_path, "many")

    assert ["few_stateful_timeline.svg", "few_stateless_timeline.svg", "rates_stateless_timeline.svg"] == sorted(
        path.name for path in tmp_path.glob("*_timeline.svg")
    )
    text = (tmp_path / "few_stateful_timeline.svg").read_text()
    assert "Stateful: in one run, the slowest record of" in text
    assert "waits 360 ms; ticks are batch boundaries" in text
