import json
import random
from collections.abc import Callable
from pathlib import Path

from tests.hostile.case import INPUT, OUTSIDE, Build, Case, file, link, pipe, sparse, together, without_access
from tests.hostile.texts import SEED
from tests.inspect.files import add_state, write_checkpoint

FILES = ["metadata", "offsets/2", "commits/2", "sources/0/0", "state/0/_metadata/metadata"]
LOG, COMMITS, METADATA, STATE = "offsets/2", "commits/2", "metadata", "state/0/_metadata/metadata"
MANY = "9" * 5000
STATES = 'v1\n{"operatorInfo": {"operatorName": %s}, "stateStoreInfo": [{"storeName": %s, "numPartitions": %s}]}'
CONTENTS: dict[str, tuple[str, str | bytes]] = {
    "long number as a version": (LOG, f"v{MANY}\n{{}}\n{{}}"),
    "long number as a time": (LOG, f'v1\n{{"batchTimestampMs":{MANY}}}\n{{"clicks":{{"0":1}}}}'),
    "other digits as partitions": (LOG, 'v1\n{"conf":{"spark.sql.shuffle.partitions":"٣"}}\n{"clicks":{"0":1}}'),
    "power as a partition": (LOG, 'v1\n{}\n{"clicks":{"²":1}}'),
    "nested": (LOG, "v1\n{}\n" + "[" * 100_000),
    "source outside": (LOG, f"v2\n{{}}\n../../../{OUTSIDE}:{{}}"),
    "source with control letters": (LOG, "v2\n{}\n\x1b[2J\x07:{}"),
    "source with a zero byte": (LOG, "v2\n{}\na\0b:{}"),
    "topic with half a letter": (LOG, 'v1\n{}\n{"\\ud800\\u001b[2J":{"0":1}}'),
    "many sources": (LOG, "v1\n{}\n" + "{}\n" * 10_000),
    "many partitions": (LOG, "v1\n{}\n" + json.dumps({"clicks": {str(n): n for n in range(50_000)}})),
    "endless partitions": (STATE, STATES % ('"x"', '"default"', "1e999")),
    "store outside": (STATE, STATES % ('"x"', f'"../../../../{OUTSIDE}"', 2)),
    "operator with control letters": (STATE, STATES % ('"\\u001b[2J"', '"\\r"', 2)),
    "ids as objects": (COMMITS, 'v2\n{"stateUniqueIds":{"0":[{"a":1},{"b":2}]}}'),
    "id with control letters": (METADATA, '{"id":"\\u001b[2J\\r"}'),
    "long version of state": ("state/0/0/" + "9" * 200 + ".delta", "x"),
    "other digits as a batch": ("commits/٣", "v1\n{}"),
    "file with control letters": ("offsets/\x1b[2J", "x"),
    "checksum of no bytes": ("offsets/.2.crc", b"crc\0\0\0\0\0"),
    "first offsets without a line": ("sources/0/0", "\0v1"),
}
KINDS: dict[str, Callable[[str], Build]] = {
    "pipe": pipe,
    "link outside": lambda name: link(name, f"{'../' * (name.count('/') + 1)}{OUTSIDE}/secret.py"),
    "device": lambda name: link(name, "/dev/zero"),
    "sparse": lambda name: sparse(name, 5_000_000_000),
}
RESIZED = ["--partitions", "7", "--to", "../new"]
PATHS = ["a" * 300, "../" * 500, "/dev/zero", "\udcff", "file:///dev/zero", "file://%00", "\x1b[2J", "", "http://["]


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


def _checkpoint(folder: Path) -> None:
    add_state(write_checkpoint(folder / INPUT))


def _cases() -> list[Case]:
    rng = random.Random(f"{SEED} checkpoints")
    changes = {name: file(*content) for name, content in CONTENTS.items()}
    changes |= {
        f"{kind} as {name}": build(name) for kind, build in KINDS.items() for name in [*FILES, "offsets/.2.crc"]
    }
    changes |= {f"no access to {name}": without_access(name) for name in FILES}
    long = file(METADATA, '{"id":"' + "x" * 9_000_000 + '"}')
    changes["long metadata with a checksum"] = together(long, file(".metadata.crc", b"crc\0\0\0\0\1"))
    changes |= {"many links": _doubled, "empty": lambda _: None}
    changes |= {f"damaged {number}": _damage(rng, rng.choice(FILES)) for number in range(18)}
    options = [[], [], ["--format", "json"], ["--as-starting-offsets"]]
    cases = []
    for number, (name, change) in enumerate(changes.items()):
        arguments = ["inspect", ".", *options[number % len(options)]]
        build, is_stranger = together(_checkpoint, change), name.startswith("no access")
        cases.append(Case(f"inspect {name}", arguments, build, is_stranger=is_stranger))
        # The hostile processes have no PySpark, so no state is rewritten.
        cases.append(Case(f"resize {name}", ["resize", ".", *RESIZED], build, frozenset({2}), is_stranger=is_stranger))
    for path in PATHS:
        cases.append(Case(f"inspect path {path[:20]!r}", ["inspect", path], file("x", ""), frozenset({2})))
        cases.append(Case(f"resize path {path[:20]!r}", ["resize", path, *RESIZED], file("x", ""), frozenset({2})))
        to = ["resize", ".", "--partitions", "7", f"--to={path}"]
        cases.append(Case(f"resize to {path[:20]!r}", to, _checkpoint, frozenset({2})))
    return cases


CASES = _cases()
