import inspect
import json
import re
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from examples.attribution.correlation.windows import Windows
from examples.attribution.pipeline import pipeline_queries, source_tasks
from examples.attribution.settings import DemoSettings, Settings
from examples.attribution.topics import TOPICS
from scripts.pack import files
from spark_rtm.cli import main
from spark_rtm.lint.engine import lint_text
from spark_rtm.realtime.login import DATABRICKS_CLIENT, login_of_environment, password_login
from spark_rtm.realtime.proof import assert_real_time
from spark_rtm.realtime.queries import wait_until
from spark_rtm.realtime.slots import preflight
from spark_rtm.text import markdown
from tests.helpers import end_offset, kafka_rows, produce
from tests.pages.examples import EXAMPLES
from tests.pages.jobs import ModeJob

FENCES = markdown.fences((files.ROOT / "references" / "production.md").read_text(encoding="utf-8"))
BUNDLE = (files.ROOT / "databricks/databricks.yml").read_text(encoding="utf-8")
CODE = next(fence.code for fence in FENCES if fence.language == "python")
DEFINITION = yaml.safe_load(BUNDLE)
VARIABLES = {name: variable["default"] for name, variable in DEFINITION["variables"].items()}
TARGETS = DEFINITION["targets"]
JOB = TARGETS["prod"]["resources"]["jobs"]["real_time"]
CLOUDS = {cloud: VARIABLES[cloud] for cloud in ("aws", "azure", "gcp")}
DATABRICKS = files.ROOT / "databricks"
CELLS = (DATABRICKS / "start_here.py").read_text(encoding="utf-8").split("# COMMAND ----------")
CODE_CELLS = [cell for cell in CELLS if re.search(r"(?m)^[^#\n]", cell)]
SECRET = 'w"\\ö'
"""A password with characters that a login must escape."""
FLAG = "spark.databricks.streaming.realTimeMode.enabled"
CORES_PER_WORKER = 4
"""The number of cores of each node type (the last number of the Azure and Google names, and AWS's size `xlarge`)."""
REQUIREMENTS = {"confluent-kafka", "psutil", "psycopg", "rich", "protobuf", "pyspark"}


def test_job_of_page_has_slots_for_its_queries(spark: SparkSession) -> None:
    settings, stream = DemoSettings(), kafka_rows(spark, "127.0.0.1:1", "any", includeHeaders="true")
    partitions = dict.fromkeys(TOPICS, settings.partitions)
    streams = {query: query.transform(stream) for query in pipeline_queries(settings)}
    needs = {query.name: (rows, source_tasks(query, rows, partitions, settings)) for query, rows in streams.items()}

    assert [] == lint_text(BUNDLE, "databricks.yml")
    for cluster in CLOUDS.values():
        assert {FLAG: "true", "spark.sql.shuffle.partitions": str(settings.shuffle_partitions)} == cluster["spark_conf"]
    assert 22 == preflight(spark, needs) <= VARIABLES["workers"] * CORES_PER_WORKER
    assert "UNPAUSED" == JOB["continuous"]["pause_status"]


SETTINGS_CALL = re.compile(r"\b(?:Demo)?Settings\([^()]*\)")
GROUPING_CALL = re.compile(r"\.groupBy\(((?:[^()]|\([^()]*\))*)\)")
WINDOW_CALL = re.compile(r"F\.window\([^()]*\)")


def test_python_function_without_python_on_the_worker_fails(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "/none/python")

    with pytest.raises(Exception, match='Cannot run program "/none/python"'):
        spark.range(1).select(F.udf(str)("id")).collect()


def test_blocks_that_readers_paste_have_windows_of_full_length() -> None:
    names = {"Settings": Settings, "DemoSettings": DemoSettings}
    found = [eval(call, names) for example in EXAMPLES for call in SETTINGS_CALL.findall(example.fence.code)]

    assert {(Windows(), 300)} == {(settings.windows, settings.interval_seconds) for settings in found}


def missing_in_key(block: str) -> set[str]:
    groups = [(WINDOW_CALL.sub('"window"', call[1]), block[call.end() :]) for call in GROUPING_CALL.finditer(block)]
    columns = [(column, rest) for group, rest in groups for column in re.findall(r'"(\w+)"', group)]
    return {column for column, rest in columns if not re.search(rf"\b{column}\b", rest)}


def test_key_of_an_aggregation_that_readers_paste_holds_each_grouping_column() -> None:
    """Otherwise, a compacted topic, or a consumer that keeps the newest row, would drop other groups."""
    blocks = [example.fence.code for example in EXAMPLES if example.fate not in ("raises", "other")]
    to_kafka = [block for block in blocks if ".groupBy(" in block and 'writeStream.format("kafka")' in block]

    assert len(to_kafka) >= 3
    assert [] == [missing for block in to_kafka if (missing := missing_in_key(block))]


@pytest.mark.spark
def test_budget_has_a_key_for_each_hour_of_the_end_of_summer_time(spark: SparkSession) -> None:
    """In the session's time zone, two buckets that are an hour apart have the same text."""
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "Europe/Amsterdam")
    times_ms = (1_792_888_200_000, 1_792_891_800_000)  # 2:30 on 2026-10-25, before and after the clocks change
    clicks = [{"click_id": "c", "ad_id": "a", "ts": ts} for ts in times_ms]
    records = session.createDataFrame([(json.dumps(click), click["ts"]) for click in clicks], "value string, ts long")
    [block] = [example.fence.code for example in EXAMPLES if '.queryName("budget")' in example.fence.code]
    code = re.sub(r"(?m)^(records = spark|kafka = ).*", "", block.partition("    .writeStream")[0] + ")")

    names: dict[str, Any] = {"spark": session, "records": records.withColumn("timestamp", F.timestamp_millis("ts"))}
    exec(code, names)  # the page's own code, without source and sink
    keys = sorted(row.key for row in names["query"].collect())

    assert [f"a/{ts}" for ts in times_ms] == [key.rpartition("/")[0] for key in keys]


def test_bundle_can_create_its_cluster_on_each_cloud() -> None:
    """Each variable has a default or, for the owner in production, a lookup, and each target selects a cluster."""
    assert set(re.findall(r"\$\{var\.(\w+)\}", BUNDLE)) | {"any_cloud"} == set(VARIABLES)
    assert VARIABLES["cluster"] in {f"${{var.{cloud}}}" for cloud in CLOUDS}
    # Each node has a local disk: AWS and Azure have a `d` in the names of these types, Google has a number of disks.
    assert re.fullmatch(r"m6id\.xlarge", CLOUDS["aws"]["node_type_id"])
    assert re.fullmatch(r"Standard_D4ds_v\d", CLOUDS["azure"]["node_type_id"])
    assert CLOUDS["gcp"]["node_type_id"].endswith("-4")
    assert CLOUDS["gcp"]["gcp_attributes"]["local_ssd_count"]
    assert all(each[f"{cloud}_attributes"]["availability"].startswith("ON_DEMAND") for cloud, each in CLOUDS.items())
    assert ("production", "${var.service_principal}") == (
        TARGETS["prod"]["mode"], TARGETS["prod"]["run_as"]["service_principal_name"]
    )  # fmt: skip
    assert {"lookup"} == set(TARGETS["prod"]["variables"]["service_principal"])
    assert ("development", True, 1) == (
        TARGETS["dev"]["mode"], TARGETS["dev"]["default"], TARGETS["dev"]["variables"]["workers"]
    )  # fmt: skip
    assert {"on_failure", "on_streaming_backlog_exceeded"} == set(JOB["email_notifications"])
    assert ["STREAMING_BACKLOG_SECONDS"] == [rule["metric"] for rule in JOB["health"]["rules"]]
    assert "UNPAUSED" == JOB["continuous"]["pause_status"]


def test_bundle_passes_the_login_of_a_secret_scope() -> None:
    variables = CLOUDS["aws"]["spark_env_vars"]
    used = set(re.findall(r"environ\[\"(\w+)\"\]", CODE)) | {"KAFKA_MECHANISM", "KAFKA_USER", "KAFKA_PASSWORD"}

    assert used == set(variables)
    assert all(f"KAFKA_{name}" in inspect.getsource(login_of_environment) for name in ("MECHANISM", "USER", "PASSWORD"))
    secrets = {name: value for name, value in variables.items() if "secrets/" in value}
    assert {"KAFKA_BOOTSTRAP_SERVERS", "KAFKA_USER", "KAFKA_PASSWORD"} == set(secrets)
    assert all(value.startswith("{{secrets/${var.secret_scope}/") for value in secrets.values())


@pytest.mark.parametrize("cloud", CLOUDS)
def test_jobs_of_bundle_have_only_fields_and_values_of_the_jobs_api(cloud: str) -> None:
    """The models of the public `databricks-sdk`, which drop unknown fields, keep the jobs and each permission."""
    # The import takes over a second in each worker, so it is not at the top.
    from databricks.sdk.service.jobs import JobAccessControlRequest, JobRunAs, JobSettings  # noqa: PLC0415

    jobs = [job for target in TARGETS.values() for job in target["resources"]["jobs"].values()]
    assert len(jobs) == len(TARGETS)
    for job in jobs:
        [cluster] = job["job_clusters"]
        assert "${var.cluster}" == cluster["new_cluster"]
        resolved = {**CLOUDS[cloud], "num_workers": VARIABLES["workers"]}
        complete = {**job, "job_clusters": [{**cluster, "new_cluster": resolved}]}
        assert complete == JobSettings.from_dict(complete).as_dict()
        misspelt = {**complete, "job_clusters": [{**cluster, "new_cluster": {**resolved, "node_type": "x"}}]}
        assert misspelt != JobSettings.from_dict(misspelt).as_dict()
    production = TARGETS["prod"]
    assert production["run_as"] == JobRunAs.from_dict(production["run_as"]).as_dict()
    # Bundles have their own three levels, which they translate for each kind of resource.
    assert {permission["level"] for permission in production["permissions"]} <= {"CAN_VIEW", "CAN_RUN", "CAN_MANAGE"}
    for permission in production["permissions"]:
        receiver = {name: value for name, value in permission.items() if name != "level"}
        assert receiver == JobAccessControlRequest.from_dict(receiver).as_dict()


def test_bundle_starts_the_job_of_the_page_from_its_folder() -> None:
    """The bundle and the job are files; the job ends with the code of the page, and the bundle sends its packages."""
    job = (DATABRICKS / JOB["tasks"][0]["spark_python_task"]["python_file"]).read_text(encoding="utf-8")
    imports, calls = CODE.removeprefix("import os\n\n").split("\n\n")

    assert BUNDLE == (DATABRICKS / "databricks.yml").read_text(encoding="utf-8")
    assert f"{imports}\n\nspark = SparkSession.builder.getOrCreate()\n{calls}" in job
    sent = {path.name for folder in DEFINITION["sync"]["paths"] for path in (DATABRICKS / folder).iterdir()}
    assert {line.split()[1].partition(".")[0] for line in imports.splitlines()} <= sent


def test_bundle_installs_exactly_the_packages_of_its_job() -> None:
    installed = [library["pypi"]["package"] for library in JOB["tasks"][0]["libraries"]]
    imports = [line for line in CODE.splitlines() if line.startswith("from ")]
    listing = "import sys, importlib.metadata as m; found = m.packages_distributions()"
    listing += "; print(*{name for module in set(sys.modules) & set(found) for name in found[module]})"

    found = subprocess.run(
        [sys.executable, "-c", "\n".join([*imports, listing])],
        cwd=files.ROOT, text=True, capture_output=True, check=True, timeout=100,
    )  # fmt: skip

    names = {package.partition("==")[0] for package in installed}
    assert names == set(found.stdout.split()) & REQUIREMENTS - {"pyspark"}
    assert set(installed) <= set((files.ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines())


def test_notebook_asks_first_and_stops_last() -> None:
    """The linter finds nothing; the widgets have a cell of their own; the pinned package is that of the tests."""
    assert 0 == main(["lint", str(DATABRICKS)])
    assert {"dbutils.widgets"} == {".".join(line.split(".")[:2]) for line in CODE_CELLS[0].strip().splitlines()}
    assert "query.stop()" in CODE_CELLS[-1]
    [package] = re.findall(r"# MAGIC %pip install (\S+)", "".join(CELLS))
    assert package in (files.ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()


def notebook(job: ModeJob, **changed: str) -> dict[str, Any]:
    """Return the names of a notebook whose widgets have values, and which can read the secrets of any scope."""
    fields = {"bootstrap_servers": job.kafka, "checkpoints": str(job.checkpoint), "secret_scope": "", "mechanism": ""}
    fields |= changed
    widgets = SimpleNamespace(text=lambda *_: None, dropdown=lambda *_: None, get=fields.__getitem__)
    secrets = SimpleNamespace(get=lambda _, key: {"user": "u", "password": SECRET}[key])
    return {"spark": job.spark.newSession(), "dbutils": SimpleNamespace(widgets=widgets, secrets=secrets)}


@pytest.mark.services
def test_notebook_passes_the_login_and_does_not_print_it(job: ModeJob, capsys: pytest.CaptureFixture[str]) -> None:
    """The broker of this test accepts no login, so the check names the remedy."""
    names = notebook(job, secret_scope="kafka", mechanism="SCRAM-SHA-512")

    with pytest.raises(AssertionError, match="correct the lines above"):
        exec(CODE_CELLS[1], names)

    login = password_login("SCRAM-SHA-512", "u", SECRET, client=DATABRICKS_CLIENT)
    assert {"kafka.bootstrap.servers": job.kafka, **login} == names["kafka"]
    printed = capsys.readouterr().out
    assert "broker   no answer" in printed
    assert SECRET not in printed


@pytest.mark.services
def test_notebook_compares_both_modes_on_open_source(
    job: ModeJob, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its own cells run. While the flag and the runtime of Databricks are absent, the checks name the remedies."""
    names = notebook(job)
    ask, check, start, send, compare, stop = CODE_CELLS

    exec(ask, names)
    with pytest.raises(AssertionError, match="correct the lines above"):
        exec(check, names)
    wrong = [line.split()[0] for line in capsys.readouterr().out.splitlines() if not line.endswith(" fine")]
    names["spark"].conf.set(FLAG, "true")
    monkeypatch.setenv("DATABRICKS_RUNTIME_VERSION", "18.2")
    for cell in (check, start):
        exec(cell, names)
    assert_real_time(names["real_time"])
    for cell in (send, compare):
        exec(cell, names)
    compared = names["compared"].collect()
    exec(stop, names)

    assert ["runtime", "flag"] == wrong
    assert [("real-time", 150), ("micro-batch", 150)] == [(row.mode, row.records) for row in compared]
    assert all(0 <= row.p50_ms <= row.p99_ms for row in compared)
    assert not names["real_time"].isActive
    assert not names["micro_batch"].isActive


@pytest.mark.services
def test_no_progress_event_while_results_are_written(job: ModeJob) -> None:
    produce(job.kafka, job.source, [(0, b"a")])
    query = job.copy(job.rows().groupBy("value").count().select("value"), "5 minutes")
    wait_until(lambda: end_offset(job.kafka, job.target) == 1, 60, "the first count", [query])
    assert query.lastProgress is None
    assert "Processing new data" == query.status["message"]
    tracker = job.spark.sparkContext.statusTracker()

    def stages() -> list[tuple[int, int, int]]:
        jobs = map(tracker.getJobInfo, tracker.getJobIdsForGroup(str(query.runId)))
        found = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
        return sorted((s.numTasks, s.numActiveTasks, s.numCompletedTasks) for s in found if s)

    wait_until(lambda: stages() == [(1, 1, 0)] * 2, 60, "two stages at the same time", [query])
    assert query.lastProgress is None
