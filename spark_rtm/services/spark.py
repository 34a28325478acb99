"""
Start a Spark session with the settings for real-time mode and with the Kafka connector.

A local session accepts connections only from its own processes, and stores its temporary files in the run folder.
"""

import atexit
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from types import FrameType

from pyspark import SparkContext
from pyspark.sql import SparkSession

from spark_rtm.realtime import control
from spark_rtm.realtime.control import PLUGIN
from spark_rtm.services.folders import jvm_folder, new_folder
from spark_rtm.services.java import (
    RECORDING_SECONDS,
    class_archive,
    class_archive_options,
    java_home,
    record_archive,
)
from spark_rtm.services.packages import connector
from spark_rtm.services.scala import SPARK_HOME, compiled

STATE_STORE_PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
CHECKPOINT_FILE_MANAGER = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
# By default, the JVM never compiles methods with more than 8,000 bytes of bytecode. Spark
# generates larger methods for the decoder.
COMPILE_LARGE_METHODS = "-XX:-DontCompileHugeMethods"
# Avro allocates a record's declared lengths before it reads the data, so without these limits a record of seven bytes
# exhausts the heap. No string, array or map in a record is longer than the record.
AVRO_LIMITS = " ".join(
    f"-Dorg.apache.avro.limits.{name}=4000000"
    for name in ("string.maxLength", "bytes.maxLength", "collectionItems.maxLength")
)
# This file system creates files without a `chmod` process. By default, each new checkpoint file starts such a process,
# which lengthens the pause between batches.
LOCAL_FILES = Path(__file__).with_name("local_files.scala")
CONTROL = Path(control.__file__).with_suffix(".scala")
PYTHON_STATE = CONTROL.with_name("python_state") / "python_state.scala"
EXACTLY_ONCE = CONTROL.with_name("exactly_once") / "exactly_once.scala"
LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")
WORKER_START = Path(__file__).with_name("worker_start")
"""Folder with a module that connects Python workers before their imports."""

JAVA_OPTIONS, EXECUTOR_JAVA_OPTIONS = "spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions"
CONFS = {
    # Spark sends a partially filled shuffle buffer after this many milliseconds. With the default of 50, a row in a
    # stateful query waits up to 50 ms at each shuffle. Spark reads the value when the context starts.
    "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "1",
    # This setting halves the pause between batches on a local disk. On HDFS or an object store, omit it and measure the
    # pause.
    "spark.sql.streaming.checkpointFileManagerClass": CHECKPOINT_FILE_MANAGER,
    # Real-time mode sets the next three settings by default. They are set here for micro-batch queries, because
    # real-time mode cannot resume from a checkpoint without the first two.
    "spark.sql.streaming.stateStore.providerClass": STATE_STORE_PROVIDER,
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Event times must not depend on the machine's time zone.
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "2g",
    JAVA_OPTIONS: f"{COMPILE_LARGE_METHODS} {AVRO_LIMITS} -Dlog4j2.configurationFile={LOG_SETTINGS.as_uri()}",
    EXECUTOR_JAVA_OPTIONS: f"{COMPILE_LARGE_METHODS} {AVRO_LIMITS}",
}
"""Settings for all sessions."""
FAST_COMPILER = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
FAST_COMPILER_CONFS = {
    # At 150 records/s, the JVM's optimizing compiler uses a third of Spark's CPU time in the demonstration, and a run
    # of a few minutes is too short to recover this cost. Without the optimizing compiler, the default code cache is 48
    # MB, which five queries fill.
    name: f"{CONFS[name]} {FAST_COMPILER}"
    for name in (JAVA_OPTIONS, EXECUTOR_JAVA_OPTIONS)
}
"""
Settings for short local runs at low rates. JVMs then use only the fast compiler (C1), not the optimizing one (C2).

All other jobs should keep the optimizing compiler, whose code runs faster.
"""

# Environment variables with a cluster's configuration for JVMs, or with settings for all of this user's Spark programs.
CLUSTER_VARIABLES = ("HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_CONF_DIR", "SPARK_DIST_CLASSPATH", "SPARK_LOCAL_DIRS",
                     "SPARK_REMOTE", "PYSPARK_SUBMIT_ARGS")  # fmt: skip

JVM_END_SECONDS = 60.0
QUERY_SECONDS = 60


def build_session(
    app_name: str,
    *,
    master: str = "",
    slots: int = 8,
    shuffle_partitions: int = 2,
    confs: Mapping[str, str] | None = None,
    archive_options: Sequence[str] = (),
) -> SparkSession:
    """
    Start a session with `CONFS` and the Kafka connector.

    Without `master`, the session is local, has `slots` task slots, and ignores the machine's Hadoop and Spark
    configuration. `confs` override all other settings, except that `spark.jars` are added. On this machine, JVMs load
    their classes from the archive written by `record_classes`, unless `archive_options` replaces it.
    """
    os.environ["JAVA_HOME"] = str(java_home())
    url, kafka_jars = master or f"local[{slots}]", connector().jars
    is_local = url.startswith("local")
    # Without these two variables, workers run the first Python on their PATH, which may be a different version on a
    # cluster.
    if is_local or "PYSPARK_PYTHON" not in os.environ:
        os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    is_here = is_local or "//127.0.0.1:" in url
    session_confs = {
        **CONFS,
        "spark.plugins": PLUGIN,
        # With the default of 200, each shuffle needs 200 task slots.
        "spark.sql.shuffle.partitions": str(shuffle_partitions),
        **(_local_files() if is_here else {}),
        **_private(url),
        **(confs or {}),
        "spark.jars": _joined(*map(str, (*kafka_jars, control_jar())), (confs or {}).get("spark.jars", "")),
    }
    session_confs[JAVA_OPTIONS] += f' "-Djava.io.tmpdir={jvm_folder()}"'
    if is_here:
        options = " ".join(archive_options or class_archive_options(archive()))
        session_confs[JAVA_OPTIONS] += f" {options}"
        session_confs[EXECUTOR_JAVA_OPTIONS] += f" {options}"
    with _signals_later(), _own_configuration() if is_local else nullcontext():
        session = SparkSession.builder.master(url).appName(app_name).config(map={**session_confs}).getOrCreate()
        _connect_workers_early(session.sparkContext.environment)
        atexit.register(_end_jvm, os.getpid())
    return session


@contextmanager
def _signals_later() -> Iterator[None]:
    """Delay the first Ctrl-C or SIGTERM until the block ends, because PySpark would leave a starting JVM behind."""
    before, noted = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}, list[int]()

    def repeat(number: int) -> None:
        signal.signal(number, before[signal.Signals(number)])
        signal.raise_signal(number)

    def note(number: int, _frame: FrameType | None) -> None:
        noted.append(number)
        if len(noted) > 1:  # the JVM may hang
            repeat(number)

    is_main = threading.current_thread() is threading.main_thread()
    for number in before if is_main else ():
        signal.signal(number, note)
    try:
        yield
    finally:
        # PySpark replaces the SIGINT handler.
        for number in [number for number in before if signal.getsignal(number) is note]:
            signal.signal(number, before[number])
    if noted:
        repeat(noted[0])


@contextmanager
def _own_configuration() -> Iterator[None]:
    """Hide the machine's configuration, so a JVM that starts in this block can neither reach nor log to a cluster."""
    before, conf = os.environ.copy(), SPARK_HOME / "conf"
    for name in CLUSTER_VARIABLES:
        os.environ.pop(name, None)
    # A missing folder leaves the archive's class path unchanged.
    os.environ["SPARK_CONF_DIR"] = str(new_folder("conf") if conf.exists() else conf)
    try:
        yield
    finally:
        os.environ.pop("SPARK_CONF_DIR")
        os.environ.update({name: before[name] for name in CLUSTER_VARIABLES if name in before})


def _joined(*jars: str) -> str:
    """Join comma-separated lists of jars, which may be empty, into one list without duplicates."""
    return ",".join(dict.fromkeys(jar for jar in ",".join(jars).split(",") if jar))


def control_jar() -> Path:
    """Return the jar with the `rtm-kafka` source, its plugin, `python_state` and `exactly_once`."""
    return compiled(
        CONTROL, PYTHON_STATE, EXACTLY_ONCE, data_source="spark_rtm.control.KafkaProvider", libraries=connector().jars
    )


def archive() -> Path:
    """Return the path of the class archive for Spark's JVMs, which `record_classes` writes."""
    return class_archive("spark", [compiled(LOCAL_FILES), *sorted(SPARK_HOME.glob("jars/*.jar"))])


def class_path() -> str:
    """Return the class path of Spark's JVMs. A JVM with a different class path cannot use the archive."""
    jars = SPARK_HOME / "jars"
    (first,) = jars.glob("slf4j-api-*.jar")
    return os.pathsep.join(map(str, [compiled(LOCAL_FILES), SPARK_HOME / "conf", first, jars / "*"]))


def record_classes() -> Path:
    """Return the folder of Spark's class archive. The first call runs a query to create the archive."""

    def run(options: list[str]) -> None:
        if SparkSession.getActiveSession():
            raise RuntimeError(
                "this process already has a Spark session, whose JVM would end; create the archive in another process: "
                "`python -m spark_rtm.services archives`"
            )
        session = build_session("record classes", archive_options=options)
        rows = session.readStream.format("rate").load().groupBy("value").count()
        writer = rows.writeStream.format("noop").option("checkpointLocation", str(new_folder("checkpoint")))
        writer.outputMode("update").trigger(availableNow=True).start().awaitTermination(QUERY_SECONDS)
        session.stop()
        _end_jvm(os.getpid(), RECORDING_SECONDS)

    return record_archive(archive(), run)


def _private(url: str) -> dict[str, str]:
    """Return settings that prevent other users of this machine from connecting to a local session."""
    # Without a cluster, Spark generates the secret. A standalone cluster has its own secret.
    authentication = {"spark.authenticate": "true"} if url.startswith("local[") else {}
    if url.startswith("local"):
        # Configuration on the class path or from the program that started this JVM could contain a cluster's address.
        authentication |= {"spark.hadoop.fs.defaultFS": "file:///", "spark.eventLog.enabled": "false"}
    if "local" in url or "127.0.0.1" in url:
        return {**authentication, "spark.driver.host": "127.0.0.1", "spark.local.dir": str(new_folder("spark"))}
    return authentication


def _connect_workers_early(environment: dict[str, str]) -> None:
    """Add the `WORKER_START` folder to the workers' PYTHONPATH. Machines without this folder ignore the entry."""
    folders = [folder for folder in environment.get("PYTHONPATH", "").split(os.pathsep) if folder]
    environment["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([str(WORKER_START), *folders]))


def _end_jvm(owner: int, seconds: float = JVM_END_SECONDS) -> None:
    """Wait for the JVM's shutdown hooks, which delete Spark's files, before the run folder is deleted."""
    gateway = SparkContext._gateway  # noqa: SLF001 - PySpark has no public API for the JVM process
    if gateway and (process := getattr(gateway, "proc", None)) and os.getpid() == owner:
        # A Py4J thread sends the JVM the ids of deleted Python objects. If the JVM has already ended, this thread could
        # log a stack trace.
        gateway._gateway_client.is_connected = False  # noqa: SLF001 - Py4J has no public API to end only this thread
        process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)


def _local_files() -> dict[str, str]:
    # Spark loads file systems before `spark.jars`, so the class must be on each JVM's class path.
    jar = str(compiled(LOCAL_FILES))
    return {
        "spark.hadoop.fs.file.impl": "spark_rtm.LocalFiles",
        "spark.driver.extraClassPath": jar,
        "spark.executor.extraClassPath": jar,
    }
