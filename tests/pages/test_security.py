import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pytest_examples import EvalExample

from examples.attribution.pipeline import query_starters
from examples.attribution.settings import Settings
from examples.attribution.topics import TOPICS, create_topics
from scripts.pack import files
from spark_rtm.commands.template import job
from spark_rtm.kafka.topics import ensure_topics
from spark_rtm.realtime.exactly_once import ExactlyOnceError, to_kafka
from spark_rtm.realtime.failures import failure_of
from spark_rtm.realtime.keeper import judge
from spark_rtm.realtime.limits import MAX_KEY_BYTES, MAX_RAW_BYTES
from spark_rtm.realtime.login import (
    DATABRICKS_CLIENT,
    OSS_CLIENT,
    certificate_login,
    client_login,
    login_of_environment,
    password_login,
)
from spark_rtm.realtime.proof import assert_real_time, plan_of_query
from spark_rtm.realtime.queries import KAFKA_SINK
from tests.certificates import Certificates
from tests.helpers import end_offset, eventually, kafka_rows, new_topic, produce, start_to_kafka
from tests.pages.examples import Example
from tests.pages.running import PageEnvironment, check_example
from tests.pages.samples import ALL_TOPICS, PARTITIONS, create_page_topics
from tests.pages.secured import PACKAGE, PASSWORD, USER, SecuredKafka, secured_examples, secured_kafka, secured_postgres

pytestmark = [pytest.mark.spark, pytest.mark.services]

PAGE = files.ROOT / "references/security.md"
WRONG_PASSWORD = "wrong-word"
Options = dict[str, str]


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredKafka]:
    with secured_kafka(tmp_path_factory.mktemp("certificates")) as kafka:
        create_page_topics(kafka.setup)
        for topic in ALL_TOPICS:
            # A call returns as soon as the partition has a leader.
            assert [0, 0] == [end_offset(kafka.setup, topic, number) for number in range(PARTITIONS)]
        yield kafka


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


def wrong_plain(secured: SecuredKafka) -> Options:
    return password(secured, "PLAIN", WRONG_PASSWORD)


def other_host(secured: SecuredKafka) -> Options:
    return password(secured) | {"kafka.bootstrap.servers": secured.login.replace("127.0.0.1", "localhost")}


def unchecked_host(secured: SecuredKafka) -> Options:
    return other_host(secured) | {"kafka.ssl.endpoint.identification.algorithm": ""}


def outcome(secured: SecuredKafka, topics: Mapping[str, str], query: StreamingQuery) -> str:
    """Return `copied`, or the query's last Kafka exception, after which the keeper must not restart it."""
    # Neither the error nor the plan holds a password.
    eventually(lambda: query.exception() or end_offset(secured.setup, topics["target"]), 60, "a record or a failure")
    if not (failure := query.exception()):
        assert_real_time(query)
        assert PASSWORD not in plan_of_query(query)
        return "copied"
    assert WRONG_PASSWORD not in str(failure)
    assert PASSWORD not in str(failure)
    decision = judge(failure_of("copy", failure, 0), [])
    assert (None, "a login failed or a permission is missing") == (decision.pause_seconds, decision.reason)
    found = str(re.findall(r"org\.apache\.kafka\.common\.(?:errors|config)\.(\w+: [^\n]*)", str(failure))[-1])
    return found.replace(topics["source"], "source").replace(topics["target"], "target")


Login = Callable[[SecuredKafka], Options]
READ, WRITE, SEE, DESCRIBE = ("source", "READ"), ("target", "WRITE"), ("source", "DESCRIBE"), ("target", "DESCRIBE")
# No right to a group, to the cluster or to DESCRIBE is necessary.
BOTH = (READ, WRITE)
REFUSED_PLAIN = "SaslAuthenticationException: Authentication failed: Invalid username or password"
REFUSED_SCRAM = "SaslAuthenticationException: Authentication failed during authentication due to invalid credentials "
REFUSED_SCRAM += "with SASL mechanism SCRAM-SHA-512"
NOT_AUTHORIZED = "TopicAuthorizationException: Not authorized to access topics: "
NOT_DESCRIBED = "TopicAuthorizationException: Topic authorization failed."
NO_PRODUCER = "ClusterAuthorizationException: Cluster authorization failed."
NO_WRITE = "WRITE on no topic"
CASES: dict[str, tuple[Login, Login, tuple[tuple[str, str], ...], str]] = {
    "PLAIN, SCRAM-SHA-512": (lambda k: password(k, "PLAIN"), password, BOTH, "copied"),
    "OAUTHBEARER, certificate": (unsigned_token, lambda k: certificate(k, k.keystore), BOTH, "copied"),
    "wrong password of the source, PLAIN": (wrong_plain, password, BOTH, REFUSED_PLAIN),
    "wrong password of the source, SCRAM": (lambda k: password(k, word=WRONG_PASSWORD), password, BOTH, REFUSED_SCRAM),
    # The source and the sink log in separately, and the sink fails in a task.
    "wrong password of the sink": (password, wrong_plain, BOTH, REFUSED_PLAIN),
    "wrong authority of the broker": (
        lambda k: password(k) | {"kafka.ssl.truststore.location": str(k.stranger.trusted())},
        *(password, BOTH, "SslAuthenticationException: SSL handshake failed"),
    ),
    "wrong host of the broker": (password, other_host, BOTH, "SslAuthenticationException: SSL handshake failed"),
    "wrong host, with the check disabled": (password, unchecked_host, BOTH, "copied"),
    # With TLS 1.3, the client learns only after the handshake that its certificate was refused.
    "wrong certificate of the client": (
        lambda k: certificate(k, str(k.stranger.identity_file(USER))),
        *(password, BOTH, "SslAuthenticationException: Failed to process post-handshake messages"),
    ),
    "nothing on the source": (password, password, (WRITE,), NOT_DESCRIBED),
    "DESCRIBE without READ on the source": (password, password, (SEE, WRITE), NOT_AUTHORIZED + "[source]"),
    "nothing on the target": (password, password, (READ,), NOT_AUTHORIZED + "[target]"),
    # A broker gives a producer the id that it needs for idempotence if its user may write to any topic.
    "WRITE on another target": (password, password, (READ, DESCRIBE), NOT_AUTHORIZED + "[target]"),
    NO_WRITE: (password, password, (READ, DESCRIBE), NO_PRODUCER),
}
"""For each case: the logins of the source and the sink, the rights to its topics, and the beginning of the outcome."""


def run_cases(
    cases: Sequence[str], spark: SparkSession, secured: SecuredKafka, folder: Path
) -> dict[str, tuple[StreamingQuery, str]]:
    """Start the queries of some cases with all their rights at the same time; return each query and its outcome."""
    queries, rights = {}, []
    topics = {case: {name: new_topic(secured.setup, 1) for name in ("source", "target")} for case in cases}
    for case in cases:
        produce(secured.setup, topics[case]["source"], [(0, b"record")])
        rights += [(topics[case][name], operation) for name, operation in CASES[case][2]]
    secured.allow(*rights)
    for case in cases:
        reader, writer, *_ = CASES[case]
        source, target = topics[case].values()
        rows = kafka_rows(spark, "", source, **reader(secured)).select("value")
        # Spark shares the producers of equal options between queries, and another query's producer has got its id.
        options = {"topic": target, "kafka.client.id": target, **writer(secured)}
        queries[case] = start_to_kafka(rows, "", folder / target, **options)
    return {case: (query, outcome(secured, topics[case], query)) for case, query in queries.items()}


@pytest.fixture(scope="module")
def outcomes(spark: SparkSession, secured: SecuredKafka, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    folder = tmp_path_factory.mktemp("copies")
    found = run_cases([case for case in CASES if case != NO_WRITE], spark, secured, folder)
    # Rights can be withdrawn from a running query.
    secured.allow()
    for query in [query for query, text in found.values() if text == "copied"]:
        eventually(query.exception, 60, "the failure")
        assert "TopicAuthorizationException" in str(query.exception())
    found |= run_cases([NO_WRITE], spark, secured, folder)
    return {case: text for case, (_, text) in found.items()}


@pytest.mark.timeout(240)
@pytest.mark.parametrize("case", CASES)
def test_right_login_with_two_rights_copies_a_record_and_others_end_the_query(
    case: str, outcomes: Mapping[str, str]
) -> None:
    """The error names the topic, unless the query may not describe its source or may not write to any topic."""
    assert outcomes[case].startswith(CASES[case][-1])


def test_sink_in_transactions_names_its_missing_right(
    spark: SparkSession, secured: SecuredKafka, tmp_path: Path
) -> None:
    source, target = new_topic(secured.setup, 1), new_topic(secured.setup, 1)
    secured.allow((source, "READ"), (target, "WRITE"))
    rows = kafka_rows(spark, "", source, **password(secured)).select("value")
    writer = to_kafka(
        rows, transactional_prefix="copy", checkpoint=str(tmp_path), topic=target, options=password(secured)
    )

    with pytest.raises(
        ExactlyOnceError, match=r"EXACTLY_ONCE_NOT_AUTHORIZED\] .* begin with 'copy'; grant WRITE and DESCRIBE"
    ):
        writer.outputMode("update").trigger(realTime="5 minutes").start()  # type: ignore[call-overload]


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_client_outside_spark_logs_in_with_the_right_to_read(mechanism: str, secured: SecuredKafka) -> None:
    topic = new_topic(secured.setup, 3)
    secured.allow((topic, "READ"))
    login = client_login(mechanism, USER, PASSWORD, truststore=secured.trusted)

    assert {topic: 3} == ensure_topics(secured.login, [topic], 1, login=login)

    wrong = login | {"sasl.password": WRONG_PASSWORD}
    with pytest.raises(RuntimeError, match="no broker responds"):
        ensure_topics(secured.login, [topic], 1, login=wrong)


def test_pipeline_logs_in_and_writes_its_password_nowhere(
    spark: SparkSession, secured: SecuredKafka, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its topics are created, and its first query rejects a record. The login is not a setting, which is pickled."""
    settings = Settings(topic_prefix=f"{new_topic(secured.setup, 1)}-")
    topics = [settings.topic(name) for name in TOPICS]
    secured.allow(*((topic, right) for topic in topics for right in ("CREATE", "DESCRIBE_CONFIGS", "READ", "WRITE")))
    variables = {"KAFKA_USER": USER, "KAFKA_PASSWORD": PASSWORD, "KAFKA_MECHANISM": "SCRAM-SHA-512"}
    login, client = login_of_environment({**variables, "KAFKA_TRUSTSTORE": secured.trusted})

    partitions = create_topics(secured.login, settings.topic_prefix, 1, client)
    starters = query_starters(settings, spark, secured.login, partitions, str(tmp_path), login=login)
    query = starters["kafka_to_events"]()
    produce(secured.setup, settings.topic("ad-requests"), [(0, b"broken")])
    rejected = settings.topic("ad-rejected")
    eventually(lambda: query.exception() or end_offset(secured.setup, rejected), 60, "the rejected record")
    plan, failure = plan_of_query(query), query.exception()
    query.stop()

    assert failure is None
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    # In JSON and in a login string, quotes and backslashes are escaped.
    assert written
    assert [] == [path for path in written if PASSWORD[:-2].encode() in path.read_bytes()]
    assert PASSWORD[:-2] not in plan + "".join(capfd.readouterr())


@pytest.mark.parametrize(
    ("variables", "module"), [({}, "org"), ({"DATABRICKS_RUNTIME_VERSION": "18.2"}, "kafkashaded.org")]
)
def test_login_of_the_environment_suits_the_engine(variables: Options, module: str) -> None:
    user = {"KAFKA_USER": "user", "KAFKA_PASSWORD": "word"}

    login, client = login_of_environment(variables | user)

    assert login["kafka.sasl.jaas.config"].startswith(f"{module}.apache.kafka.common.security.plain.PlainLoginModule ")
    assert client == client_login("PLAIN", "user", "word")
    assert ({}, {}) == login_of_environment(variables)
    stores = {"KAFKA_TRUSTSTORE": "/ca.pem", "KAFKA_KEYSTORE": "/key.pem"}
    login, client = login_of_environment(variables | stores)
    assert login == certificate_login("/key.pem", truststore="/ca.pem")
    assert client["ssl.ca.location"] == "/ca.pem"
    assert client["ssl.certificate.location"] == client["ssl.key.location"] == "/key.pem"
    _, client = login_of_environment(variables | {"KAFKA_TRUSTSTORE": "/ca.pem"})
    assert client == {"security.protocol": "SSL", "ssl.ca.location": "/ca.pem"}
    with pytest.raises(ValueError, match="KAFKA_USER is set, but KAFKA_PASSWORD is not"):
        login_of_environment(variables | {"KAFKA_USER": "user"})


def test_job_of_a_new_project_logs_in_with_the_variables_of_its_environment(
    spark: SparkSession, secured: SecuredKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topics = (job.SOURCE, job.TARGET, job.REJECTS)
    ensure_topics(secured.setup, topics, 1)
    secured.allow((job.SOURCE, "READ"), (job.TARGET, "WRITE"), (job.REJECTS, "WRITE"))
    variables = {"KAFKA_USER": USER, "KAFKA_PASSWORD": PASSWORD, "KAFKA_TRUSTSTORE": secured.trusted}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    query = job.start(spark, secured.login, str(tmp_path))
    produce(secured.setup, job.SOURCE, [(0, b'{"order_id": "A-1", "amount_cents": 1}'), (0, b"{broken")])

    def is_done() -> object:
        return query.exception() or all(end_offset(secured.setup, topic) for topic in topics[1:])

    eventually(is_done, 60, "a result of each record")
    assert query.exception() is None
    query.stop()


def test_truststore_of_java_is_read(spark: SparkSession, secured: SecuredKafka, tmp_path: Path) -> None:
    """A JKS file needs no password; no certificate of a PKCS12 file is read without its password."""
    source = new_topic(secured.setup, 1)
    produce(secured.setup, source, [(0, b"record")])
    secured.allow((source, "READ"))
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
        read("PKCS12", "", **{"kafka.request.timeout.ms": "500", "kafka.default.api.timeout.ms": "1000"})


def test_limit_of_the_sink_is_between_a_rejected_record_and_event_hubs() -> None:
    [event_hubs] = re.findall(r"`kafka.max.request.size` below (\d+)", PAGE.read_text(encoding="utf-8"))
    headers = 1_000

    assert MAX_RAW_BYTES + MAX_KEY_BYTES + headers < int(KAFKA_SINK["kafka.max.request.size"]) < int(event_hubs)


def test_login_module_of_the_other_engine_is_not_found(spark: SparkSession) -> None:
    loader = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader()  # type: ignore[union-attr]  # noqa: SLF001 - not public
    for name in ("scram.ScramLoginModule", "plain.PlainLoginModule"):
        path = f"{OSS_CLIENT}.common.security.{name}"

        assert path == loader.loadClass(path).getName()
        with pytest.raises(Py4JJavaError, match="ClassNotFoundException"):
            loader.loadClass(path.replace(OSS_CLIENT, DATABRICKS_CLIENT))


@pytest.mark.parametrize(
    ("mechanism", "user", "reason"),
    [
        ("PLAIN", "", "user '' or its password is empty"),
        ("scram", USER, "mechanism 'scram' has no login .* use PLAIN, S"),
    ],
)
def test_incomplete_login_is_refused_before_the_start(mechanism: str, user: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason) as refused:
        password_login(mechanism, user, PASSWORD)

    assert PASSWORD not in str(refused.value)


@pytest.fixture
def login_environment(
    spark: SparkSession,
    secured: SecuredKafka,
    postgres: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> PageEnvironment:
    secured.allow(("payments", "READ"), ("payments-checked", "WRITE"))
    dsn = conninfo_to_dict(postgres[0])
    variables = {
        "KAFKA_BOOTSTRAP_SERVERS": secured.login,
        "KAFKA_MUTUAL_TLS_SERVERS": secured.mutual,
        "KAFKA_USER": USER,
        "KAFKA_PASSWORD": PASSWORD,
        "KAFKA_TRUSTSTORE": secured.trusted,
        "KAFKA_KEYSTORE": secured.keystore,
        "POSTGRES_DATABASE": f"{dsn['dbname']}",
        "POSTGRES_CA": postgres[1],
        "CHECKPOINTS": str(tmp_path / "checkpoints"),
        **{f"POSTGRES_{name.upper()}": f"{dsn[name]}" for name in ("host", "port", "user", "password")},
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
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
    messages = [re.sub(r"\[\w+\]$", "[…]", error.partition(": ")[2]) for *_, error in CASES.values()]

    assert [] == [message for message in messages if message not in PAGE.read_text(encoding="utf-8")]
