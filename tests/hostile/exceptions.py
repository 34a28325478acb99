import random

from spark_rtm.commands.errors import MAX_BYTES, known
from tests.hostile.case import Case, file
from tests.hostile.texts import SEED

RNG = random.Random(f"{SEED} exceptions")
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
LOG = "2026-11-28 12:00:00 INFO org.example.Job: worker w{0} has read {1} records of partition p{0} in {2} ms\n"
NAMES = [name for each in known() for name in each.names]
PARTS = [parts for each in known() for parts, _ in each.parts if len(parts) > 1]
"""The parts between the placeholders of each message that has placeholders."""
TEXTS: dict[str, str | bytes] = {
    "log": "".join(LOG.format(n, n * 7 % 9973, n % 977) for n in range(700)),
    "long log": "".join(LOG.format(n, n * 7 % 9973, n % 977) for n in range(25_000)),
    "words": " ".join("".join(RNG.choices(LETTERS, k=6)) for _ in range(280_000)),
    "letters": "a" * MAX_BYTES,
    "spaces": " " * MAX_BYTES,
    "zeros": b"\0" * MAX_BYTES,
    "too long": b"\0" * (MAX_BYTES + 1),
    "bytes": bytes(range(256)) * 7_000,
    "half letters": b"\xf0\x9f" * 900_000,
    "capital letters that grow": "\u0130" * 900_000,
    "names": " ".join(NAMES) * 200,
    "names in longer names": "".join(f"x{name}" for name in NAMES) * 200,
    "one name in longer names": f"{max(NAMES, key=len)}x" * 20_000,
    "control letters": "[\x1b[2J_A] \x07\r" * 1000,
    "brackets": "[A" * 900_000,
    "empty": "",
    "names of packages": "org.apache.kafka.common.errors." * 60_000,
    "states": "SQLSTATE " * 200_000,
    **{f"beginning of message {number}": (" ".join(parts[:-1]) + " ") * 20_000 for number, parts in enumerate(PARTS)},
}
ARGUMENTS = ["", "\udcff", "\x1b[2J", "a" * 100_000, "[" * 50_000, "-", "é \u202e"]
CASES = [
    *[
        Case(
            f"errors {name}",
            ["errors", "-"],
            file("x", ""),
            statuses=frozenset({2} if name == "too long" else {0, 1}),
            stdin=text if isinstance(text, bytes) else text.encode()[:MAX_BYTES],
        )
        for name, text in TEXTS.items()
    ],
    *[Case(f"errors text {text[:9]!r}", ["errors", text], file("x", ""), frozenset({0, 1})) for text in ARGUMENTS],
]
