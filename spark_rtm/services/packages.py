"""
Download the jars for the Kafka broker, the Kafka connector and the Avro functions with PySpark's Ivy.

The files in `ivy/` pin exact versions and checksums, which are verified after the download and before each use. After
changing an Ivy file, run `python -m spark_rtm.services checksums IVY_FILE > CHECKSUMS_FILE`, and compare the file with
the checksums that the repository publishes.
"""

import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

from spark_rtm.services.folders import cache_root, cached_folder, refuse_foreign_writers, run_folder
from spark_rtm.services.java import java_home

IVY_DIR = Path(__file__).parent / "ivy"
CONNECTOR_MODULE = "spark-sql-kafka-0-10_2.13"
BROKER_MODULE = "kafka_2.13"
RESOLVE_TIMEOUT_SECONDS = 600
CONNECT_TIMEOUT_MILLISECONDS = 15_000
TAIL_LINES = 12
CONSEQUENCE = (
    "Kafka, Spark's Kafka source or Spark's Avro functions cannot start. With a network, run "
    "`python -m spark_rtm.services packages`."
)
JOB_CONSEQUENCE = "the job cannot use them. Check the coordinates."
# Packages whose jars `make setup` has downloaded.
PRESENT = ("spark-sql-kafka-0-10", "spark-avro")
COORDINATE = re.compile(r"([\w.-]+):([\w.-]+):([\w.-]+)")
IVY_FILE = """<ivy-module version="2.0">
  <info organisation="spark-rtm" module="job"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
{dependencies}
  </dependencies>
</ivy-module>
"""


@dataclass(frozen=True)
class Connector:
    """The version of Spark's Kafka connector, and its jars for `spark.jars`."""

    version: str
    jars: tuple[Path, ...]


def pinned(ivy_file: Path) -> dict[str, str]:
    """Return the pinned packages by module name, for example {"kafka_2.13": "org.apache.kafka:kafka_2.13:4.4.0"}."""
    dependencies = ElementTree.parse(ivy_file).iter("dependency")
    return {d.attrib["name"]: ":".join(d.attrib[key] for key in ("org", "name", "rev")) for d in dependencies}


@cache
def _spark_ivy() -> Path:
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise RuntimeError("PySpark is not installed, so there is no Ivy to download packages; run `make setup`")
    return next(Path(spec.origin).parent.glob("jars/ivy-*.jar"))


def _fetch(ivy_file: Path, folder: Path, consequence: str = CONSEQUENCE) -> None:
    timeouts = ("defaultConnectTimeout", "defaultReadTimeout")
    options = [f"-Dsun.net.client.{name}={CONNECT_TIMEOUT_MILLISECONDS}" for name in timeouts]
    command = [str(java_home() / "bin" / "java"), *options, "-jar", str(_spark_ivy())]
    if settings := os.environ.get("RTM_IVY_SETTINGS"):
        command += ["-settings", settings]
    # Each run has a separate Ivy cache, because two processes must not write to the default cache at the same time.
    with tempfile.TemporaryDirectory(prefix="ivy-", dir=run_folder()) as scratch:
        command += ["-cache", scratch, "-ivy", str(ivy_file), "-retrieve", f"{folder}/[artifact]-[revision].[ext]"]
        try:
            ivy = subprocess.run(command, capture_output=True, text=True, check=False, timeout=RESOLVE_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired as error:
            message = _failure(ivy_file, f"timed out after {RESOLVE_TIMEOUT_SECONDS} s", consequence)
            raise RuntimeError(message) from error
    if ivy.returncode or not any(folder.glob("*.jar")):
        raise RuntimeError(_failure(ivy_file, ivy.stdout + ivy.stderr, consequence))


def downloaded_checksums(ivy_file: Path) -> str:
    """Download the jars listed in an Ivy file, without using the cache, and return their checksums."""
    with tempfile.TemporaryDirectory(prefix="jars-", dir=run_folder()) as folder:
        _fetch(ivy_file, Path(folder))
        return "".join(f"{checksum}  {name}\n" for name, checksum in _checksums(Path(folder)).items())


def read_checksums(path: Path) -> dict[str, str]:
    """Return the committed checksums by jar name. Raise FileNotFoundError if the file is missing."""
    lines = (line.split() for line in path.read_text().splitlines())
    return {name: checksum for checksum, name in lines}


def _checksums(folder: Path) -> dict[str, str]:
    return {jar.name: sha256(jar.read_bytes()).hexdigest() for jar in sorted(folder.glob("*.jar"))}


def _verify(folder: Path, expected: dict[str, str]) -> None:
    found = _checksums(folder)
    wrong = sorted(name for name in found | expected if found.get(name) != expected.get(name))
    if wrong:
        raise RuntimeError(
            f"the jars in {str(folder)!r} differ from the tested jars, so they are not used (missing, unknown or "
            f"different: {', '.join(wrong)}); delete the folder to download them again; "
            "if the jars differ again, check the mirror"
        )


def _failure(ivy_file: Path, output: str, consequence: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip(" :\t")]
    return (
        f"cannot download the Maven packages {', '.join(pinned(ivy_file).values())}, and they are not in the cache "
        f"{cache_root()}, so {consequence} With a mirror, set RTM_IVY_SETTINGS to the path "
        "of your ivysettings.xml. Without a network, copy the cache folder of another machine and set RTM_CACHE to its "
        "path. Last lines of Ivy's output:\n  " + "\n  ".join(lines[-TAIL_LINES:])
    )


def _folder_name(ivy_file: Path) -> str:
    return f"jars/{ivy_file.stem}-{sha256(ivy_file.read_bytes()).hexdigest()[:16]}"


def is_fetched(ivy_file: Path) -> bool:
    """Return whether the cache contains an Ivy file's jars."""
    return (cache_root() / _folder_name(ivy_file)).is_dir()


def jars(ivy_file: Path) -> tuple[Path, ...]:
    """Return an Ivy file's jars, downloaded once. Raise RuntimeError if they do not match the pinned checksums."""
    expected = read_checksums(ivy_file.with_suffix(".sha256"))

    def fill(folder: Path) -> None:
        _fetch(ivy_file, folder)
        _verify(folder, expected)

    folder = cached_folder(_folder_name(ivy_file), fill)
    refuse_foreign_writers((cache_root(), folder.parent, folder))
    _verify(folder, expected)
    return tuple(sorted(folder.glob("*.jar")))


def broker_jars(ivy_dir: Path = IVY_DIR) -> tuple[Path, ...]:
    """Return the Kafka broker's jars. Raise RuntimeError if they are not cached and cannot be downloaded."""
    return jars(ivy_dir / "broker.xml")


def avro_jars() -> tuple[Path, ...]:
    """Return the jars for Avro functions. Raise RuntimeError if they are not cached and cannot be downloaded."""
    return jars(IVY_DIR / "avro.xml")


def package_jars(coordinates: Sequence[str]) -> tuple[Path, ...]:
    """Return the jars of Maven packages and their dependencies, except jars from Spark or `make setup`."""
    parts = {text: COORDINATE.fullmatch(text) for text in coordinates}
    if wrong := [text for text, match in parts.items() if not match]:
        raise ValueError(f"--packages {wrong[0]}: write GROUP:ARTIFACT:VERSION, separated by commas")
    if old := [text for text, match in parts.items() if match and match[2].endswith(("_2.11", "_2.12"))]:
        raise ValueError(f"--packages {old[0]}: Spark 4 runs Scala 2.13, so this package cannot load; use ..._2.13")
    wanted = [match for match in parts.values() if match and match[2].partition("_")[0] not in PRESENT]
    if not wanted:
        return ()
    line = '    <dependency org="{}" name="{}" rev="{}" conf="default->default"/>'
    text = IVY_FILE.format(dependencies="\n".join(line.format(*match.groups()) for match in wanted))

    def fill(folder: Path) -> None:
        with tempfile.TemporaryDirectory(prefix="job-", dir=run_folder()) as scratch:
            ivy_file = Path(scratch) / "job.xml"
            ivy_file.write_text(text)
            _fetch(ivy_file, folder, JOB_CONSEQUENCE)

    folder = cached_folder(f"jars/job-{sha256(text.encode()).hexdigest()[:16]}", fill)
    present = {_artifact(jar) for jar in _spark_ivy().parent.glob("*.jar")}
    return tuple(sorted(jar for jar in folder.glob("*.jar") if _artifact(jar) not in present))


def _artifact(jar: Path) -> str:
    return re.split(r"-\d", jar.name)[0]


def broker_version() -> str:
    """Return the pinned Kafka broker version."""
    return _version(IVY_DIR / "broker.xml", BROKER_MODULE)


def connector() -> Connector:
    """Return Spark's Kafka connector. Raise RuntimeError if it is not cached and cannot be downloaded."""
    ivy_file = IVY_DIR / "connector.xml"
    return Connector(_version(ivy_file, CONNECTOR_MODULE), jars(ivy_file))


def _version(ivy_file: Path, module: str) -> str:
    return pinned(ivy_file)[module].rpartition(":")[2]
