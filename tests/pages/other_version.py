"""Run the rows of the feature tables on the PySpark of this process, for `make radar`, and write the outcomes."""

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from spark_rtm.prove.engine import MIN_INTERVAL, SURVIVE_ERRORS
from spark_rtm.services import packages
from spark_rtm.services.folders import cached_folder
from spark_rtm.services.java import java_home
from spark_rtm.services.kafka import kafka_broker
from spark_rtm.services.spark import CONFS
from tests.pages.operator_probe import create_input, open_probe
from tests.pages.test_sources_sinks_operators import CASES

SLOTS = 24


def connector_jars(version: str) -> Sequence[Path]:
    template = packages.IVY_DIR / "connector.xml"
    pinned = packages.pinned(template)[packages.CONNECTOR_MODULE].rpartition(":")[2]

    def fill(folder: Path) -> None:
        with tempfile.TemporaryDirectory(prefix="radar-") as scratch:
            ivy_file = Path(scratch) / "connector.xml"
            ivy_file.write_text(template.read_text(encoding="utf-8").replace(f'"{pinned}"', f'"{version}"'))
            packages._fetch(ivy_file, folder)  # noqa: SLF001 - only pinned versions have checksums

    with suppress(RuntimeError):
        return sorted(cached_folder(f"radar/connector-{version}", fill).glob("*.jar"))
    return packages.connector().jars


def outcomes(version: str, folder: Path) -> dict[str, str]:
    os.environ.update(JAVA_HOME=str(java_home()), PYSPARK_PYTHON=sys.executable, PYSPARK_DRIVER_PYTHON=sys.executable)
    confs = {**CONFS, **MIN_INTERVAL, **SURVIVE_ERRORS, "spark.default.parallelism": "2"}
    confs |= {"spark.jars": ",".join(map(str, (*connector_jars(version), *packages.avro_jars())))}
    confs |= {"spark.driver.host": "127.0.0.1"}
    with kafka_broker() as kafka:
        spark = SparkSession.builder.master(f"local[{SLOTS}]").config(map={**confs}).getOrCreate()
        try:
            _add_trigger(spark)
            return dict(_rows(spark, kafka, folder))
        finally:
            spark.stop()


def _add_trigger(spark: Any) -> None:
    """Let `trigger(realTime=...)` call the method of the JVM, if the version has it only there."""
    original: Any = DataStreamWriter.trigger
    if "realTime" in original.__kwdefaults__:
        return

    def trigger(self: Any, **words: Any) -> Any:
        if "realTime" not in words:
            return original(self, **words)
        triggers = spark._jvm.org.apache.spark.sql.streaming.Trigger  # noqa: SLF001 - Python has no such method
        self._jwrite = self._jwrite.trigger(triggers.RealTime(words["realTime"]))
        return self

    DataStreamWriter.trigger = trigger  # type: ignore[method-assign]


def _rows(spark: SparkSession, kafka: str, folder: Path) -> Iterator[tuple[str, str]]:
    topic = create_input(kafka)
    for _, what, observe in CASES:
        try:
            outcome = observe(open_probe(spark, kafka, topic, folder))
        except Exception as error:  # noqa: BLE001 - a case of 4.3.0 may fail in any way on another version
            outcome = f"not observed: {type(error).__name__}: {str(error).strip().partition(chr(10))[0][:200]}"
        for query in spark.streams.active:
            query.stop()
        print(f"{what}: {outcome}", file=sys.stderr, flush=True)
        yield what, outcome


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="radar-") as scratch:
        os.chdir(scratch)
        Path(sys.argv[2]).write_text(json.dumps(outcomes(sys.argv[1], Path(scratch))), encoding="utf-8")
        os.chdir("/")
