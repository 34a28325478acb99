import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyspark
import pytest
from pyspark import pipelines

from scripts.pack import files
from spark_rtm.services import java_home
from spark_rtm.services.scala import scala_object
from spark_rtm.text import markdown
from tests.helpers import eventually, new_topic, produce, texts_of
from tests.pages import connect_session

PAGE = files.ROOT / "references/runtimes.md"
IVY = files.ROOT / "spark_rtm/services/ivy"
ERRORS = "pyspark.errors.exceptions.connect"
FAMILY = "STREAMING_REAL_TIME_MODE"
ABORTABLE = "AbortableStreamBasedCheckpointFileManager"


def version_on_page(part: str) -> str:
    tables = markdown.tables(PAGE.read_text(encoding="utf-8"))
    [version] = [cells[1] for table in tables for _, cells in table.rows if cells[0] == part]
    return version


def revision(file: str, module: str) -> str:
    [found] = ElementTree.parse(IVY / file).findall(f".//dependency[@name='{module}']")
    return found.attrib["rev"]


def compiled_java(source: Path, classes: Path) -> str:
    jars = f"{Path(pyspark.__file__).parent}/jars/*"
    command = [f"{java_home()}/bin/javac", "--release", "17", "-cp", jars, "-d", str(classes), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert 0 == done.returncode, done.stderr
    return shutil.move(shutil.make_archive(str(classes), "zip", classes), f"{classes}.jar")


@pytest.mark.services
@pytest.mark.timeout(200)
@pytest.mark.parametrize(("language", "expected"), [("scala", "CLICK"), ("java", "click")])
def test_program_of_page_and_its_twin_in_java_run_in_real_time_mode(
    spark: Any, kafka: str, tmp_path: Path, language: str, expected: str
) -> None:
    source, target = new_topic(kafka, 1), new_topic(kafka, 1)
    options = {"kafka.bootstrap.servers": kafka, "subscribe": source, "topic": target, "startingOffsets": "earliest"}
    produce(kafka, source, [(0, b"Click")])
    if language == "scala":
        scala = tmp_path / "page.scala"
        [code] = [fence.code for fence in markdown.fences(PAGE.read_text("utf-8")) if fence.language == "scala"]
        scala.write_text(code)
        program = scala_object(spark, scala, "runtimes.Upper")
    else:
        jar = compiled_java(Path(__file__).with_name("Lower.java"), tmp_path / "classes")
        spark.sql(f"ADD JAR '{jar}'")
        program = spark._jvm.Lower  # noqa: SLF001 - PySpark has no public API for classes of a jar

    query = program.start(spark._jsparkSession, options, str(tmp_path / language))  # noqa: SLF001 - for the JVM
    try:
        eventually(lambda: texts_of(kafka, target), 90, "a record")
        assert [expected] == texts_of(kafka, target)
        assert "RealTimeStreamScan" in query.explainInternal(False)
    finally:
        query.stop()


def test_forms_of_the_trigger_in_scala_are_equal(spark: Any) -> None:
    sql = spark._jvm.org.apache.spark.sql  # noqa: SLF001 - not public
    trigger = sql.streaming.Trigger.RealTime("5 minutes")

    assert trigger.equals(sql.streaming.Trigger.RealTime())
    assert trigger.equals(sql.execution.streaming.RealTimeTrigger.apply("5 minutes"))


@pytest.fixture
def connect_server(spark: Any) -> Iterator[str]:
    """Yield the URL of a Spark Connect server in the shared session, whose settings contain a password."""
    confs, services = spark._jsparkSession.sharedState().conf(), spark._jvm.org.apache.spark.sql.connect.service  # noqa: SLF001 - not public
    service = getattr(getattr(services, "SparkConnectService$"), "MODULE$")
    spark._jsc.sc().conf().set("spark.connect.grpc.binding.port", "0")  # noqa: SLF001 - not public
    confs.set("spark.app.password", "secret")
    service.start(spark._jsc.sc())  # noqa: SLF001 - not public
    yield f"sc://127.0.0.1:{service.localPort()}"
    service.stop(*(getattr(service, f"stop$default${number}")() for number in (1, 2)))
    confs.remove("spark.app.password")


@pytest.mark.services
@pytest.mark.timeout(200)
def test_spark_connect_client_sees_what_the_page_states(spark: Any, kafka: str, connect_server: str) -> None:
    assert "secret" == spark.newSession().conf.get("spark.app.password")
    command = [sys.executable, "-m", connect_session.__name__, connect_server, kafka]
    completed = subprocess.run(command, cwd=files.ROOT, capture_output=True, text=True, check=False, timeout=180)

    assert 0 == completed.returncode, completed.stderr[-2000:]
    assert {
        "copied": ["a", "a"],
        "counted": ["1", "2"],
        "progress of the open batch": None,
        "rows in progress": None,
        "append": f"{ERRORS}.AnalysisException {FAMILY}.OUTPUT_MODE_NOT_SUPPORTED",
        "noop": f"{ERRORS}.IllegalArgumentException {FAMILY}.OPERATOR_OR_SINK_NOT_IN_ALLOWLIST",
        "udf": f"QueryFailedError {FAMILY}.OPERATOR_OR_SINK_NOT_IN_ALLOWLIST",
        "sparkContext": "pyspark.errors.exceptions.base.PySparkAttributeError JVM_ATTRIBUTE_NOT_SUPPORTED",
        "source_format": "kafka",
        "commit": "this session has no source 'rtm-kafka', so the batch of query None cannot be ended",
        "keep": "the keeper cannot detect when a stopped query's tasks end, because this is a Spark Connect session",
        "preflight": "pyspark.errors.exceptions.base.PySparkAttributeError JVM_ATTRIBUTE_NOT_SUPPORTED",
        "assert_real_time": "builtins.AttributeError None",
        "spark.app.name": "tests",
        "spark.app.password": f"{ERRORS}.SparkNoSuchElementException SQL_CONF_NOT_FOUND",
    } == json.loads(completed.stdout.partition("=> ")[2])


def test_versions_on_the_page_are_those_that_are_installed() -> None:
    pins = dict(re.findall(r"^([\w.-]+)==(\S+)$", (files.ROOT / "constraints.txt").read_text(), re.MULTILINE))
    content = tomllib.loads((files.ROOT / "pyproject.toml").read_text())
    project, groups = content["project"], content["dependency-groups"]

    assert pins["pyspark"] == version_on_page("Spark, PySpark")
    version, clients = (revision("connector.xml", module) for module in ("spark-sql-kafka-0-10_2.13", "kafka-clients"))
    assert f"{version} with Kafka clients {clients}" == version_on_page("Kafka connector")
    published = "".join(path.read_text() for path in (files.ROOT / "references/measured").glob("*.json"))
    assert {version} == set(re.findall(r'"kafka_connector": "([^"]+)"', published))
    assert revision("broker.xml", "kafka_2.13") == version_on_page("Kafka broker")
    assert f"{project['requires-python'].removeprefix('>=')} or newer" == version_on_page("Python")
    pandas = next(name for name in groups["base"] if name.startswith("pandas"))
    protobuf = ".".join(pins["protobuf"].split(".")[:2])
    assert f"pandas below {pandas.removeprefix('pandas<')}; protobuf {protobuf}" == version_on_page("pandas, protobuf")


@pytest.mark.spark
def test_update_flow_of_lakeflow_does_not_exist_in_oss() -> None:
    assert ["append_flow", "create_sink"] == sorted({"append_flow", "create_sink", "update_flow"} & set(dir(pipelines)))


@pytest.mark.spark
def test_pyspark_contains_kubernetes_but_no_checkpoint_manager_for_s3() -> None:
    jars = list((Path(pyspark.__file__).parent / "jars").glob("*.jar"))

    assert [jar.name for jar in jars if jar.name.startswith("spark-kubernetes")]
    names = {name for jar in jars if jar.name.startswith("spark-") for name in zipfile.ZipFile(jar).namelist()}
    assert any(name.endswith("/FileSystemBasedCheckpointFileManager.class") for name in names)
    assert [] == [name for name in names if ABORTABLE in name]


@pytest.mark.spark
def test_standalone_cluster_refuses_python_driver() -> None:
    programs, demo = Path(sys.executable).parent, "examples/attribution/demo/__main__.py"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    environment |= {"JAVA_HOME": str(java_home()), "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}

    submitted = subprocess.run(
        [str(programs / "spark-submit"), "--master", "spark://host:7077", "--deploy-mode", "cluster", demo],
        cwd=files.ROOT, env=environment, text=True, capture_output=True, check=False, timeout=100,
    )  # fmt: skip

    assert 0 != submitted.returncode
    assert "Cluster deploy mode is currently not supported for python applications" in submitted.stderr
