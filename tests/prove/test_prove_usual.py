"""`prove` runs the jobs of other people: clusters' settings, arguments, notebooks, waiting loops, several queries."""

from dataclasses import replace
from pathlib import Path

import pytest

from spark_rtm.prove.query import Options
from spark_rtm.prove.run import prove
from spark_rtm.prove.subjects import job, target
from spark_rtm.prove.subjects.bench import Bench
from spark_rtm.prove.subjects.build import topics_of
from spark_rtm.prove.subjects.recorders import Recording
from spark_rtm.prove.verdicts.verdict import GOOD, WRONG

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(240)]

JOBS = Path(__file__).with_name("jobs")
OPTIONS = Options(duration=1, rate=20, interval_ms=1_000, checks=frozenset({"mode", "slots", "flow"}))
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
    "active": "import time\nwhile query.isActive:\n    time.sleep(3600)\n",
    "status": "from time import sleep\nwhile True:\n    print(query.status['message'])\n    sleep(3600)\n",
    "progress": "while query.isActive:\n    progress = query.lastProgress\n",
}

WRITE = """
writer = stream.select("value").writeStream.format("kafka").option("kafka.bootstrap.servers", "x:1")
query = writer.option("topic", "usual-out").outputMode("update").trigger(realTime="5 minutes").start()
"""
READ = "stream = spark.readStream.format('kafka').option('kafka.bootstrap.servers', 'x:1')"
CATALOG = "SparkSession.builder.config('spark.sql.catalog.spark_catalog', 'no.such.Catalog').getOrCreate()"
TABLE = "alerts = spark.read.schema('code string, low double').option('header', True).csv('/no/such.csv')"
USUAL = {
    "clients": "from cassandra.cluster import Cluster\nimport dotenv\nCluster(['x']).connect()\n" + START,
    "debug query": START + "query.awaitTermination(20)\nquery.stop()\n" + START + "query.awaitTermination()\n1 / 0",
    "pattern": READ + ".option('subscribePattern', '(east|west)-usual.*').load()" + WRITE,
    "assign": READ + ".option('assign', '{\"assigned\": [0]}').load()" + WRITE,
    "schema": "spark.sql(\"create schema shop location 's3a://shop/x'\")\nspark.sql('use shop')" + START,
    "catalog": f"from pyspark.sql import SparkSession\n{CATALOG}\nspark.sql('show tables').collect()\n" + START,
    "table": f"{TABLE}\nassert alerts.count() == 2 and alerts.columns == ['code', 'low']\n" + START,
}
NOTED = {"pattern": "east-usual1", "assign": "assigned"}


def _record(bench: Bench, path: Path, **settings: object) -> Recording:
    recording = Recording(bench.spark.newSession(), bench.kafka, path, 1)
    for name, value in settings.items():
        setattr(recording, name, value)
    job.record(recording, 30)
    return recording


@pytest.mark.parametrize("loop", LOOPS)
def test_loop_that_waits_for_a_query_ends_the_run(loop: str, bench: Bench, tmp_path: Path) -> None:
    """A job that polls its query instead of `awaitTermination` neither hangs nor fails."""
    (tmp_path / "job.py").write_text(START + LOOPS[loop])

    assert 1 == len(_record(bench, tmp_path / "job.py").caught)


@pytest.mark.parametrize("name", USUAL)
def test_what_production_has_does_not_stop_a_job(name: str, bench: Bench, tmp_path: Path) -> None:
    """Clients that are not installed, debug queries, patterns and tables of a cluster do not matter."""
    (tmp_path / "job.py").write_text(USUAL[name])

    recording = _record(bench, tmp_path / "job.py")

    assert (2 if name == "debug query" else 1) == len(recording.caught)
    assert [NOTED.get(name, "usual")] == recording.topics == topics_of(recording.caught[0].frame)
    assert (["cassandra", "dotenv"] if name == "clients" else []) == list(recording.missing)
    assert (["/no/such.csv"] if name == "table" else []) == list(recording.absent)


def test_job_takes_the_static_rows_of_its_second_run_for_a_stream(bench: Bench, tmp_path: Path) -> None:
    """A job that checks `isStreaming` does not fail when `prove` evaluates single records."""
    (tmp_path / "job.py").write_text(START + "assert stream.isStreaming\n")
    rows = bench.spark.createDataFrame([], "key binary, value binary, topic string")

    assert 1 == len(_record(bench, tmp_path / "job.py", static=rows).caught)
    assert not rows.isStreaming


def test_sink_without_its_connector_is_not_blamed_on_the_job(bench: Bench, tmp_path: Path) -> None:
    """The verdict names the sinks of real-time mode; the rows of the query are judged all the same."""
    path = tmp_path / "job.py"
    code = START.replace('writeStream.format("kafka")', 'writeStream.format("no.such.connector")')
    path.write_text(code.replace('"usual"', '"usual-sink"'))

    verdicts = prove(bench, target.load(str(path)), replace(OPTIONS, checks=frozenset({"mode"})), lambda _: None)

    (refused,) = [verdict for verdict in verdicts if verdict.status == WRONG]
    assert "real-time mode on OSS refuses the sink of the job, 'no.such.connector'" in refused.evidence
    assert any("the plan contains RealTimeStreamScan" in verdict.evidence for verdict in verdicts)


def test_job_gets_settings_and_imports_of_its_project(bench: Bench, tmp_path: Path) -> None:
    """The flag of the cluster, settings with and without `--conf`, and relative imports answer as in production."""
    package = tmp_path / "shop"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "names.py").write_text("TOPIC = 'orders'\n")
    (package / "job.py").write_text(SETTINGS + IMPORTS + START)

    assert 1 == len(_record(bench, package / "job.py", confs={"shop.topic": "orders"}).caught)


def test_magic_lines_of_a_notebook_are_no_code_and_lines_keep_their_numbers(tmp_path: Path) -> None:
    """A finding names the line of the file that the user has."""
    text = (JOBS / "orders.ipynb.txt").read_text()
    path = tmp_path / "orders.ipynb"
    path.write_text(text.replace('"from pyspark', '"%pip install x\\n",\n"!ls\\n",\n"from pyspark'))
    code, lines = target.code_of(path).splitlines(), path.read_text().splitlines()

    compile("\n".join(code), "orders.ipynb", "exec")
    (number,) = [number for number, line in enumerate(code) if ".start()" in line]
    assert ".start()" in lines[number]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("flag_notebook.py", ()), ("cli_job.py", ARGUMENTS), ("orders.ipynb", ()), ("two_speeds.py", ())],
)
def test_usual_job_is_judged_to_the_end(name: str, arguments: tuple[str, ...], bench: Bench, tmp_path: Path) -> None:
    """Nothing is blamed on the job; a query that is micro-batch on purpose is named and not judged."""
    path = tmp_path / name
    path.write_text((JOBS / f"{name}.txt").read_text())
    shown = list[str]()

    loaded = target.load(str(path), arguments)
    verdicts = prove(bench, loaded, OPTIONS, lambda _step: None, lambda verdict: shown.append(verdict.text))

    assert [] == [verdict.text for verdict in verdicts if verdict.status not in {GOOD, "unchecked"}]
    assert sorted(shown) == sorted(verdict.text for verdict in verdicts)
    named = [verdict.evidence for verdict in verdicts if "not judged" in verdict.evidence]
    assert (1 if name == "two_speeds.py" else 0) == len(named)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ((JOBS / "cli_job.py.txt").read_text(), "status 2 before it waited for a query; a job gets its arguments"),
        ("import os\n\nservers = os.environ['NO_SUCH_VARIABLE']\n", "job.py:3: KeyError: 'NO_SUCH_VARIABLE'"),
        ("x = 1\nspark.conf.get('shop.topic')\n", "job.py:2: SQL_CONF_NOT_FOUND"),
        (READ + ".option('subscribe', None).load()\n", "job.py:1: ValueError: the option 'subscribe' is None"),
        ("import shop_names\n", "pip install shop_names into the virtual environment of this skill, or set PYTHONPATH"),
        ("x = open('no/such.avsc')\n", "job.py:1: FileNotFoundError"),
        ("import socket\nsocket.create_connection(('127.0.0.1', 1))\n", "start the server that it calls"),
        ("import boto3\nint(boto3.client('ssm'))\n", "only placeholders for the modules 'boto3': pip install boto3"),
        ("from pyspark.sql.functions import col\ncol('a').cast(1)\n", "PySpark refuses this call without prove, too"),
        ("import dlt\n", "a pipeline (`dp`, `dlt`) runs only in its own engine"),
        (
            "from pyspark import pipelines as dp\n@dp.table\ndef rows():\n    pass\n",
            "a pipeline (`dp`, `dlt`) runs only",
        ),
    ],
    ids=["arguments", "variable", "setting", "topic", "module", "file", "server", "client", "call", "dlt", "dp"],
)
def test_stop_is_not_a_fault_of_the_job(code: str, message: str, bench: Bench, tmp_path: Path) -> None:
    """A job that does not come to its wait gives no verdict on the mode, and the message names a remedy."""
    (tmp_path / "job.py").write_text(code)
    shown = list[str]()

    with pytest.raises(job.JobLostError) as lost:
        prove(
            bench,
            target.load(str(tmp_path / "job.py")),
            OPTIONS,
            lambda _: None,
            lambda verdict: shown.append(verdict.check),
        )

    assert message in str(lost.value)
    assert "mode" not in shown
