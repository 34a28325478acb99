"""`rtm doctor` with the broker of the page about security, which has TLS, logins and ACLs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from spark_rtm.doctor import Options
from spark_rtm.doctor.command import checked, settings_of
from spark_rtm.doctor.kafka import Result
from spark_rtm.kafka.topics import PRODUCER_TIME, ensure_topics
from spark_rtm.realtime.login import certificate_login, password_login
from tests.helpers import new_topic
from tests.pages.secured import PASSWORD, USER, SecuredKafka, secured_kafka

pytestmark = pytest.mark.services
WRONG = "wrong-word"


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredKafka]:
    with secured_kafka(tmp_path_factory.mktemp("certificates")) as server:
        yield server


def found(check: str, given: dict[str, str]) -> list[Result]:
    return [result for result in checked(Options(), given) if result.check == check]


def login(secured: SecuredKafka, mechanism: str, word: str = PASSWORD, **changes: str) -> dict[str, str]:
    options = password_login(mechanism, USER, word, truststore=secured.trusted)
    changed = {f"kafka.{name.replace('_', '.')}": value for name, value in changes.items()}
    return {"kafka.bootstrap.servers": secured.login, **options, **changed}


def test_login_is_tried_and_a_refusal_is_named(secured: SecuredKafka) -> None:
    """Each case is as far as the job's own login would get, and no result contains the password."""
    mutual = {"kafka.bootstrap.servers": secured.mutual}
    stranger, localhost = str(secured.stranger.trusted()), secured.login.replace("127.0.0.1", "localhost")
    cases = {
        "responds (SASL_SSL PLAIN)": login(secured, "PLAIN"),
        "responds (SASL_SSL SCRAM-SHA-512)": login(secured, "SCRAM-SHA-512"),
        "responds (SSL)": mutual | certificate_login(secured.keystore, truststore=secured.trusted),
        "responds (PLAINTEXT)": {"kafka.bootstrap.servers": secured.setup},
        "Authentication failed: Invalid username or password": login(secured, "PLAIN", WRONG),
        "invalid credentials with SASL mechanism SCRAM-SHA-512": login(secured, "SCRAM-SHA-512", WRONG),
        "certificate verify failed": login(secured, "PLAIN", ssl_truststore_location=stranger),
        "localhost": login(secured, "PLAIN", bootstrap_servers=localhost),
        "bad certificate": mutual
        | certificate_login(str(secured.stranger.identity_file(USER)), truststore=secured.trusted),
        "connecting to a PLAINTEXT broker": login(secured, "PLAIN", bootstrap_servers=secured.setup),
        "or it requires TLS": {"kafka.bootstrap.servers": secured.login},
    }

    results = {text: found("kafka", given) for text, given in cases.items()}

    assert [] == [(text, result) for text, result in results.items() if text not in result[0].text]
    fine = [text for text, result in results.items() if result[0].status == "fine"]
    assert [text for text in cases if text.startswith("responds")] == fine
    assert not any(word in str(results) for word in (WRONG, PASSWORD))


def test_login_comes_from_the_environment(secured: SecuredKafka, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"USER": USER, "PASSWORD": PASSWORD, "TRUSTSTORE": secured.trusted}.items():
        monkeypatch.setenv(f"KAFKA_{name}", value)
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", secured.login)

    assert "responds (SASL_SSL PLAIN)" in found("kafka", settings_of([]))[0].text
    monkeypatch.delenv("KAFKA_PASSWORD")
    assert "KAFKA_USER is set, but KAFKA_PASSWORD is not" == found("kafka", settings_of([]))[0].text


def test_topics_clocks_and_slots_are_checked(secured: SecuredKafka, tmp_path: Path) -> None:
    source, late = new_topic(secured.setup, 3), new_topic(secured.setup, 1) + "-late"
    ensure_topics(secured.setup, [late], 1, {late: PRODUCER_TIME})
    secured.allow((source, "READ"))
    path = tmp_path / "job.properties"
    path.write_text(
        f"bootstrap.servers={secured.setup}\nsubscribe={source},none\ntopic={late}\nspark.master=local[2]\n"
    )

    given = settings_of([path])

    results = {result.text.partition(" ")[2]: result.status for result in found("topics", given)}
    assert {
        "'none' does not exist, or this user may not describe it, so the query reads nothing": "problem",
        f"{source!r} has 3 partitions and message.timestamp.type=LogAppendTime": "fine",
        f"{late!r} has 1 partition and message.timestamp.type=CreateTime, so latencies would depend on the "
        "producers' clocks": "problem",
    } == results
    assert [("problem", True)] == [(each.status, "needs 3 task slots" in each.text) for each in found("slots", given)]
    denied = found("topics", given | login(secured, "PLAIN"))
    assert [("problem", "none"), ("problem", late), ("not checked", source)] == [
        (each.status, each.text.split("'")[1]) for each in denied
    ]
