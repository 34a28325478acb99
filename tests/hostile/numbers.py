import json
from typing import Any

from spark_rtm.capacity import PUBLISHED
from tests.hostile.case import Build, Case, file, link, pipe, sparse

NUMBERS = [
    "0",
    "-1",
    "9" * 400,
    "9" * 3000,
    "9" * 5000,
    "٣",
    "²",
    "1_000",
    " 5",
    "0x10",
    "1e5",
    "nan",
    "\x1b[2J",
    "\udcff",
    "",
]
RATES = [*NUMBERS, "1e308", "1e-308", "inf", "1e999", "1e-320", "-0.0", "9" * 310]
MODEL: dict[str, Any] = json.loads(PUBLISHED.read_text())
CONDITIONS = {"date": "\x1b[2J", "cores": "\r", "pyspark": "", "interval_seconds": 1}
FILES: dict[str, Build] = {
    "empty": file("m.json", ""),
    "list": file("m.json", "[]"),
    "nested": file("m.json", "[" * 100_000),
    "bytes": file("m.json", b"\xff\xfe"),
    "no runs": file("m.json", json.dumps(MODEL | {"runs": []})),
    "no model": file("m.json", json.dumps(MODEL | {"model": {}})),
    "texts": file("m.json", json.dumps(MODEL | {"runs": [{"rate": "a", "partitions": 0, "kept_up": True}]})),
    "zero partitions": file("m.json", json.dumps(MODEL | {"runs": [{"rate": 1, "partitions": 0, "kept_up": True}]})),
    "control letters": file("m.json", json.dumps(MODEL | {"conditions": CONDITIONS})),
    "endless": file("m.json", json.dumps(MODEL).replace("0.", "1e999, 0.", 1)),
    "long number": file("m.json", '{"model": ' + "9" * 5000 + "}"),
    "pipe": pipe("m.json"),
    "device": link("m.json", "/dev/zero"),
    "sparse": sparse("m.json", 3_000_000_000),
}
NOTHING = file("x", "")
ESTIMATED = frozenset({0, 2})


def _slots(options: list[str], number: str) -> Case:
    return Case(
        f"slots {options} {number[:9]!r} {len(number)}", ["slots", *options, number, "--available", "5"], NOTHING
    )


def _capacity(option: str, number: str) -> Case:
    rate = [] if option == "--rate" else ["--rate", "500"]
    return Case(
        f"capacity {option} {number[:9]!r} {len(number)}", ["capacity", *rate, option, number], NOTHING, ESTIMATED
    )


CASES = [
    *[_slots(["--source-partitions"], number) for number in NUMBERS],
    *[_slots(["--source-partitions", "5", "--stateful-stages", "1", "--queries"], number) for number in NUMBERS],
    *[_slots(["--stateful-stages", "1", "--source-partitions"], number) for number in NUMBERS[2:5]],
    *[_capacity("--rate", rate) for rate in RATES],
    *[
        _capacity(option, number)
        for option in ("--keys", "--interval", "--queries", "--partitions", "--price")
        for number in ("9" * 5000, "1e308", "1e-308", "٣", "9" * 300)
    ],
    *[
        Case(f"capacity file {name}", ["capacity", "--rate", "500", "--measured", "m.json"], build, ESTIMATED)
        for name, build in FILES.items()
    ],
]
