import json
from dataclasses import replace
from pathlib import Path

import pytest

from examples.attribution.demo.__main__ import DemoOptions
from examples.attribution.demo.publish import command_of, publish
from examples.attribution.traffic.producer import SendLog
from spark_rtm.measure.cpu import describe_machine
from tests.attribution.demo.reports import report

OPTIONS = DemoOptions(compare=True, publish=True)


def test_publish_writes_conditions_rows_over_delivery_and_cpu(tmp_path: Path) -> None:
    path = tmp_path / "demo.json"

    publish(OPTIONS, report("real-time", 5, []), replace(report("micro-batch", 450, [], 70), cpu=None), path)

    content = json.loads(path.read_text(encoding="utf-8"))
    columns = {"records": 1, "p50_ms": 5, "p90_ms": 5, "p99_ms": 5, "max_ms": 5}
    assert [
        {"mode": "real-time", "hop": "end to end", **columns},
        {"mode": "micro-batch", "hop": "end to end", **{name: n and 450 for name, n in columns.items()}, "records": 1},
    ] == content["rows"]
    assert {"goal": 10, "real_time": 1, "micro_batch": 60} == content["over_delivered"]
    assert {"real_time": 0.9, "micro_batch": None} == content["cpu"]
    measured = {"rate": 150, "duration_seconds": 60, "warm_up_seconds": 25, "interval_seconds": 15}
    expected = {"command": "make demo COMPARE=1 PUBLISH=1", **describe_machine(), **measured}
    assert expected == content["conditions"]


def test_publish_writes_nothing_for_an_invalid_run(tmp_path: Path) -> None:
    different = report("micro-batch", 5, ["result x is missing"])
    interrupted = replace(report("micro-batch", 5, []), sent=SendLog(started_at=0, measured_seconds=56))
    for faulty, fault in ((different, "1 differences and .* 60 of"), (interrupted, "0 differences and .* 56 of")):
        with pytest.raises(
            ValueError, match=rf"the micro-batch run is invalid \(it has {fault} 60 s\), so .*demo\.json"
        ):
            publish(OPTIONS, report("real-time", 5, []), faulty, tmp_path / "demo.json")

    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "command"),
    [
        (replace(OPTIONS, duration=20, rate=0.5), "make demo DURATION=20 RATE=0.5 COMPARE=1 PUBLISH=1"),
        (
            replace(OPTIONS, time_scale=30, master="local[8]"),
            "python -m examples.attribution.demo --time-scale 30 --master local[8] --compare --publish",
        ),
    ],
)
def test_command_names_only_options_that_differ_from_defaults(options: DemoOptions, command: str) -> None:
    assert command == command_of(options)
