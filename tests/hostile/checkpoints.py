import json
import random
from collections.abc import Callable
from pathlib import Path

from tests.hostile.case import INPUT, OUTSIDE, Build, Case, file, link, pipe, sparse, together, without_access
from tests.hostile.texts import SEED
from tests.inspect.files import add_state, write_checkpoint

FILES = ["metadata", "offsets/2", "offsets/1", "offsets/0", "commits/2", "sources/0/0", "state/0/_metadata/metadata"]
MANY = "9" * 5000
STATES = '{"operatorInfo": {"operatorName": %s}, "stateStoreInfo": [{"storeName": %s, "numPartitions": %s}]}'
CONTENTS: dict[str, tuple[str, str | bytes]] = {
    "long number as a version": ("offsets/2", f"v{MANY}\n{{}}\n{{}}"),
    "long number as an offset": ("offsets/2", f'v1\n{{}}\n{{"clicks":{{"0":{MANY}}}}}'),
    "long number as a partition": ("offsets/2", f'v1\n{{}}\n{{"clicks":{{"{MANY}":1}}}}'),
    "long number as a time": ("offsets/2", f'v1\n{{"batchTimestampMs":{MANY}}}\n{{"clicks":{{"0":1}}}}'),
    "endless time": ("offsets/2", 'v1\n{"batchTimestampMs":1e999}\n{"clicks":{"0":1}}'),
    "not a number": ("offsets/2", 'v1\n{"batchTimestampMs":NaN}\n{"clicks":{"0":NaN}}'),
    "long number as partitions": ("offsets/2", f'v1\n{{"conf":{{"spark.sql.shuffle.partitions":"{MANY}"}}}}\n{{}}'),
    "other digits as partitions": (
        "offsets/2",
        'v1\n{"conf":{"spark.sql.shuffle.partitions":"٣"}}\n{"clicks":{"0":1}}',
    ),
    "power as a partition": ("offsets/2", 'v1\n{}\n{"clicks":{"²":1}}'),
    "other digits as a partition": ("offsets/2", 'v1\n{}\n{"clicks":{"٣":1}}'),
    "nested": ("offsets/2", "v1\n{}\n" + "[" * 100_000),
    "nested source": ("offsets/2", 'v1\n{}\n{"a":' * 9000),
    "source outside": ("offsets/2", f"v2\n{{}}\n../../../{OUTSIDE}:{{}}"),
    "absolute source": ("offsets/2", "v2\n{}\n/proc/self/fd:{}"),
    "source with a long name": ("offsets/2", f"v2\n{{}}\n{'a' * 300}:{{}}"),
    "source with control letters": ("offsets/2", "v2\n{}\n\x1b[2J\x07:{}"),
    "source with a zero byte": ("offsets/2", "v2\n{}\na\0b:{}"),
    "topic with control letters": ("offsets/2", 'v1\n{}\n{"\\u001b[2J":{"0":1}}'),
    "topic with half a letter": ("offsets/2", 'v1\n{}\n{"\\ud800":{"0":1}}'),
    "many sources": ("offsets/2", "v1\n{}\n" + "{}\n" * 100_000),
    "many partitions": ("offsets/2", "v1\n{}\n" + json.dumps({"clicks": {str(n): n for n in range(200_000)}})),
    "state of many partitions": ("state/0/_metadata/metadata", "v1\n" + STATES % ('"x"', '"default"', 99_999)),
    "endless partitions": ("state/0/_metadata/metadata", "v1\n" + STATES % ('"x"', '"default"', "1e999")),
    "long number of partitions": ("state/0/_metadata/metadata", "v1\n" + STATES % ('"x"', '"default"', MANY)),
    "negative partitions": ("state/0/_metadata/metadata", "v1\n" + STATES % ('"x"', '"default"', -5)),
    "half a partition": ("state/0/_metadata/metadata", "v1\n" + STATES % ('"x"', '"default"', 0.5)),
    "store outside": ("state/0/_metadata/metadata", "v1\n" + STATES % ('"x"', f'"../../../../{OUTSIDE}"', 2)),
    "operator with control letters": ("state/0/_metadata/metadata", "v1\n" + STATES % ('"\\u001b[2J"', '"\\r"', 2)),
    "ids as an object": ("commits/2", 'v2\n{"stateUniqueIds":{"0":{"a":1}}}'),
    "ids as objects": ("commits/2", 'v2\n{"stateUniqueIds":{"0":[{"a":1},{"b":2}]}}'),
    "ids as a text": ("commits/2", 'v2\n{"stateUniqueIds":{"0":"abc"}}'),
    "ids as numbers": ("commits/2", 'v2\n{"stateUniqueIds":{"0":[1,2]}}'),
    "ids with control letters": ("commits/2", 'v2\n{"stateUniqueIds":{"0":[["\\u001b[2J"],["\\u0007"]]}}'),
    "id with control letters": ("metadata", '{"id":"\\u001b[2J\\r"}'),
    "long id": ("metadata", '{"id":"' + "x" * 1_000_000 + '"}'),
    "power as an operator": ("state/²/x", "x"),
    "other digits as an operator": ("state/٣/x", "x"),
    "long operator": ("state/" + "9" * 200 + "/x", "x"),
    "long version of state": ("state/0/0/" + "9" * 200 + ".delta", "x"),
    "other digits as a version": ("state/0/0/٣.delta", "x"),
    "long batch": ("offsets/" + "9" * 200, "v1\n{}\n{}"),
    "last batch": ("offsets/9223372036854775807", 'v1\n{}\n{"clicks":{"0":1}}'),
    "beyond the last batch": ("offsets/9999999999999999999", 'v1\n{}\n{"clicks":{"0":1}}'),
    "power as a batch": ("offsets/²", "v1\n{}\n{}"),
    "other digits as a batch": ("commits/٣", "v1\n{}"),
    "file with control letters": ("offsets/\x1b[2J", "x"),
    "operator with a file name": ("state/0/_metadata/²", "v1\n{}"),
    "checksum of single bytes": (".metadata.crc", b"crc\0\0\0\0\1"),
    "checksum of no bytes": ("offsets/.2.crc", b"crc\0\0\0\0\0"),
    "cut checksum": ("offsets/.2.crc", b"crc"),
    "first offsets without a line": ("sources/0/0", "\0v1"),
    "first offsets as a list": ("sources/0/0", "\0v1\n[1, 2]"),
    "first offsets as a long number": ("sources/0/0", f'\0v1\n{{"clicks":{{"0":{MANY}}}}}'),
}
KINDS: dict[str, Callable[[str], Build]] = {
    "pipe": pipe,
    "link outside": lambda name: link(name, f"{'../' * (name.count('/') + 1)}{OUTSIDE}/secret.py"),
    "device": lambda name: link(name, "/dev/zero"),
    "sparse": lambda name: sparse(name, 5_000_000_000),
    "no access": without_access,
}


def _changed(change: Build) -> Build:
    def build(folder: Path) -> None:
        add_state(write_checkpoint(folder / INPUT))
        change(folder)

    return build


def _damage(rng: random.Random, name: str) -> Build:
    flips = [(rng.random(), rng.randrange(256)) for _ in range(rng.randint(0, 4))]
    cut = rng.choice([1.0, rng.random()])

    def change(folder: Path) -> None:
        path = folder / INPUT / name
        data = bytearray(path.read_bytes())
        for place, value in flips:
            data[int(place * len(data))] = value
        path.write_bytes(data[: int(cut * len(data)) + 1])

    return change


def _doubled(folder: Path) -> None:
    for number in range(27):
        level = folder / INPUT / f"state/0/d{number}"
        level.mkdir(parents=True)
        for name in ("x", "y"):
            (level / name).symlink_to(f"../d{number + 1}")


def _cases() -> list[Case]:
    rng = random.Random(f"{SEED} checkpoints")
    changes = {name: file(*content) for name, content in CONTENTS.items()}
    changes |= {f"{kind} as {name}": build(name) for kind, build in KINDS.items() for name in FILES[::2]}
    for name in ("offsets/.2.crc", ".metadata.crc"):
        changes |= {f"{kind} as {name}": build(name) for kind, build in KINDS.items() if kind != "no access"}
    long = file("metadata", '{"id":"' + "x" * 9_000_000 + '"}')
    changes["long metadata with a checksum"] = together(long, file(".metadata.crc", b"crc\0\0\0\0\1"))
    changes |= {"many links": _doubled, "empty": lambda _: None}
    changes |= {f"damaged {number}": _damage(rng, rng.choice(FILES)) for number in range(18)}
    options = [[], [], ["--format", "json"], ["--as-starting-offsets"]]
    cases = []
    for number, (name, change) in enumerate(changes.items()):
        arguments = ["inspect", ".", *options[number % len(options)]]
        cases.append(Case(f"inspect {name}", arguments, _changed(change), is_stranger=name.startswith("no access")))
    paths = [
        "a" * 300,
        "../" * 500,
        "/dev/zero",
        "\udcff",
        "file:///dev/zero",
        "file://%00",
        "x://" + "a" * 5000,
        "\x1b[2J",
        "",
        "http://[",
    ]
    return cases + [
        Case(f"inspect path {path[:20]!r}", ["inspect", path], file("x", ""), frozenset({2})) for path in paths
    ]


CASES = _cases()
