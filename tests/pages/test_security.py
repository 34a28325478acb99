"""The security page, on a broker with SASL over TLS, client certificates and ACLs, and on PostgreSQL behind TLS."""

import os
import re
import subprocess
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from confluent_kafka import KafkaException
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pytest_examples import EvalExample

from scripts.pack import files
from spark_rtm.realtime.failures import failure_of
from spark_rtm.realtime.keeper import judge
from spark_rtm.realtime.login import DATABRICKS_CLIENT, OSS_CLIENT, certificate_login, password_login
from spark_rtm.realtime.proof import assert_real_time, plan_of_query
from tests.certificates import Certificates
from tests.helpers import end_offset, eventually, new_topic, produce
from tests.pages.examples import Example
from tests.pages.running import PageEnvironment, check_example
from tests.pages.samples import ALL_TOPICS, PARTITIONS, create_page_topics
from tests.pages.secured import PACKAGE, PASSWORD, USER, SecuredKafka, secured_examples, secured_kafka, secured_postgres

pytestmark = [pytest.mark.spark, pytest.mark.services]

READ, WRITE, DESCRIBE = ("TOPIC", "source", "READ"), ("TOPIC", "target", "WRITE"), ("TOPIC", "target", "DESCRIBE")
WRONG_PASSWORD = "wrong-word"
Options = dict[str, str]


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredKafka]:
    with secured_kafka(tmp_path_factory.mktemp("certificates")) as kafka:
        create_page_topics(kafka.setup)
        eventually(lambda: _has_leaders(kafka.setup), 60, "the leaders of the page's topics")
        yield kafka


def _has_leaders(kafka: str) -> bool:
    try:
        return [end_offset(kafka, topic, number) for topic in ALL_TOPICS for number in range(PARTITIONS)] != []
    except KafkaException:
        return False


@pytest.fixture(scope="module")
def source(secured: SecuredKafka) -> str:
    topic = new_topic(secured.setup, 1)
    produce(secured.setup, topic, [(0, b"record")])
    return topic


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    certificates = Certificates(tmp_path_factory.mktemp("postgres"))
    with secured_postgres(certificates) as dsn:
        yield dsn, str(certificates.trusted())


def password(secured: SecuredKafka, mechanism: str = "SCRAM-SHA-512", word: str = PASSWORD) -> Options:
    login = password_login(mechanism, USER, word, truststore=secured.trusted)
    return {"kafka.bootstrap.servers": secured.login, **login}


def certificate(secured: SecuredKafka, keystore: str) -> Options:
    return {"kafka.bootstrap.servers": secured.mutual, **certificate_login(keystore, truststore=secured.trusted)}


def unsigned_token(secured: SecuredKafka) -> Options:
    """Return login options with an unsigned token, which only a test may accept."""
    jaas = f'{PACKAGE}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="{USER}";'
    token = {"kafka.sasl.mechanism": "OAUTHBEARER", "kafka.sasl.jaas.config": jaas}
    return password(secured) | token


def start(
    spark: SparkSession, secured: SecuredKafka, topics: tuple[str, str], reader: Options, writer: Options, folder: Path
) -> StreamingQuery:
    stream = spark.readStream.format("kafka").options(**reader).option("startingOffsets", "earliest")
    rows = stream.option("subscribe", topics[0]).load().select("value")
    sink = rows.writeStream.format("kafka").options(**writer).option("topic", topics[1]).outputMode("update")
    sink = sink.option("checkpointLocation", str(folder / "checkpoint"))
    return sink.trigger(realTime="3 seconds").start()  # type: ignore[call-overload, no-any-return]


def outcome(secured: SecuredKafka, target: str, query: StreamingQuery) -> str:
    """Return `copied`, or the query's last Kafka exception, after which the keeper must not restart it."""
    # Neither the error nor the plan holds a password.
    eventually(lambda: query.exception() or end_offset(secured.setup, target), 60, "a record or a failure")
    if not (failure := query.exception()):
        assert_real_time(query)
        assert PASSWORD not in plan_of_query(query)
        return "copied"
    assert WRONG_PASSWORD not in str(failure)
    assert PASSWORD not in str(failure)
    decision = judge(failure_of("copy", failure, 0), [])
    assert (None, "a login failed or a permission is missing") == (decision.pause_seconds, decision.reason)
    return str(re.findall(r"org\.apache\.kafka\.common\.(?:errors|config)\.(\w+: [^\n]*)", str(failure))[-1])


def copied(
    spark: SparkSession, secured: SecuredKafka, source: str, reader: Options, writer: Options, folder: Path, *acls: Any
) -> str:
    """Copy a record with ACLs for topics called `source` and `target`, and return the outcome."""
    target = new_topic(secured.setup, 1)
    names = {"source": source, "target": target}
    secured.allow(*((kind, names.get(name, name), operation) for kind, name, operation in acls))
    query = start(spark, secured, (source, target), reader, writer, folder)
    try:
        return outcome(secured, target, query)
    finally:
        query.stop()


@pytest.mark.parametrize("login", ["PLAIN", "SCRAM-SHA-512", "OAUTHBEARER", "certificate"])
def test_right_login_with_two_rights_copies_a_record(
    login: str, spark: SparkSession, secured: SecuredKafka, source: str, tmp_path: Path
) -> None:
    """READ on the source and WRITE on the target are enough: no right to a group, cluster or DESCRIBE is necessary."""
    if login == "certificate":
        options = certificate(secured, secured.keystore)
    else:
        options = unsigned_token(secured) if login == "OAUTHBEARER" else password(secured, login)

    assert "copied" == copied(spark, secured, source, options, options, tmp_path, READ, WRITE)


REFUSED_PLAIN = "SaslAuthenticationException: Authentication failed: Invalid username or password"
REFUSED_SCRAM = "SaslAuthenticationException: Authentication failed during authentication due to invalid credentials "
REFUSED_SCRAM += "with SASL mechanism SCRAM-SHA-512"
Login = Callable[[SecuredKafka], Options]
LOGINS: dict[str, tuple[Login, Login, str]] = {
    "password of the source, PLAIN": (lambda k: password(k, "PLAIN", WRONG_PASSWORD), password, REFUSED_PLAIN),
    "password of the source, SCRAM": (lambda k: password(k, word=WRONG_PASSWORD), password, REFUSED_SCRAM),
    # The source and the sink log in separately, and the sink fails in a task.
    "password of the sink": (password, lambda k: password(k, "PLAIN", WRONG_PASSWORD), REFUSED_PLAIN),
    "authority of the broker": (
        lambda k: password(k) | {"kafka.ssl.truststore.location": str(k.stranger.trusted())},
        password,
        "SslAuthenticationException: SSL handshake failed",
    ),
    # With TLS 1.3, the client learns only after the handshake that its certificate was refused.
    "certificate of the client": (
        lambda k: certificate(k, str(k.stranger.identity_file(USER))),
        password,
        "SslAuthenticationException: Failed to process post-handshake messages",
    ),
}


@pytest.mark.parametrize(("reader", "writer", "expected"), LOGINS.values(), ids=LOGINS)
def test_wrong_login_ends_the_query_with_its_error(
    reader: Login, writer: Login, expected: str, spark: SparkSession, secured: SecuredKafka, source: str, tmp_path: Path
) -> None:
    found = copied(spark, secured, source, reader(secured), writer(secured), tmp_path, READ, WRITE)

    assert found.startswith(expected)


def test_truststore_of_java_is_read(spark: SparkSession, secured: SecuredKafka, source: str, tmp_path: Path) -> None:
    """A JKS file needs no password; no certificate of a PKCS12 file is read without its password."""
    secured.allow(("TOPIC", source, "READ"))
    word, home = "of-the-file", spark._jvm.java.lang.System.getProperty("java.home")  # type: ignore[union-attr]  # noqa: SLF001 - not public

    def read(kind: str, word: str, **times: str) -> int:
        options = password(secured) | {"kafka.ssl.truststore.location": str(tmp_path / kind), "subscribe": source}
        options |= {"kafka.ssl.truststore.type": kind, **({"kafka.ssl.truststore.password": word} if word else {})}
        return spark.read.format("kafka").options(**options, **times).load().count()

    for kind in ("JKS", "PKCS12"):
        entry = ["-importcert", "-noprompt", "-alias", "authority", "-file", secured.trusted, "-storepass", word]
        keytool = [f"{home}/bin/keytool", *entry, "-keystore", str(tmp_path / kind), "-storetype", kind]
        subprocess.run(keytool, capture_output=True, timeout=60, check=True)

    assert [1, 1, 1] == [read("JKS", word), read("JKS", ""), read("PKCS12", word)]
    with pytest.raises(Exception, match="TimeoutException: Timed out waiting for a node assignment"):
        read("PKCS12", "", **{"kafka.request.timeout.ms": "1000", "kafka.default.api.timeout.ms": "2000"})


MISSING = {
    "nothing on the source": ((WRITE,), "TopicAuthorizationException: Topic authorization failed."),
    "DESCRIBE without READ": (
        (("TOPIC", "source", "DESCRIBE"), WRITE),
        "TopicAuthorizationException: Not authorized to access topics: [source]",
    ),
    "nothing on the target": ((READ,), "TopicAuthorizationException: Not authorized to access topics: [target]"),
    # A broker gives a producer the id that it needs for idempotence if its user may write to any topic.
    "WRITE on another target": (
        (READ, DESCRIBE, ("TOPIC", "another", "WRITE")),
        "TopicAuthorizationException: Not authorized to access topics: [target]",
    ),
    "WRITE on no topic": ((READ, DESCRIBE), "ClusterAuthorizationException: Cluster authorization failed."),
}


@pytest.mark.parametrize(("acls", "expected"), MISSING.values(), ids=MISSING)
def test_missing_right_ends_the_query_with_its_error(
    acls: Any, expected: str, spark: SparkSession, secured: SecuredKafka, source: str, tmp_path: Path
) -> None:
    """The error names the topic, unless the query may not describe its source or may not write to any topic."""
    login = password(secured)
    # Spark shares the producers of equal options between queries, and the producer of another test has got its id.
    writer = login | {"kafka.client.id": str(uuid.uuid4())}

    found = copied(spark, secured, source, login, writer, tmp_path, *acls)

    assert expected == re.sub(r"\[test-\w+\]", f"[{expected[-7:-1]}]", found)


def test_rights_can_be_withdrawn_from_a_running_query(
    spark: SparkSession, secured: SecuredKafka, source: str, tmp_path: Path
) -> None:
    target = new_topic(secured.setup, 1)
    secured.allow(("TOPIC", source, "READ"), ("TOPIC", target, "WRITE"))
    query = start(spark, secured, (source, target), password(secured), password(secured), tmp_path)
    assert "copied" == outcome(secured, target, query)

    secured.allow(("TOPIC", target, "WRITE"))

    eventually(query.exception, 60, "the failure")
    assert "TopicAuthorizationException" in str(query.exception())


def test_login_module_of_the_other_engine_is_not_found(
    spark: SparkSession, secured: SecuredKafka, source: str, tmp_path: Path
) -> None:
    """The client of OSS has the login classes without the prefix that Databricks adds."""
    loader = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader()  # type: ignore[union-attr]  # noqa: SLF001 - not public
    for name in ("scram.ScramLoginModule", "plain.PlainLoginModule"):
        path = f"{OSS_CLIENT}.common.security.{name}"

        assert path == loader.loadClass(path).getName()
        with pytest.raises(Py4JJavaError, match="ClassNotFoundException"):
            loader.loadClass(path.replace(OSS_CLIENT, DATABRICKS_CLIENT))


def test_empty_password_is_refused_before_the_start() -> None:
    with pytest.raises(ValueError, match="user '' or its password is empty") as refused:
        password_login("PLAIN", "", PASSWORD)

    assert PASSWORD not in str(refused.value)


@pytest.fixture
def login_environment(
    spark: SparkSession,
    secured: SecuredKafka,
    postgres: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> PageEnvironment:
    """Return the environment of the page's code blocks; variables contain the logins that it reads."""
    secured.allow(("TOPIC", "payments", "READ"), ("TOPIC", "payments-checked", "WRITE"))
    dsn = conninfo_to_dict(postgres[0])
    variables = {
        "KAFKA_BOOTSTRAP_SERVERS": secured.login,
        "KAFKA_MUTUAL_TLS_SERVERS": secured.mutual,
        "KAFKA_USER": USER,
        "KAFKA_PASSWORD": PASSWORD,
        "KAFKA_TRUSTSTORE": secured.trusted,
        "KAFKA_KEYSTORE": secured.keystore,
        "POSTGRES_HOST": f"{dsn['host']}",
        "POSTGRES_PORT": f"{dsn['port']}",
        "POSTGRES_USER": f"{dsn['user']}",
        "POSTGRES_PASSWORD": f"{dsn['password']}",
        "POSTGRES_DATABASE": f"{dsn['dbname']}",
        "POSTGRES_CA": postgres[1],
        "CHECKPOINTS": str(tmp_path / "checkpoints"),
    }
    for name, value in variables.items():
        monkeypatch.setitem(os.environ, name, value)
    return PageEnvironment(spark, secured.setup, tmp_path)


@pytest.mark.timeout(200)
@pytest.mark.proves("code blocks run")
@pytest.mark.parametrize("example", secured_examples(), ids=str)
def test_python_fence_of_page_logs_in(
    example: Example, eval_example: EvalExample, login_environment: PageEnvironment
) -> None:
    check_example(example, eval_example, login_environment)


def test_postgres_login_checks_authority_name_and_password(postgres: tuple[str, str], tmp_path: Path) -> None:
    """`verify-full` refuses a foreign authority and a foreign name; the default accepts any certificate."""
    dsn, authority = postgres
    stranger = str(Certificates(tmp_path).trusted())
    verified = {"sslmode": "verify-full", "sslrootcert": authority}
    for accepted in (verified, {"sslmode": "prefer"}):
        with psycopg.connect(make_conninfo(dsn, **accepted)) as connection:
            assert connection.pgconn.ssl_in_use

    refused = {
        "password authentication failed": {**verified, "password": WRONG_PASSWORD},
        "certificate verify failed": {**verified, "sslrootcert": stranger},
        'does not match host name "localhost"': {**verified, "host": "localhost"},
    }
    for message, options in refused.items():
        with pytest.raises(psycopg.OperationalError, match=message):
            psycopg.connect(make_conninfo(dsn, **options))


def test_page_names_every_message_of_this_module() -> None:
    text = files.ROOT.joinpath("references", "security.md").read_text(encoding="utf-8")

    messages = [
        REFUSED_PLAIN,
        REFUSED_SCRAM,
        *(message.replace("[source]", "[…]").replace("[target]", "[…]") for _, message in MISSING.values()),
    ]
    assert [] == [message for message in messages if message.partition(": ")[2] not in text]
