import json
import os
import re
import signal
import socket
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from scripts.pack import files
from spark_rtm.cli import main
from spark_rtm.doctor import Options, kafka
from spark_rtm.doctor.checks import PYSPARK, checkpoints, connector, flag, runtime, session, slots
from spark_rtm.doctor.command import settings_of
from spark_rtm.doctor.kafka import Result
from spark_rtm.realtime.login import certificate_login, password_login
from spark_rtm.text.finding import DATABRICKS, OSS
from tests.inspect.files import write_checkpoint

STRANGER = 54321
"""A user that owns no files."""
SECRET = 'not-to-be-printed"\\'
PINNED = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0"


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("KAFKA_") or name in {"CHECKPOINTS", "SPARK_MASTER"}]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("DATABRICKS_RUNTIME_VERSION", raising=False)


def results(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, dict[str, list[tuple[str, str]]]]:
    """Run the command, and return its status and the status and text of each check's results."""
    status = main(["doctor", *map(str, arguments), "--json"])
    found: dict[str, list[tuple[str, str]]] = {}
    for row in json.loads(capsys.readouterr().out):
        found.setdefault(row["check"], []).append((row["status"], f"{row['text']}; {row['remedy']}"))
    return status, found


@contextmanager
def other_user() -> Iterator[None]:
    """Give up the rights of root in the block."""
    user = os.geteuid()
    try:
        if user == 0:
            os.seteuid(STRANGER)
        yield
    finally:
        os.seteuid(user)


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1_000_000_000)


BAD_FILES: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda _: None, "does not exist"),
    "folder": (Path.mkdir, "is not a file"),
    "pipe": (os.mkfifo, "is not a file"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "is not a file"),
    "no access": (lambda path: path.touch(0), "cannot be read (Permission denied)"),
    "1 GB": (sparse, "more than 1,000,000 bytes"),
    "latin-1": (lambda path: path.write_bytes(b"# \xe9"), "cannot be read (it is not encoded in UTF-8)"),
    "Python": (lambda path: path.write_text(f"\n# comment\nimport os\npassword = '{SECRET}'\n"), "line 3 of "),
    "name": (lambda path: path.write_text(f"kafka.x=1\npassword={SECRET}\n"), "line 2 of "),
}


@pytest.mark.parametrize("kind", BAD_FILES)
def test_file_without_options_is_a_usage_error(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write, reason = BAD_FILES[kind]
    write(tmp_path / "job.properties")

    with other_user() if kind == "no access" else nullcontext():
        status = main(["doctor", str(tmp_path / "job.properties")])

    output, errors = capsys.readouterr()
    assert (2, "", 1) == (status, output, len(errors.splitlines()))
    assert (True, True, False) == (reason in errors, "nothing was checked" in errors, SECRET in errors), errors


def test_options_come_from_files_in_three_forms_and_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file overrides the environment, and a later file an earlier one. Names of Java's client get the prefix."""
    for name in ("KAFKA_BOOTSTRAP_SERVERS", "CHECKPOINTS", "KAFKA_USER", "KAFKA_TRUSTSTORE"):
        monkeypatch.setenv(name, f"{name} value")
    monkeypatch.setenv("KAFKA_PASSWORD", SECRET)
    (tmp_path / "a").write_text("! of Java\nsasl.mechanism : SCRAM-SHA-256\n\nspark.master  local[4]\nsubscribe=a, b\n")
    (tmp_path / "b").write_text("\ufeffkafka.bootstrap.servers = b:9092\r\nspark.master=local[8]\r\nspark.empty\r\n")

    given = settings_of([tmp_path / "a", tmp_path / "b"])

    login = password_login("PLAIN", "KAFKA_USER value", SECRET, truststore="KAFKA_TRUSTSTORE value")
    expected = {"kafka.bootstrap.servers": "b:9092", "checkpointLocation": "CHECKPOINTS value", **login}
    expected |= {
        "kafka.sasl.mechanism": "SCRAM-SHA-256",
        "spark.master": "local[8]",
        "subscribe": "a, b",
        "spark.empty": "",
    }
    assert expected == given


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("KAFKA_USER", "me", "KAFKA_USER is set, but KAFKA_PASSWORD is not; set both"),
        ("KAFKA_MECHANISM", "FOO", "use PLAIN, SCRAM-SHA-256, SCRAM-SHA-512"),
        ("KAFKA_KEYSTORE", "/missing.pem", "the keystore '/missing.pem' is not a file"),
        ("KAFKA_TRUSTSTORE", "/missing.pem", "the truststore '/missing.pem' is not a file"),
    ],
)
def test_login_of_the_environment_is_checked(
    name: str, value: str, problem: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", "127.0.0.1:1")
    monkeypatch.setenv(name, value)

    status, found = results(capsys)

    assert (1, "problem", True) == (status, found["kafka"][0][0], problem in found["kafka"][0][1]), found


BARE = "import sys; sys.path.insert(0, sys.argv.pop(1)); from spark_rtm.cli import main; sys.exit(main(sys.argv[1:]))"


@pytest.mark.parametrize(
    ("java", "home", "found"),
    [
        ("", "", "PATH has none"),
        ("echo 'openjdk version \"11.0.2\"' >&2", "", "java from PATH is Java 11.0.2"),
        ("echo 'java version \"1.8.0_292\"' >&2", "", "java from PATH is Java 8.0"),
        ("exit 1", "", "java from PATH is no Java that runs"),
        ("echo 'openjdk version \"17.0.1\"' >&2", "/no", "/no/bin/java from JAVA_HOME is no Java that runs"),
    ],
    ids=["no Java", "Java 11", "Java 8", "broken Java", "wrong JAVA_HOME"],
)
def test_python_alone_suffices_to_report_what_is_missing(tmp_path: Path, java: str, home: str, found: str) -> None:
    """Python has no packages, so PySpark, the Kafka client and Java are problems with remedies."""
    if java:
        (tmp_path / "java").write_text(f"#!/bin/sh\n{java}\n")
        (tmp_path / "java").chmod(0o755)
    command = [sys.executable, "-I", "-S", "-B", "-c", BARE, str(files.ROOT), "doctor"]
    environment = {"PATH": str(tmp_path), "HOME": str(tmp_path), "KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1"}
    environment["JAVA_HOME"] = home

    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)

    problems = [line[12:].split()[0] for line in done.stdout.splitlines() if line.startswith("problem ")]
    assert (1, "", ["java", "pyspark", "kafka"]) == (done.returncode, done.stderr, problems)
    assert found in done.stdout
    assert f"pip install pyspark=={PYSPARK}\n" in done.stdout


@pytest.mark.parametrize(
    ("version", "status", "text"),
    [
        ("4.1.2", "problem", "PySpark 4.1.2 does not have realTime in the trigger"),
        ("4.2.0", "problem", "PySpark 4.2.0 does not have stateful queries in real-time mode"),
        (PYSPARK, "fine", f"PySpark {PYSPARK}; "),
        ("4.4.0.dev1", "fine", f"(rtm is tested with {PYSPARK})"),
    ],
)
def test_pyspark_of_this_python_is_checked(
    version: str,
    status: str,
    text: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    info = tmp_path / f"pyspark-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: pyspark\nVersion: {version}\n")
    monkeypatch.syspath_prepend(tmp_path)

    _, found = results(capsys)

    assert (status, True) == (found["pyspark"][0][0], text in found["pyspark"][0][1]), found["pyspark"]


def test_versions_are_those_of_the_project() -> None:
    extras = tomllib.loads((files.ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]

    assert [f"pyspark=={PYSPARK}"] == extras["spark"]
    assert PINNED in connector({}).remedy


FLAG = "spark.databricks.streaming.realTimeMode.enabled"
FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"
FEW = {"spark.master": "local[8]", "spark.sql.shuffle.partitions": "2"}


EXECUTORS = {"spark.executor.instances": "2", "spark.executor.cores": "1"}
CLICKS = {"clicks": 3}


def loaded(packages: str) -> Result:
    return connector({"spark.jars.packages": packages})


RESULTS: list[tuple[Result, str, str]] = [
    (loaded(f"a:b:1,{PINNED}"), "fine", "spark-sql-kafka-0-10_2.13:4.2.0"),
    (loaded(PINNED.replace("4.2.0", "4.1.0")), "problem", "older than the trigger realTime"),
    (loaded(PINNED.replace("4.2.0", "4.3.0")), "problem", "was not published"),
    (loaded(PINNED.replace("2.13", "2.12")), "problem", "is for Scala 2.12, so Spark 4 cannot load it"),
    (loaded("org.apache.spark:spark-avro_2.13:4.2.0"), "not checked", "for other sessions, pass --packages"),
    (runtime("18.1"), "fine", "Databricks Runtime 18.1"),
    (runtime("16.3"), "problem", "has no real-time mode"),
    (runtime("client.4.9"), "problem", "serverless"),
    (flag({FLAG: "true"}), "fine", "is true"),
    (flag({"spark.x": "1"}), "problem", "restart the cluster"),
    (flag({"spark.master": "local[2]"}), "not checked", "spark.conf.get"),
    (next(session({"spark.master": "local[2]"}, OSS)), "not checked", "no settings of a session"),
    (next(session({FLAG: "true"}, DATABRICKS)), "fine", "no problem in 0 settings"),
    (next(session({"spark.x.secret": SECRET}, OSS)), "fine", "no problem in 1 setting"),
    (next(session({"spark.databricks.photon.enabled": "true"}, DATABRICKS)), "problem", "Photon is on"),
    (next(session({"spark.x.secret": SECRET, FORMAT: "1"}, OSS)), "problem", "SQL_CONFIGURATION_NOT_SUPPORTED"),
    (next(session({f"{FORMAT}s": "x'; SET y = \"1"}, OSS)), "problem", "not exist, so Spark ignores it"),
    (slots(Options(), {"spark.master": "local[4]"}, CLICKS), "fine", "4 task slots for 3 source partitions"),
    (slots(Options(), {"spark.master": "local[2]"}, CLICKS), "problem", "needs 3 task slots (3 source partitions)"),
    (slots(Options(), {"spark.master": "local"}, CLICKS), "problem", "only 1 exist"),
    (slots(Options(stateful_stages=1), {"spark.master": "local[8]"}, CLICKS), "problem", "needs 203 task slots"),
    (slots(Options(stateful_stages=2), FEW, CLICKS), "fine", "2 x 2 shuffle partitions"),
    (slots(Options(), EXECUTORS, CLICKS), "problem", "only 2 exist"),
    (slots(Options(), {"spark.master": "k8s://host"}, CLICKS), "not checked", "does not state the slots"),
    (slots(Options(available=9), {}, {}), "not checked", "the source partitions are unknown"),
    (next(checkpoints("")), "not checked", "set CHECKPOINTS"),
    (next(checkpoints("no-such-store://bucket/a")), "problem", "cannot open no-such-store://bucket/a"),
]


@pytest.mark.parametrize(("result", "status", "text"), RESULTS, ids=[text for _, _, text in RESULTS])
def test_check_of_an_input_is_fine_or_names_the_problem(result: Result, status: str, text: str) -> None:
    shown = f"{result.text}; {result.remedy}"

    assert (status, True, False) == (result.status, text in shown, SECRET in shown), shown
    assert bool(result.remedy) == (status != "fine")


def test_databricks_runtime_replaces_java_and_pyspark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """FILE contains the cluster's Spark config in the form of its page, NAME VALUE."""
    monkeypatch.setenv("DATABRICKS_RUNTIME_VERSION", "17.3")
    (tmp_path / "conf").write_text(f"{FLAG} true\nspark.databricks.photon.enabled true\n")

    status, found = results(capsys, tmp_path / "conf")

    assert (1, ["python", "runtime", "flag", "settings"]) == (status, [*found][:4])
    assert [("fine", True)] == [(state, "is true" in text) for state, text in found["flag"]]
    assert "Photon is on" in found["settings"][0][1]


def unwritable(path: Path) -> None:
    write_checkpoint(path)
    path.parent.chmod(0o755)
    for each in path.rglob("*"):
        each.chmod(0o555 if each.is_dir() else 0o444)


CHECKPOINTS: dict[str, tuple[Callable[[Path], object], list[tuple[str, str]]]] = {
    "new": (lambda _: None, [("fine", "does not exist yet and can be written")]),
    "empty": (Path.mkdir, [("fine", "is empty and can be written")]),
    "good": (write_checkpoint, [("fine", "batch 2 is committed, and a real-time query resumes")]),
    "two": (
        lambda path: [write_checkpoint(path / "a"), write_checkpoint(path / "b", version=1)],
        [("fine", "a: batch 2 is committed"), ("problem", "CHECKPOINT_FORMAT_V1_NOT_SUPPORTED")],
    ),
    "file": (lambda path: path.write_text(""), [("problem", "is a file, so no query can create the checkpoint")]),
    "below a file": (lambda path: path.parent.joinpath("file").write_text(""), [("problem", "file is a file")]),
    "damaged": (
        lambda path: write_checkpoint(path).joinpath("offsets/2").write_text("v1\n"),
        [("problem", "offsets/2")],
    ),
    "unwritable": (unwritable, [("problem", "this user cannot write to ")]),
    "unreadable": (lambda path: path.mkdir(0), [("problem", "Permission denied")]),
}


@pytest.mark.parametrize("kind", CHECKPOINTS)
def test_checkpoint_is_read_and_can_be_written(kind: str, tmp_path: Path) -> None:
    write, expected = CHECKPOINTS[kind]
    write(tmp_path / "job")
    for path in (tmp_path, *(each for each in tmp_path.parents if each.name.startswith(("pytest-", "popen-")))):
        path.chmod(0o755)

    with other_user() if kind.startswith("un") else nullcontext():
        found = list(checkpoints(str(tmp_path / ("file/job" if kind == "below a file" else "job"))))

    assert [(status, True) for status, _ in expected] == [
        (result.status, text in f"{result.text}; {result.remedy}")
        for result, (_, text) in zip(found, expected, strict=True)
    ], found


PASSWORD = {"kafka.bootstrap.servers": "a:1", **password_login("PLAIN", "me", SECRET)}
JAAS = "kafka.sasl.jaas.config"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (PASSWORD | {JAAS: f"x required username=me password='{SECRET[:-1]}' ;"}, ""),
        (PASSWORD | {JAAS: f'x required username="{SECRET[:-2]}";'}, "contains no user or no password"),
        (PASSWORD | {"kafka.sasl.mechanism": "AWS_MSK_IAM"}, "cannot log in with AWS_MSK_IAM"),
        (PASSWORD | {"kafka.ssl.truststore.location": "/a.jks"}, "because its type is not PEM"),
        (PASSWORD | certificate_login("/missing.pem"), "the keystore '/missing.pem' is not a file"),
    ],
    ids=["other quotes", "no password", "other mechanism", "JKS", "missing file"],
)
def test_login_is_translated_for_the_client_or_its_problem_is_named(options: dict[str, str], problem: str) -> None:
    """Options of the C client's names; no message contains the password."""
    if not problem:
        properties = kafka.client_properties(options)
        assert ("me", SECRET[:-1]) == (properties["sasl.username"], properties["sasl.password"])
        assert SECRET == kafka.client_properties(PASSWORD)["sasl.password"]
        return
    with pytest.raises((ValueError, kafka.UncheckedError), match=problem) as caught:
        kafka.client_properties(options)
    assert SECRET[:-2] not in str(caught.value)


@contextmanager
def silent_server() -> Iterator[str]:
    """A server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize(
    ("servers", "reason"),
    [
        ("127.0.0.1:1", "Connection refused"),
        ("no-such-host.invalid:9092", "Failed to resolve 'no-such-host.invalid:9092'"),
        ("silent", "the server does not answer, or it requires TLS"),
        (",", "the server does not answer"),
    ],
)
def test_unreachable_server_is_a_problem_within_the_deadline(
    servers: str, reason: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(kafka, "LOGIN_SECONDS", 1.0)
    with silent_server() as address:
        monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", servers.replace("silent", address))
        status, found = results(capsys)

    assert (1, "problem", True) == (status, found["kafka"][0][0], reason in found["kafka"][0][1]), found["kafka"]
    assert "not checked" == found["slots"][0][0]


def test_ctrl_c_ends_the_wait_without_a_traceback() -> None:
    """The results of earlier checks are already printed."""
    with silent_server() as address:
        environment = {**os.environ, "KAFKA_BOOTSTRAP_SERVERS": address}
        command = [sys.executable, "-m", "spark_rtm", "doctor"]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, cwd=files.ROOT, env=environment, stdout=pipe, stderr=pipe, text=True) as process:
            assert process.stdout
            assert any("settings" in line for line in process.stdout)
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=30)

    assert (130, "", "") == (process.returncode, output, errors)


def test_terminal_gets_colors_and_every_reader_a_summary(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    main(["doctor", "--checkpoint", "/dev/null/a\x1b[2J"])

    output = capsys.readouterr().out
    assert re.search(r"^\x1b\[31mproblem     \x1b\[0mcheckpoint  .*\\x1b\[2J", output, re.MULTILINE)
    assert output.endswith(" fine, 1 problem, 4 not checked\n")
