"""The folder `spark_rtm/realtime` works in another project: copied, without the rest of this repository."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import grimp
import pytest

from scripts.pack.files import ROOT
from spark_rtm.services import connector, java_home
from spark_rtm.services.spark import control_jar
from tests.helpers import new_topic, produce

FOLDER = ROOT / "spark_rtm" / "realtime"
JOB = """\
import sys

from pyspark.sql import SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from jobs import control, decoding, keeper, proof, queries, slots, timers, warm_up

jars, servers, source_topic, target = sys.argv[1:]
builder = SparkSession.builder.master("local[4]").config("spark.jars", jars).config("spark.ui.enabled", "false")
builder = builder.config("spark.sql.streaming.realTimeMode.minBatchDuration", "1s")
builder = builder.config("spark.default.parallelism", "40").config("spark.task.cpus", "2")
spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
schema = StructType([StructField("id", StringType())])
records = spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers)
records = records.option("subscribe", source_topic).option("startingOffsets", "earliest").load()
reasons = decoding.reasons_of_form("record", ["id"])
decoded = decoding.parse(records, schema, "record").withColumn("reason", decoding.first_reason(reasons))
rows = decoded.selectExpr("coalesce(reason, record.id) AS value")
assert 1 == slots.preflight(spark, {"copied": (rows, 1)})
writer = rows.writeStream.format("kafka").option("kafka.bootstrap.servers", servers).option("topic", target)
writer = writer.options(**queries.KAFKA_SINK).option("checkpointLocation", "checkpoint").queryName("copied")
query = writer.outputMode("update").trigger(realTime="2 seconds").start()
proof.assert_real_time(query)
queries.wait_until(lambda: sum(p.numInputRows for p in query.recentProgress) == 2, 60, "two rows", [query])
queries.raise_if_failed([query])
queries.stop_completely(spark, query)
assert all(map(callable, (timers.move_timer, keeper.keep, warm_up.warm_up)))
print(f"slots {slots.slots_total(spark)} of default parallelism {spark.sparkContext.defaultParallelism}")
print(control.source_format())
try:
    spark.readStream.format(control.SOURCE).options(**{"kafka.bootstrap.servers": servers, "subscribe": "t"}).load()
except Exception as error:
    print(error)
"""


def test_folder_imports_only_pyspark_and_the_standard_library() -> None:
    graph = grimp.build_graph("spark_rtm", include_external_packages=True)
    modules = {"spark_rtm.realtime", *graph.find_descendants("spark_rtm.realtime")}
    imported = {name for module in modules for name in graph.find_modules_directly_imported_by(module)}

    assert {"pyspark"} == imported - modules - sys.stdlib_module_names


@pytest.mark.spark
@pytest.mark.services
def test_copied_folder_runs_a_query_in_a_project_of_its_own(kafka: str, tmp_path: Path) -> None:
    """
    A program may set `spark.default.parallelism` for its batch jobs; the slots remain cores / `spark.task.cpus`.

    On Databricks, the `rtm-kafka` source refuses to read, and `source_format` returns `kafka`, even with the jar.
    """
    source, target = new_topic(kafka, 1), new_topic(kafka, 1)
    produce(kafka, source, [(0, b'{"id": "a"}'), (0, b"not json")])
    shutil.copytree(FOLDER, tmp_path / "jobs", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "job.py").write_text(JOB)
    jars = ",".join(map(str, (*connector().jars, control_jar())))
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"JAVA_HOME": str(java_home()), "PYSPARK_PYTHON": sys.executable}
    environment["DATABRICKS_RUNTIME_VERSION"] = "18.1"

    command = [sys.executable, "job.py", jars, kafka, source, target]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=110, check=False
    )

    assert 0 == done.returncode, done.stderr
    slots, source_format, *refusal = done.stdout.splitlines()
    assert ("slots 2 of default parallelism 40", "kafka") == (slots, source_format)
    assert "the source 'rtm-kafka' works only with open-source Spark 4.3.x" in " ".join(refusal)
    assert "use the source 'kafka'" in " ".join(refusal)
