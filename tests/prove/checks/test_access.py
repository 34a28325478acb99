from pathlib import Path

import pytest

from spark_rtm.prove.checks.access import fetch, login, secrets_in
from spark_rtm.prove.engine import Bench
from spark_rtm.prove.verdicts import UNCHECKED


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ('password = "geheim-1"', {"geheim-1": 1}),
        ('x.option("kafka.ssl.key.password", "geheim-1")', {"geheim-1": 1}),
        ('{"sasl.jaas.config": "Module required password=\'geheim-1\';"}', {"geheim-1": 1}),
        ('password = os.environ["PASSWORD"]', {}),
        ('dbutils.secrets.get("scope", "password")', {}),
        ('password = "<insert-password-here>"', {}),
    ],
)
def test_passwords_in_code_are_found_with_their_line(code: str, expected: dict[str, int]) -> None:
    """A text assigned to a name such as `password` is a secret, but not a value from the environment."""
    assert expected == secrets_in(code)


PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p";'


@pytest.mark.parametrize(
    ("options", "called"),
    [
        ({"jaas.config": "com.sun.security.auth.module.Krb5LoginModule required;"}, "a login module"),
        ({"jaas.config": PLAIN, "oauthbearer.token.endpoint.url": "https://id.example.org"}, "https://id.example.org"),
        ({"jaas.config": PLAIN, "login.callback.handler.class": "com.example.Handler"}, "com.example.Handler"),
    ],
)
def test_login_that_would_call_an_identity_provider_is_not_tried(options: dict[str, str], called: str) -> None:
    """The verdict needs neither Spark nor a broker, so the login is not sent."""
    sasl = {f"kafka.sasl.{name}": value for name, value in options.items()}

    verdict = login(Bench(None, "", Path()), sasl, "topic", "job.py", 1)  # type: ignore[arg-type]

    assert verdict
    assert UNCHECKED == verdict.status
    assert called in verdict.evidence
    assert "--side-effects" in verdict.fix


def test_fetch_that_waits_briefly_is_a_setting_for_throughput() -> None:
    assert not fetch({"kafka.fetch.min.bytes": "100000", "kafka.fetch.max.wait.ms": "5"}, "job.py", 7)
