import json
from typing import Any

from spark_rtm.commands.capacity import PUBLISHED
from tests.hostile.case import Build, Case, file, sparse, together, without_access

LONG = "9" * 5000
NUMBERS = ["0", "-1", LONG, "٣", "²", "0x10", "nan", "\x1b[2J", "\udcff", ""]
RATES = [*NUMBERS, "1e308", "1e-308", "inf", "1e999", "-0.0"]
MODEL: dict[str, Any] = json.loads(PUBLISHED.read_text())
CONDITIONS = {"date": "\x1b[2J", "cores": "\r", "pyspark": "", "interval_seconds": 1}
FILES: dict[str, Build] = {
    "nested": file("m.json", "[" * 100_000),
    "bytes": file("m.json", b"\xff\xfe"),
    "control letters": file("m.json", json.dumps(MODEL | {"conditions": CONDITIONS})),
    "endless": file("m.json", json.dumps(MODEL).replace("0.", "1e999, 0.", 1)),
    "sparse": sparse("m.json", 3_000_000_000),
    "no access": together(file("m.json", json.dumps(MODEL)), without_access("m.json")),
}
CALLS = [
    *[["slots", "--available", "5", "--source-partitions", number] for number in NUMBERS],
    *[["capacity", "--rate", rate] for rate in RATES],
    *[
        ["capacity", "--rate", "500", option, number]
        for option in ("--keys", "--interval", "--queries", "--partitions", "--price")
        for number in (LONG, "1e308", "1e-308", "٣")
    ],
]
ANSWERED = {"slots": frozenset({0, 1, 2}), "capacity": frozenset({0, 2})}
CASES = [
    *[
        Case(f"{' '.join(each)[:60]!r} {len(each[-1])}", each, file("x", ""), statuses=ANSWERED[each[0]])
        for each in CALLS
    ],
    *[
        Case(
            f"capacity file {name}",
            ["capacity", "--rate", "500", "--measured", "m.json"],
            build,
            frozenset({0} if name in {"control letters", "endless"} else {2}),
            is_stranger=name == "no access",
        )
        for name, build in FILES.items()
    ],
]
