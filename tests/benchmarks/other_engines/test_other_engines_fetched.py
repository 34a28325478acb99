"""What the peers need is fetched once, into the cache, and a peer that cannot be had is reported with the reason."""

import json
import subprocess
import zipfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from examples.benchmarks.other_engines.__main__ import PEERS, main
from examples.benchmarks.other_engines.engine import prepare
from examples.benchmarks.other_engines.kafka_streams import KAFKA_STREAMS
from examples.benchmarks.other_engines.quix import QUIX
from examples.benchmarks.other_engines.redact import without_addresses
from examples.benchmarks.other_engines.venv import python_with
from examples.services.cache import cache_root
from scripts.pack.tables.other_engines import PEERS as KEPT
from scripts.pack.tables.other_engines import peers as table_of_peers
from tests.helpers import ivy_settings

WHEEL = {
    "tiny_peer.py": "",
    "tiny_peer-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny-peer\nVersion: 1.0\n",
    "tiny_peer-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "tiny_peer-1.0.dist-info/RECORD": "".join(
        f"tiny_peer{name},,\n" for name in (".py", "-1.0.dist-info/METADATA", "-1.0.dist-info/WHEEL")
    ),
}
IMPOSSIBLE = "tiny-peer==99.0"
REASON = f"pip cannot install {IMPOSSIBLE}: No matching distribution found for {IMPOSSIBLE}"


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one small package, which is all that pip and Ivy are offered."""
    folder = tmp_path / "index"
    folder.mkdir()
    with zipfile.ZipFile(folder / "tiny_peer-1.0-py3-none-any.whl", "w") as wheel:
        for name, text in WHEEL.items():
            wheel.writestr(name, text)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("RTM_IVY_SETTINGS", str(ivy_settings(folder)))
    return folder


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache into which nothing has been fetched."""
    monkeypatch.setenv("RTM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def cache_without_environments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with all jars and classes that this test needs, so that they need no network."""
    prepare([KAFKA_STREAMS], print)
    cache = tmp_path / "cache"
    cache.mkdir()
    for part in ("jars", "classes"):
        cache.joinpath(part).symlink_to(cache_root() / part)
    monkeypatch.setenv("RTM_CACHE", str(cache))
    return cache


def _left_in(cache: Path) -> list[str]:
    return [path.name for path in cache.glob("environments/*") if path.suffix != ".lock"]


def test_environment_is_made_once_and_apart_from_ours(index: Path, empty_cache: Path) -> None:
    """An engine finds its own packages and none of Spark's; the second use needs no index."""
    told = list[str]()
    python = python_with(("tiny-peer==1.0",), told.append)
    index.rename(index.with_name("gone"))

    again = python_with(("tiny-peer==1.0",), told.append)

    assert python == again
    assert empty_cache in python.parents
    assert ["Installing 1 packages"] == [line for line in told if line.startswith("Installing")]
    imports = [[str(python), "-I", "-c", f"import {name}"] for name in ("tiny_peer", "pyspark")]
    assert [0, 1] == [subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode for command in imports]


def test_version_that_does_not_exist_is_the_reason_and_leaves_nothing(index: Path, empty_cache: Path) -> None:
    """Whoever pins a version that nobody has learns which one, and the next try starts anew."""
    with pytest.raises(RuntimeError) as failure:
        python_with((IMPOSSIBLE,))

    assert str(failure.value) == REASON
    assert [] == _left_in(empty_cache)


def test_engines_that_cannot_be_fetched_are_all_reported(index: Path, empty_cache: Path) -> None:
    """Without network and cache each engine is named with what it lacks, and none of them stops the others."""
    told = list[str]()
    flink, quix = "apache-flink==2.3.0", "quixstreams==3.28.1"

    missing = prepare(PEERS, told.append)

    assert missing.pop("Kafka Streams").endswith("org.apache.kafka#kafka-streams;4.3.1: not found")
    assert missing == {
        "Flink": f"pip cannot install {flink}: No matching distribution found for {flink}",
        "Quix Streams": f"pip cannot install {quix}: No matching distribution found for {quix}",
    }
    assert [peer.name for peer in PEERS] == [line.split(" is left out: ")[0] for line in told if "left out" in line]


@pytest.mark.services
@pytest.mark.timeout(300)
def test_measurement_goes_on_without_an_engine_and_says_why(
    kafka: str,
    cache_without_environments: Path,
    index: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The reason stands in the output, in the JSON, and in the table that a page takes from it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", kafka)
    impossible = replace(QUIX, packages=(IMPOSSIBLE,), prepare=partial(python_with, (IMPOSSIBLE,)))
    seconds = ["--interval-seconds=1", "--warm-up-seconds=1", "--measured-seconds=2", "--repeats=1", "--rates=500"]

    status = main([*seconds, *(f"--only={name}" for name in ("echo", "Streams"))], [KAFKA_STREAMS, impossible])

    content = json.loads(Path("build/latency/peers.json").read_text())
    # A busy machine may make a run invalid, and that is said as well.
    assert bool(status) == any(run["problems"] for run in content["runs"])
    assert ["", REASON] == [peer["not_measured"] for peer in content["peers"]]
    assert {"raw echo", "Kafka Streams"} == {cell["engine"] for cell in content["cells"]}
    assert f"Quix Streams is not measured: {REASON}" in capsys.readouterr().out
    Path(KEPT).parent.mkdir(parents=True)
    Path("build/latency/peers.json").rename(KEPT)
    assert f"Quix Streams was not measured: {REASON}.\n" in table_of_peers(tmp_path, "stateful")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Downloading https://mirror.example/a/b.whl (3 MB)", "Downloading (address) (3 MB)"),
        ("HTTPSConnectionPool(host='mirror.example', port=443)", "HTTPSConnectionPool(host=(address), port=443)"),
        ("not in the cache /home/somebody/.cache: give up", "not in the cache (address): give up"),
        ("org.apache.kafka#kafka-streams;4.3.1: not found", "org.apache.kafka#kafka-streams;4.3.1: not found"),
        ("and/or 1/2", "and/or 1/2"),
    ],
    ids=["URL", "host", "folder", "package", "slashes of words"],
)
def test_address_is_taken_out_of_a_reason(text: str, expected: str) -> None:
    """A reason is published, and the addresses of a machine and its mirrors are not."""
    assert expected == without_addresses(text)
