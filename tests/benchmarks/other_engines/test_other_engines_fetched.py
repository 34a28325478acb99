"""Packages of the other engines are downloaded once, and an unavailable engine is reported with the reason."""

import json
import subprocess
import zipfile
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path

import pytest

from benchmarks.harness.benchmark import run
from benchmarks.other_engines.cases import OTHER_ENGINES
from benchmarks.other_engines.engine import prepare
from benchmarks.other_engines.install.redact import without_addresses
from benchmarks.other_engines.install.venv import python_with
from benchmarks.other_engines.kafka_streams import KAFKA_STREAMS
from benchmarks.other_engines.measure import BENCHMARK, measure
from benchmarks.other_engines.quix import QUIX
from benchmarks.other_engines.table import other_engines as table_of_other_engines
from spark_rtm.services.cache import cache_root
from tests.helpers import ivy_settings

pytestmark = pytest.mark.spark
PUBLISHED_JSON = "references/measured/other_engines.json"

WHEEL = {
    "tiny_engine.py": "",
    "tiny_engine-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny-engine\nVersion: 1.0\n",
    "tiny_engine-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "tiny_engine-1.0.dist-info/RECORD": "".join(
        f"tiny_engine{name},,\n" for name in (".py", "-1.0.dist-info/METADATA", "-1.0.dist-info/WHEEL")
    ),
}
IMPOSSIBLE = "tiny-engine==99.0"
REASON = f"pip cannot install {IMPOSSIBLE}: No matching distribution found for {IMPOSSIBLE}"


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "index"
    folder.mkdir()
    with zipfile.ZipFile(folder / "tiny_engine-1.0-py3-none-any.whl", "w") as wheel:
        for name, text in WHEEL.items():
            wheel.writestr(name, text)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("RTM_IVY_SETTINGS", str(ivy_settings(folder)))
    return folder


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RTM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def cache_without_environments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a cache with the jars and classes that the test needs, but without Python environments."""
    prepare([KAFKA_STREAMS], print)
    cache = tmp_path / "cache"
    cache.mkdir()
    for part in ("jars", "classes"):
        cache.joinpath(part).symlink_to(cache_root() / part)
    monkeypatch.setenv("RTM_CACHE", str(cache))
    return cache


def _environments(cache: Path) -> list[str]:
    return [path.name for path in cache.glob("environments/*") if path.suffix != ".lock"]


def test_environment_is_created_once_and_separate_from_sparks(index: Path, empty_cache: Path) -> None:
    """An engine can import its own packages but not PySpark, and the second use needs no package index."""
    reported = list[str]()
    python = python_with(("tiny-engine==1.0",), reported.append)
    index.rename(index.with_name("gone"))

    again = python_with(("tiny-engine==1.0",), reported.append)

    assert python == again
    assert empty_cache in python.parents
    assert ["Installing 1 packages"] == [line for line in reported if line.startswith("Installing")]
    imports = [[str(python), "-I", "-c", f"import {name}"] for name in ("tiny_engine", "pyspark")]
    assert [0, 1] == [subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode for command in imports]


def test_package_with_another_hash_is_not_installed(index: Path, empty_cache: Path, tmp_path: Path) -> None:
    """If the index has another file than the one whose hash is committed, nothing is installed."""
    lock = tmp_path / "lock.txt"
    lock.write_text(f"tiny-engine==1.0 --hash=sha256:{'0' * 64}\n")

    with pytest.raises(RuntimeError, match="THESE PACKAGES DO NOT MATCH THE HASHES"):
        python_with(("tiny-engine==1.0",), lock=lock)

    assert [] == _environments(empty_cache)


def test_package_with_the_committed_hash_is_installed(index: Path, empty_cache: Path, tmp_path: Path) -> None:
    wheel = next(index.glob("*.whl"))
    lock = tmp_path / "lock.txt"
    lock.write_text(f"tiny-engine==1.0 --hash=sha256:{sha256(wheel.read_bytes()).hexdigest()}\n")

    assert python_with(("tiny-engine==1.0",), lock=lock).is_file()


def test_missing_version_is_the_reason_and_leaves_nothing(index: Path, empty_cache: Path) -> None:
    with pytest.raises(RuntimeError) as failure:
        python_with((IMPOSSIBLE,))

    assert str(failure.value) == REASON
    assert [] == _environments(empty_cache)


def test_all_engines_that_cannot_be_installed_are_reported(index: Path, empty_cache: Path) -> None:
    reported = list[str]()
    flink, quix = "apache-flink==2.3.0", "quixstreams==3.28.1"

    missing = prepare(OTHER_ENGINES, reported.append)

    assert missing.pop("Kafka Streams").endswith("org.apache.kafka#kafka-streams;4.3.1: not found")
    assert missing == {
        "Flink": f"pip cannot install {flink}: No matching distribution found for apache-beam==2.61.0",
        "Quix Streams": f"pip cannot install {quix}: No matching distribution found for annotated-types==0.8.0",
    }
    names = [line.split(" is skipped: ")[0] for line in reported if "is skipped" in line]
    assert [engine.name for engine in OTHER_ENGINES] == names


@pytest.mark.services
@pytest.mark.timeout(300)
def test_benchmark_continues_without_a_missing_engine(
    kafka: str,
    cache_without_environments: Path,
    index: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The reason is in the output, in the JSON, and in the table that a page generates from it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", kafka)
    impossible = replace(QUIX, packages=(IMPOSSIBLE,), prepare=partial(python_with, (IMPOSSIBLE,)))
    options = [
        "--interval-seconds=1",
        "--warm-up-seconds=1",
        "--duration=2",
        "--repeats=1",
        "--rate=500",
        "--max-late-runs=0",
    ]

    status = run(
        replace(BENCHMARK, measure=partial(measure, engines=[KAFKA_STREAMS, impossible])),
        [*options, "--filter", "echo", "stateful, Kafka"],
    )

    content = json.loads(Path("build/benchmarks/other_engines.json").read_text())
    # On a busy machine a run may be invalid, which the exit status shows.
    assert bool(status) == any(run["problems"] for run in content["runs"])
    assert ["", REASON] == [engine["not_measured"] for engine in content["other_engines"]]
    assert {"baseline (echo)", "Kafka Streams"} == {case["engine"] for case in content["cases"]}
    assert f"Quix Streams is not measured: {REASON}" in capsys.readouterr().out
    Path(PUBLISHED_JSON).parent.mkdir(parents=True)
    Path("build/benchmarks/other_engines.json").rename(PUBLISHED_JSON)
    assert f"Quix Streams was not measured: {REASON}.\n" in table_of_other_engines(tmp_path, "stateful")


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
def test_addresses_are_removed_from_a_reason(text: str, expected: str) -> None:
    """A published reason contains neither paths of this machine nor addresses of mirrors."""
    assert expected == without_addresses(text)
