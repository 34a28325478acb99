import json
import logging
import re
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro

from spark_rtm.prove.engine.bench import Bench
from spark_rtm.prove.job import runner, target
from spark_rtm.prove.job.build import topics_of
from spark_rtm.prove.job.recorders import Recording
from spark_rtm.prove.records import samples
from spark_rtm.prove.records.parseable_strings import adapted
from spark_rtm.prove.verdicts.verdict import GOOD, UNCHECKED, WRONG
from spark_rtm.testing.records import Sent
from tests.prove.judge import Judge

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(240)]

JOBS = Path(__file__).with_name("jobs")
ARGUMENTS = ("--brokers", "x:1", "--input", "usual-in", "--output", "usual-out", "--checkpoint", "/c")
START = """
stream = spark.readStream.format("kafka").option("kafka.bootstrap.servers", "x:1").option("subscribe", "usual").load()
writer = stream.select("value").writeStream.format("kafka").option("kafka.bootstrap.servers", "x:1")
query = writer.option("topic", "usual-out").outputMode("update").trigger(realTime="5 minutes").start()
"""
FLAG = "spark.databricks.streaming.realTimeMode.enabled"
SETTINGS = f"""
assert spark.conf.get({FLAG!r}) == spark.sparkContext.getConf().get({FLAG!r}) == "true"
assert spark.conf.get("spark.databricks.clusterUsageTags.clusterName")
assert spark.conf.get("shop.topic") == "orders" and spark.conf.get("shop.other", "none") == "none"
"""
IMPORTS = "from .names import TOPIC\nfrom shop.names import TOPIC as SAME\nassert TOPIC == SAME\n"
LOOPS = {
    "status": "from time import sleep\nwhile True:\n    print(query.status['message'])\n    sleep(3600)\n",
    "progress": "while query.isActive:\n    progress = query.lastProgress\n",
}

WRITE = """
writer = stream.select("value").writeStream.format("kafka").option("kafka.bootstrap.servers", "x:1")
query = writer.option("topic", "usual-out").outputMode("update").trigger(realTime="5 minutes").start()
"""
READ = "stream = spark.readStream.format('kafka').option('kafka.bootstrap.servers', 'x:1')"
FILES = """
import logging, os, shutil

logging.getLogger().setLevel(1)
assert os.path.getmtime(os.path.join(os.getcwd(), "job.py")) and spark.read.csv("job.py").count()
os.remove("job.py")
assert os.path.exists("job.py") and os.path.exists("logs")
with open(os.path.abspath("logs/job.log"), "w") as log:
    log.write("started")
if os.path.exists("checkpoint"):
    shutil.rmtree("checkpoint")
"""
CATALOG = "SparkSession.builder.config('spark.sql.catalog.spark_catalog', 'no.such.Catalog').getOrCreate()"
TABLE = "alerts = spark.read.schema('code string, low double').option('header', True).csv('/no/such.csv')"
USUAL = {
    "clients": "from cassandra.cluster import Cluster\nimport dotenv\nassert Cluster(['x']).connect()\n" + START,
    "debug query": START + "query.awaitTermination(20)\nquery.stop()\n" + START + "query.awaitTermination()\n1 / 0",
    "pattern": READ + ".option('subscribePattern', '(east|west)-usual.*').load()" + WRITE,
    "assign": READ + ".option('assign', '{\"assigned\": [0]}').load()" + WRITE,
    "schema": "spark.sql(\"create schema shop location 's3a://shop/x'\")\nspark.sql('use shop')" + START,
    "catalog": f"from pyspark.sql import SparkSession\n{CATALOG}\nspark.sql('show tables').collect()\n" + START,
    "files": FILES + START,
    "table": f"{TABLE}\nassert alerts.count() == 2 and alerts.columns == ['code', 'low']\n" + START,
    **{f"loop over {name}": START + loop for name, loop in LOOPS.items()},
}
NOTED = {"pattern": "east-usual1", "assign": "assigned"}


def _record(bench: Bench, path: Path, **confs: str) -> Recording:
    recording = Recording(bench.spark.newSession(), bench.kafka, target.Job(path, confs=confs), 1)
    runner.record(recording)
    return recording


@pytest.mark.parametrize("name", USUAL)
def test_what_production_has_does_not_stop_a_job(
    name: str, bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its clients, tables and catalogs are missing here, and a loop that polls a query ends the run."""
    monkeypatch.chdir(bench.folder)
    (tmp_path / "job.py").write_text(USUAL[name])
    for folder in ("checkpoint", "logs"):
        (tmp_path / folder).mkdir()

    recording = _record(bench, tmp_path / "job.py")

    assert (2 if name == "debug query" else 1) == len(recording.caught)
    assert [NOTED.get(name, "usual")] == recording.topics == topics_of(recording.caught[0].frame)
    assert (["cassandra", "dotenv"] if name == "clients" else []) == list(recording.missing)
    assert (["/no/such.csv"] if name == "table" else []) == list(recording.absent)
    assert ["checkpoint", "job.py", "logs"] == sorted({path.name for path in tmp_path.iterdir()} - {"prove"})
    assert not list((tmp_path / "logs").iterdir())
    assert 1 != logging.getLogger().level


FAULTS = """
login = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password=p'
rows = spark.readStream.format("kafka").option("kafka.bootstrap.servers", "x:1").option("kafka.sasl.mechanism", "PLAIN")
rows = rows.option("kafka.sasl.jaas.config", login).option("maxOffsetsPerTrigger", 9)
rows = rows.option("kafka.fetch.min.bytes", 9).option("kafka.fetch.max.wait.ms", 9999).option("subscribe", "bad").load()
rows.select("value").writeStream.format("no.such.connector").outputMode("append").start().awaitTermination()
"""
NAMED = [
    (4, "real-time mode on OSS refuses the option 'maxOffsetsPerTrigger'", "remove it"),
    (5, "kafka.fetch.min.bytes=9: the broker delays its answer", "remove the option"),
    (5, "Kafka cannot read the login", "correct kafka.sasl.mechanism and kafka.sasl.jaas.config"),
    (6, "the job's trigger is the default, so it runs in micro-batches", "realTime="),
    (6, "real-time mode does not support the output mode 'append'", "update"),
    (6, "does not support the job's sink 'no.such.connector'", "the connector is not installed here"),
]


def test_faults_of_source_and_sink_are_named_with_their_lines(judge: Judge) -> None:
    """The sink's connector is not blamed on the job."""
    verdicts = judge(FAULTS, "mode", "login")

    for line, evidence, fix in NAMED:
        (wrong,) = [verdict for verdict in verdicts if evidence in verdict.evidence]
        assert (WRONG, line) == (wrong.status, wrong.line)
        assert fix in wrong.fix
    good = [verdict.evidence for verdict in verdicts if verdict.status == GOOD]
    assert [True] == ["the plan contains RealTimeStreamScan" in text for text in good if "plan" in text]
    assert len(NAMED) + 1 == len(verdicts)


def test_job_gets_settings_and_imports_of_its_project(bench: Bench, tmp_path: Path) -> None:
    """The cluster's flag, settings with and without `--conf`, and relative imports work as in production."""
    package = tmp_path / "shop"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "names.py").write_text("TOPIC = 'orders'\n")
    (package / "job.py").write_text(SETTINGS + IMPORTS + START)

    assert 1 == len(_record(bench, package / "job.py", **{"shop.topic": "orders"}).caught)


NOTEBOOK = """# Databricks notebook source
# MAGIC %md
# MAGIC # Words
# COMMAND ----------
# MAGIC %pip install confluent-kafka
# MAGIC !ls
# COMMAND ----------
# MAGIC %run ./setup/names $topic="usual"
# COMMAND ----------
from pyspark.dbutils import DBUtils
from databricks.sdk.runtime import dbutils as same
from databricks.connect import DatabricksSession

assert same is dbutils and DBUtils(spark) is dbutils
spark = DatabricksSession.builder.getOrCreate()
dbutils.widgets.dropdown("env", "dev", ["dev", "prod"])
assert dbutils.widgets.getAll()["env"] == getArgument("env") == "dev"
assert dbutils.secrets.get("kafka", "brokers") and not dbutils.secrets.list("kafka")
assert [] == [file.path for file in dbutils.fs.ls("/Volumes/shop")] and str(dbutils.fs.head("/Volumes/shop/a"))
assert 3 == dbutils.jobs.taskValues.get(taskKey="before", key="tries", default=3)
assert str(dbutils.notebook.entry_point.getDbutils().notebook().getContext().notebookPath().get())
assert spark.conf.get("pipelines.id") and sql("select 1").count() == 1
# COMMAND ----------
# MAGIC %sql
# MAGIC create table shop.orders (id int)
# COMMAND ----------
stream = spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers).option("subscribe", TOPIC).load()
stream.display()
display(stream, checkpointLocation="/Volumes/shop/checkpoints/a")
display(stream, realTime="5 minutes", checkpointLocation="/Volumes/shop/checkpoints/b")
writer = stream.select("value").writeStream.format("kafka").option("kafka.bootstrap.servers", servers)
writer.option("topic", f"{TOPIC}-out").outputMode("update").trigger(realTime="5 minutes").start()
dbutils.notebook.exit("done")
raise AssertionError("the notebook has ended")
"""
NAMES = """# Databricks notebook source
# MAGIC %run ./servers
# COMMAND ----------
TOPIC = dbutils.widgets.get("topic")
with open("setup/topics.txt") as file:
    assert TOPIC == file.read()
"""


@pytest.mark.parametrize("kind", ["py", "ipynb"])
def test_usual_lines_of_a_notebook_do_not_stop_prove(kind: str, bench: Bench, tmp_path: Path) -> None:
    """Magic lines, other notebooks, `dbutils`, `display`, and files of the project work as on Databricks."""
    folder = tmp_path / "setup"
    folder.mkdir()
    (folder / "names.py").write_text(NAMES)
    (folder / "servers.py").write_text("servers = dbutils.secrets.get('kafka', 'servers')\n")
    (folder / "topics.txt").write_text("usual")
    path = tmp_path / f"job.{kind}"
    cells = NOTEBOOK.replace("# MAGIC ", "").split("# COMMAND ----------\n")
    sources = [{"cell_type": "code", "source": cell.splitlines(keepends=True)} for cell in cells]
    path.write_text(NOTEBOOK if kind == "py" else json.dumps({"cells": sources}, indent=1))

    caught = _record(bench, path).caught

    assert ["console", "kafka"] == [query.sink for query in caught]
    assert {"realTime='5 minutes'"} == {query.trigger for query in caught}
    lines = enumerate(path.read_text().splitlines(), 1)
    assert [query.line for query in caught] == [
        n for n, line in lines if "display(stream, real" in line or ".start()" in line
    ]


@pytest.mark.parametrize(
    ("setting", "needed"),
    [
        ("", 202),
        ("spark.conf.set('spark.sql.shuffle.partitions', 2)", 4),
    ],
)
def test_slots_are_counted_with_the_setting_that_the_job_gets(setting: str, needed: int, judge: Judge) -> None:
    """A job with Spark's default needs 202 slots, whatever the setting of `prove`, in which it runs nevertheless."""
    code = setting + START.replace('select("value")', 'groupBy("value").count()').replace("usual", "slots")

    verdicts = judge(code, "slots", "mode", slots=0 if needed == 202 else 1)

    (slots,) = [verdict for verdict in verdicts if verdict.check == "slots"]
    assert f"{needed} task slots needed" in slots.evidence
    assert WRONG == slots.status
    assert GOOD in {verdict.status for verdict in verdicts if verdict.check == "mode"}


AVRO = {
    "type": "record",
    "name": "R",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "stars", "type": ["null", "int"]},
        {"name": "price", "type": {"type": "double"}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "level", "type": {"type": "enum", "name": "Level", "symbols": ["LOW", "HIGH"]}},
        {"name": "before", "type": "Level"},
        {"name": "either", "type": ["null", "string", "boolean"]},
        {"name": "cents", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "digest", "type": {"type": "fixed", "name": "Digest", "size": 2}},
        {"name": "counts", "type": {"type": "map", "values": "long"}},
        {"name": "sent_at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
}


@pytest.mark.parametrize(("start", "header"), [(1, b""), (6, b"\0\0\0\0\1")], ids=["plain", "confluent"])
def test_made_avro_records_are_decoded_by_the_query(start: int, header: bytes, spark: SparkSession) -> None:
    """Spark reads every field of the records, which begin with Confluent's header if the query skips it."""
    stream = spark.readStream.format("rate").load().selectExpr("cast('' as binary) as value")

    def decoded(rows: DataFrame) -> DataFrame:
        framed = rows.select(F.expr(f"substring(value, {start})").alias("avro"))
        fields = framed.select(from_avro("avro", json.dumps(AVRO)).alias("r")).select("r.*")
        return fields.where("stars > 10 and not price >= 0.5 and level = 'HIGH'")

    made = samples.made_samples(decoded(stream))

    rows = decoded(spark.createDataFrame([(sent.value,) for sent in made], "value binary")).drop("sent_at", "day")
    expected = [(f"a{n}", 11, -0.5, [f"a{n}"], "HIGH", "LOW", (f"a{n}", None), n, b"\0\0", {"a": n}) for n in (1, 2)]
    assert expected == [tuple(row) for row in rows.collect()]
    assert all((sent.value or b"").startswith(header) for sent in made)


FIELDS = (
    "select from_json(cast(value as string), 'device string, temp double, ok boolean, price string, event_ts long')"
    " as e from {rows}"
)
FILTERS = {
    "one side": "e.temp > 80",
    "between": "e.temp between 81.5 and 81.9",
    "several": "80 >= e.temp and e.ok and e.device in ('x', 'y') and not e.device = 'x'",
    "text": "e.device like 'sensor-%' and e.device is not null and not e.ok",
    "cast": "cast(e.price as int) > 5",
    "time": "e.event_ts between unix_millis(now()) - 600000 and unix_millis(now())",
    "computed": "case when e.temp > 80 then 'hot' else 'cold' end = 'cold' and e.temp * 9 / 5 + 32 > 100",
}


@pytest.mark.parametrize("condition", FILTERS.values(), ids=FILTERS)
def test_made_records_pass_the_filter_of_the_query(condition: str, spark: SparkSession) -> None:
    def kept(rows: DataFrame) -> DataFrame:
        return spark.sql(FIELDS, rows=rows).where(condition)

    rows = kept(spark.readStream.format("rate").load().selectExpr("cast('' as binary) as value"))
    made = samples.made_samples(rows)
    made += samples.other_samples(rows) if "case" in condition else []

    table = spark.createDataFrame([(sent.value,) for sent in made], "value binary")
    assert kept(table).count() > 0


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("get_json_object(cast(value as string), '$.order.total') > 5", Sent(b'{"order": {"total": "6"}}', b"a1")),
        ("cast(value as string) like '%ERROR%'", Sent(b"ERROR", b"a1")),
        ("from_csv(cast(value as string), 'id int, name string').id = 7", Sent(b"7,a1", b"a1")),
        (
            "cast(filter(headers, h -> h.key = 'trace')[0].value as string) = 'x' and headers[1].value is not null",
            Sent(b"x", b"a1", (("trace", b"x"), ("header1", b"x"))),
        ),
    ],
    ids=["paths", "text", "csv", "headers"],
)
def test_records_are_made_without_a_json_schema(condition: str, expected: Sent, spark: SparkSession) -> None:
    columns = ("cast('' as binary) as value", "cast(null as array<struct<key:string,value:binary>>) as headers")
    rows = spark.readStream.format("rate").load().selectExpr(*columns).where(condition)

    assert expected == samples.made_samples(rows)[0]


PARSED = {
    "format": (["from_json(v, 'a string') AS d"], ["d.a"], ["to_timestamp(a, \"dd/MM/yyyy'T'HH:mm:ssXXX\")"]),
    "cast": (["from_json(v, 'a string, b string') AS d"], ["cast(d.a as timestamp)", "cast(d.b as double)"]),
    "parts": (["from_json(v, 'a string') AS d"], ["split(d.a, '_')[0]", "cast(split(d.a, '_')[1] as int)"]),
    "split": (["split(v, '[|]') AS a"], ["cast(a[1] as date)", "cast(a[0] as int)"]),
    "split at once": (["cast(split(v, ', ')[1] as timestamp)", "to_date(split(v, ', ')[0], 'dd.MM.yyyy')"],),
}


@pytest.mark.parametrize("name", PARSED)
def test_made_records_are_parsed_like_those_of_production(name: str, spark: SparkSession) -> None:
    """Otherwise, the query fails on the first generated record."""

    def parsed(rows: list[tuple[bytes]]) -> DataFrame:
        frame = spark.createDataFrame(rows, "value binary").selectExpr("cast(value as string) as v")
        for expressions in PARSED[name]:
            frame = frame.selectExpr("v", *expressions)
        return frame

    empty = parsed([])

    found = parsed([(sent.value or b"",) for sent in adapted(empty, samples.made_samples(empty))]).collect()

    assert [False, False] == [None in row for row in found]


def test_filter_that_no_record_passes_is_named(judge: Judge) -> None:
    code = START.replace('select("value")', 'where("length(value) > 5000").select("value")').replace("usual", "long")

    flow = judge.one(code, "flow")

    assert UNCHECKED == flow.status
    assert "the filter (length(value) > 5000) drops them" in flow.evidence
    assert "--samples long=FILE.jsonl" in flow.fix


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("cli_job.py", ARGUMENTS), ("two_speeds.py", ()), ("avro_job.py", ())],
)
def test_usual_job_is_judged_to_the_end(name: str, arguments: tuple[str, ...], judge: Judge, tmp_path: Path) -> None:
    """A deliberate micro-batch query is named and not judged."""
    path = tmp_path / name
    path.write_text((JOBS / f"{name}.txt").read_text())

    verdicts = judge(target.load(str(path), arguments), "mode", "slots", "flow")

    assert [] == [verdict.text for verdict in verdicts if verdict.status != GOOD]
    assert sorted(verdict.text for verdict in judge.shown) == sorted(verdict.text for verdict in verdicts)
    named = [verdict.evidence for verdict in verdicts if "not checked: the trigger" in verdict.evidence]
    assert (1 if name == "two_speeds.py" else 0) == len(named)


STOPS = {
    "arguments": (
        (JOBS / "cli_job.py.txt").read_text(),
        "status 2 before it waited for a query; a job gets its arguments",
    ),
    "variable": ("import os\n\nservers = os.environ['NO_SUCH_VARIABLE']\n", "job.py:3: KeyError: 'NO_SUCH_VARIABLE'"),
    "setting": ("x = 1\nspark.conf.get('shop.topic')\n", "job.py:2: SQL_CONF_NOT_FOUND"),
    "topic": (READ + ".option('subscribe', None).load()\n", "job.py:1: ValueError: the option 'subscribe' is None"),
    "module": (
        "import shop_names\n",
        "pip install shop_names into the virtual environment of this skill, or set PYTHONPATH",
    ),
    "file": ("x = open('no/such.avsc')\n", "job.py:1: FileNotFoundError"),
    "server": ("import socket\nsocket.create_connection(('127.0.0.1', 1))\n", "start the server that the job calls"),
    "client": (
        "import boto3\nint(boto3.client('ssm'))\n",
        "only placeholders for the modules 'boto3': pip install boto3",
    ),
    "call": (
        "from pyspark.sql.functions import col\ncol('a').cast(1)\n",
        "PySpark also refuses this call without prove",
    ),
    "run": ("# MAGIC %run ./setup\n", "job.py:1: %run ./setup: "),
    "source": (
        "spark.readStream.format('cloudFiles').load('/x')\n",
        "prove cannot feed the stream 'cloudfiles': read the",
    ),
    "dlt": ("import dlt\n", "a pipeline (`dp`, `dlt`) runs only in its own engine"),
    "dp": ("from pyspark import pipelines as dp\n@dp.table\ndef rows():\n    pass\n", "a pipeline (`dp`, `dlt`) runs"),
}


@pytest.mark.parametrize(("code", "message"), STOPS.values(), ids=STOPS)
def test_stop_is_not_a_fault_of_the_job(code: str, message: str, judge: Judge) -> None:
    """A job that ends early gets no verdict on the mode; earlier verdicts are shown, and the message names a remedy."""
    with pytest.raises(runner.JobLostError, match=re.escape(message)):
        judge(code, "lint", "mode")

    assert {"lint"} == {verdict.check for verdict in judge.shown}
