"""
Fetch the Kafka broker and Spark's Kafka connector once, by the Ivy that PySpark carries.

Files of exact versions under `ivy/` arrive, paths of jars in the cache leave.
Real-time mode wants the connector of Spark's own version; where that cannot be had, a proved set takes its place.
"""

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

from examples.services.cache import cache_root, cached_folder
from examples.services.java import java_home

IVY_FILES = Path(__file__).parent / "ivy"
CONNECTOR_MODULE = "spark-sql-kafka-0-10_2.13"
BROKER_MODULE = "kafka_2.13"
RESOLVE_TIMEOUT_SECONDS = 600
CONNECT_TIMEOUT_MILLISECONDS = 15_000
TAIL_LINES = 12


@dataclass(frozen=True)
class Connector:
    """Spark's Kafka connector: its version and the jars that `spark.jars` needs."""

    version: str
    jars: tuple[Path, ...]


def pinned(ivy_file: Path) -> dict[str, str]:
    """Return, for instance, {"kafka_2.13": "org.apache.kafka:kafka_2.13:4.4.0"}."""
    dependencies = ElementTree.parse(ivy_file).iter("dependency")
    return {d.attrib["name"]: ":".join(d.attrib[key] for key in ("org", "name", "rev")) for d in dependencies}


def _version(ivy_file: Path, module: str) -> str:
    return pinned(ivy_file)[module].rpartition(":")[2]


@cache
def _spark_ivy() -> Path:
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise RuntimeError("pyspark is not installed, so there is no Ivy to fetch packages with; run `make setup`.")
    return next(Path(spec.origin).parent.glob("jars/ivy-*.jar"))


def _ivy_command(ivy_file: Path, folder: Path, scratch: str) -> list[str]:
    timeouts = ("defaultConnectTimeout", "defaultReadTimeout")
    options = [f"-Dsun.net.client.{name}={CONNECT_TIMEOUT_MILLISECONDS}" for name in timeouts]
    command = [str(java_home() / "bin" / "java"), *options, "-jar", str(_spark_ivy())]
    if settings := os.environ.get("RTM_IVY_SETTINGS"):
        command += ["-settings", settings]
    # A cache of our own for each run: Ivy's default one is not safe when two processes write to it.
    command += ["-cache", scratch, "-ivy", str(ivy_file)]
    return [*command, "-retrieve", f"{folder}/[artifact]-[revision].[ext]"]


def _fetch(ivy_file: Path, folder: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="spark-rtm-ivy-") as scratch:
        command = _ivy_command(ivy_file, folder, scratch)
        try:
            ivy = subprocess.run(command, capture_output=True, text=True, check=False, timeout=RESOLVE_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise RuntimeError(_failure(ivy_file, f"no answer within {RESOLVE_TIMEOUT_SECONDS} s")) from error
    if ivy.returncode or not any(folder.glob("*.jar")):
        raise RuntimeError(_failure(ivy_file, ivy.stdout + ivy.stderr))


def _failure(ivy_file: Path, output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip(" :\t")]
    return (
        f"Cannot fetch the Maven packages {', '.join(pinned(ivy_file).values())}, "
        f"and they are not in the cache {cache_root()}: without them Kafka and Spark's Kafka source cannot start. "
        "With a network, run `python -m examples.services.packages`; behind a mirror, name your ivysettings.xml in "
        "RTM_IVY_SETTINGS; without a network, copy the cache folder of another machine and name it in RTM_CACHE. "
        "Ivy's last lines:\n  " + "\n  ".join(lines[-TAIL_LINES:])
    )


def _folder_name(*ivy_files: Path) -> str:
    digest = sha256(b"".join(file.read_bytes() for file in ivy_files)).hexdigest()
    return f"jars/{ivy_files[-1].stem}-{digest[:16]}"


def _jars(folder: Path) -> tuple[Path, ...]:
    return tuple(sorted(folder.glob("*.jar")))


def is_fetched(ivy_file: Path) -> bool:
    """Tell whether the jars of a file of exact versions are in the cache."""
    return (cache_root() / _folder_name(ivy_file)).is_dir()


def jars(ivy_file: Path) -> tuple[Path, ...]:
    """Return the jars of a file of exact versions; raises RuntimeError when they cannot be had."""
    return _jars(cached_folder(_folder_name(ivy_file), lambda folder: _fetch(ivy_file, folder)))


def broker_jars() -> tuple[Path, ...]:
    """Return the class path of the Kafka broker; raises RuntimeError when it is neither cached nor to be fetched."""
    return jars(IVY_FILES / "broker.xml")


def connector() -> Connector:
    """
    Return the Kafka connector of Spark's version, or the proved fall-back set where that cannot be fetched.

    The outcome is kept: the cached fall-back set says that the preferred one was asked for and not found.
    Raises RuntimeError when neither is cached or to be fetched.
    """
    preferred, fallback = IVY_FILES / "connector.xml", IVY_FILES / "connector_fallback.xml"
    settled = cache_root() / _folder_name(preferred, fallback)
    if not settled.is_dir():
        try:
            folder = cached_folder(_folder_name(preferred), lambda folder: _fetch(preferred, folder))
            return Connector(_version(preferred, CONNECTOR_MODULE), _jars(folder))
        except RuntimeError:
            # Asked before the preferred set is given up for good: without a network this raises as well.
            settled = cached_folder(
                settled.relative_to(cache_root()).as_posix(), lambda folder: _fetch(fallback, folder)
            )
    return Connector(_version(fallback, CONNECTOR_MODULE), _jars(settled))


def main() -> None:
    """Fetch what is missing and print one line for each set."""
    found = connector()
    print(f"Spark's Kafka connector {found.version}: {len(found.jars)} jars in {found.jars[0].parent}")
    broker = broker_jars()
    version = _version(IVY_FILES / "broker.xml", BROKER_MODULE)
    print(f"Kafka broker {version}: {len(broker)} jars in {broker[0].parent}")


if __name__ == "__main__":
    try:
        main()
    except (RuntimeError, KeyboardInterrupt) as error:
        sys.exit(f"{error}" or "interrupted")
