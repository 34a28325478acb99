"""`prove` catches the queries of an unmodified job or notebook, and names other sources and sinks than Kafka."""

import re
import socket
from pathlib import Path

import pytest

from spark_rtm.prove.job.target import TargetError
from spark_rtm.prove.verdicts.verdict import CHECKS, GOOD, WRONG
from tests.helpers import end_offset
from tests.prove.judge import OPTIONS, Judge, line_of

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(240)]

NOTEBOOK = """\
# Databricks notebook source
dbutils.widgets.text("topic", "prove-clicks")

# COMMAND ----------
from pyspark.sql import SparkSession, functions as F

module = "kafkashaded.org.apache.kafka.common.security.plain.PlainLoginModule"
login = f'{module} required username="u" password="{dbutils.secrets.get("k", "p")}";'
servers = {"kafka.bootstrap.servers": "broker.example.com:9093", "kafka.security.protocol": "SASL_SSL"}
source = spark.readStream.format("kafka").options(**servers).option("kafka.sasl.jaas.config", login)
source = source.option("kafka.sasl.mechanism", "PLAIN")
clicks = source.option("subscribe", dbutils.widgets.get("topic")).load()

# COMMAND ----------
# MAGIC %md a comment
count = F.col("value").cast("string").try_cast("long")
kept = [F.substring(name, 1, 1_000_000).alias(name) for name in ("key", "value")]
rows = clicks.select(*kept, F.when(count > 0, "good").otherwise("rejected").alias("topic"))
writer = rows.writeStream.format("kafka").options(**servers).option("checkpointLocation", "/mnt/checkpoints/clicks")
query = writer.queryName("clicks").outputMode("update").trigger(realTime="5 minutes").start()
query.awaitTermination()
raise AssertionError("the job must end where it would wait")
"""

BATCHES = """\
from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("job").getOrCreate()
source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", "broker.example.com:9092")
rows = source.option("subscribe", "prove-orders").load()

def save(batch, number):
    batch.write.format("delta").save("/mnt/orders")

query = rows.writeStream.foreachBatch(save).option("checkpointLocation", "/mnt/c").outputMode("update").start()
spark.streams.awaitAnyTermination()
"""


def test_notebook_runs_on_the_local_broker_without_its_login(judge: Judge, tmp_path: Path) -> None:
    """Placeholders replace widgets and secrets; only the login is a placeholder, so all verdicts are good."""
    verdicts = judge(NOTEBOOK, *set(CHECKS) - {"state", "input", "restart"})

    assert [] == [verdict.text for verdict in verdicts if verdict.status != GOOD]
    (topics,) = [verdict for verdict in verdicts if verdict.check == "topics"]
    assert "the query reads prove-clicks and writes good, rejected" in topics.evidence
    assert {"job.py"} == {path.name for path in tmp_path.iterdir() if path.is_file()}
    assert not Path("/mnt/checkpoints").exists()


def test_foreach_batch_is_named_with_its_line_and_condition(judge: Judge) -> None:
    verdicts = judge(BATCHES, "mode", "flow")

    line = line_of(judge.path, "foreachBatch(save)")
    wrong = [verdict for verdict in verdicts if verdict.check == "mode" and verdict.status == WRONG]
    assert [line, line] == [verdict.line for verdict in wrong]
    assert "the job's trigger is the default" in wrong[0].evidence
    assert "ForeachBatchSink" in wrong[1].evidence
    assert "To bypass this check" not in wrong[1].evidence
    assert "instead of using foreachBatch" in wrong[1].fix
    assert "good" == next(verdict.status for verdict in verdicts if verdict.check == "flow")


WRITES = """\
from pyspark.sql import SparkSession, functions as F

spark = SparkSession.builder.getOrCreate()
row = spark.range(1).selectExpr("'started' as value")
kafka = {{"kafka.bootstrap.servers": "127.0.0.1:{port}"}}
row.write.format("kafka").options(**kafka).option("topic", "announced-{port}").save()
row.write.mode("overwrite").text("{folder}/written")
row.write.format("jdbc").option("url", "jdbc:postgresql://127.0.0.1:{port}/db").option("dbtable", "runs").save()
row.writeTo("runs").append()
row.mergeInto("runs", F.lit(True)).whenMatched().delete().merge()
spark.sql("-- a comment\\ninsert into runs select 1")
spark.sql("create or replace temporary view one as select 1")
open("{folder}/runs", "a").write("x")
stream = spark.readStream.format("kafka").options(**kafka).option("subscribe", "prove-in").load()
assert stream.isStreaming
stream = stream.selectExpr("value").writeStream.format("kafka").options(**kafka).option("topic", "prove-out")
stream.outputMode("update").trigger(realTime="5 minutes").start().awaitTermination()
"""


CHANGES = r"jdbc|To\(|mergeInto|spark\.sql\("


@pytest.mark.parametrize("side_effects", [False, True], ids=["default", "with side effects"])
def test_batch_write_of_job_reaches_no_server_of_the_user(judge: Judge, tmp_path: Path, side_effects: bool) -> None:
    """Writes to Kafka use the local broker; other writes are named and skipped, unless side effects are allowed."""
    with socket.create_server(("127.0.0.1", 0)) as production:
        production.settimeout(0)
        port = production.getsockname()[1]
        code = WRITES.format(port=port, folder=tmp_path)
        if side_effects:  # only the file may be written
            code = "".join(line for line in code.splitlines(keepends=True) if not re.search(CHANGES, line))
        verdicts = judge(judge.load(code, side_effects=side_effects), "flow")
        with pytest.raises(BlockingIOError):
            production.accept()

    assert "good" == next(verdict.status for verdict in verdicts if verdict.check == "flow")
    skipped = [verdict.evidence for verdict in verdicts if "not executed" in verdict.evidence]
    names = [] if side_effects else ["text", "jdbc", "table runs", "table runs", "SQL InsertInto"]
    assert names == re.findall(r"(?:: |, )([\w ]+) \(line \d+\)", "".join(skipped))
    assert side_effects == (tmp_path / "written").exists()
    runs = len((tmp_path / "runs").read_text())
    announced = [
        end_offset(judge.bench.kafka, f"announced-{port}", partition) for partition in range(OPTIONS.partitions)
    ]
    assert runs == sum(announced)
    # Once to catch the query, and once on static rows, which the job takes for a stream.
    assert 2 == runs


FOREACH = """\
from pyspark.sql import SparkSession

class Store:
    def open(self, partition, epoch):
        open("{folder}/opened", "a").close()
        return True

    def process(self, row): ...

spark = SparkSession.builder.getOrCreate()
stream = spark.readStream.format("kafka").option("kafka.bootstrap.servers", "x:1").option("subscribe", "prove-f").load()
stream.writeStream.foreach(Store()).outputMode("update").trigger(realTime="5 minutes").start().awaitTermination()
"""


def test_sink_of_job_is_not_opened(judge: Judge, tmp_path: Path) -> None:
    """The engine accepts `foreach` with an empty function instead of the job's, which may open a connection."""
    verdicts = judge(FOREACH.format(folder=tmp_path), "mode")

    assert "real-time mode accepts the sink 'foreach'" in verdicts[0].evidence
    assert not (tmp_path / "opened").exists()


LARGE = """\
stream = spark.readStream.format("kafka").option("kafka.bootstrap.servers", "x:1").option("subscribe", "large").load()
value = "if(length(value) > 9999, repeat('x', 1500000), 'y') value"
writer = stream.selectExpr("left(cast(key as string), 9) key", value).writeStream.format("kafka")
writer = writer.option("kafka.bootstrap.servers", "x:1").option("topic", "large-out")
writer = writer.option("kafka.max.request.size", 1_200_000)
writer.outputMode("update").trigger(realTime="5 minutes").start().awaitTermination()
"""


def test_result_above_the_limit_of_the_sink_ends_the_query(judge: Judge) -> None:
    """The sink has the client options of the job, and the records to try are as long as its limit."""
    input_ = next(verdict for verdict in judge(LARGE, "input") if verdict.check == "input")

    assert WRONG == input_.status, input_.text
    for part in ("RecordTooLargeException: ", "a value of 1 MB", "a result of 1,500,", "size=1200000"):
        assert part in input_.evidence
    assert input_.fix.startswith("cut long keys")


SECOND = """\
spark.sql("create temporary view only_once as select 1")
options = {"kafka.bootstrap.servers": "x:1"}
stream = spark.readStream.format("kafka").options(**options).option("subscribe", "prove-second").load()
writer = stream.select("value").writeStream.format("kafka").options(**options).option("topic", "prove-out")
writer.outputMode("update").trigger(realTime="5 minutes").start().awaitTermination()
"""


def test_job_that_cannot_run_twice_is_named(judge: Judge) -> None:
    with pytest.raises(TargetError, match="TEMP_TABLE_OR_VIEW_ALREADY_EXISTS"):
        judge(SECOND, "input")
