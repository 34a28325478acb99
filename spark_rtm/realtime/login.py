"""
Build the login options for Spark's Kafka source and sink.

The options contain the password, so do not print or store them.
"""

import os
from collections.abc import Mapping

OSS_CLIENT = "org.apache.kafka"
DATABRICKS_CLIENT = "kafkashaded.org.apache.kafka"
"""
Prefix of class names in the Databricks Kafka client.

OSS and Databricks use different class names. With the wrong prefix, Kafka does not find the login module.
"""
MODULES = {
    "PLAIN": "plain.PlainLoginModule",
    "SCRAM-SHA-256": "scram.ScramLoginModule",
    "SCRAM-SHA-512": "scram.ScramLoginModule",
}


def password_login(
    mechanism: str, user: str, password: str, *, truststore: str = "", client: str = OSS_CLIENT
) -> dict[str, str]:
    """
    Return the options for password authentication over TLS.

    `truststore` is a PEM file with the certificates of the brokers' certificate authorities. Without
    `truststore`, the client trusts Java's default certificate authorities. Each executor reads the file at this path.
    """
    if not user or not password:
        raise ValueError(f"user {user!r} or its password is empty, so the brokers would reject the login; set both")
    if mechanism not in MODULES:
        raise ValueError(f"mechanism {mechanism!r} has no login with a password; use {', '.join(MODULES)}")
    module = f"{client}.common.security.{MODULES[mechanism]}"
    jaas = f"{module} required username={_quoted(user)} password={_quoted(password)};"
    login = {"security.protocol": "SASL_SSL", "sasl.mechanism": mechanism, "sasl.jaas.config": jaas}
    return _for_spark({**login, **_trusted(truststore)})


def client_login(mechanism: str, user: str, password: str, *, truststore: str = "") -> dict[str, str]:
    """Return the same login options for a program that uses `confluent_kafka`, such as `ensure_topics`."""
    trusted = {"ssl.ca.location": truststore} if truststore else {}
    login = {"sasl.mechanism": mechanism, "sasl.username": user, "sasl.password": password}
    return {"security.protocol": "SASL_SSL", **login, **trusted}


def login_of_environment(environment: Mapping[str, str] = os.environ) -> tuple[dict[str, str], dict[str, str]]:
    """
    Return the options of `password_login` and of `client_login` from the environment. Without a user, both are empty.

    The variables are KAFKA_USER, KAFKA_PASSWORD, KAFKA_MECHANISM (default: PLAIN) and KAFKA_TRUSTSTORE (a PEM file).
    Databricks sets DATABRICKS_RUNTIME_VERSION, which selects the class names of its Kafka client.
    """
    if "KAFKA_USER" not in environment:
        return {}, {}
    mechanism, truststore = environment.get("KAFKA_MECHANISM", "PLAIN"), environment.get("KAFKA_TRUSTSTORE", "")
    user, password = environment["KAFKA_USER"], environment.get("KAFKA_PASSWORD", "")
    client = DATABRICKS_CLIENT if "DATABRICKS_RUNTIME_VERSION" in environment else OSS_CLIENT
    login = password_login(mechanism, user, password, truststore=truststore, client=client)
    return login, client_login(mechanism, user, password, truststore=truststore)


def certificate_login(keystore: str, *, truststore: str = "") -> dict[str, str]:
    """Return the options for authentication with the PKCS #8 private key and certificate in `keystore`, a PEM file."""
    keys = {"ssl.keystore.type": "PEM", "ssl.keystore.location": keystore}
    return _for_spark({"security.protocol": "SSL", **keys, **_trusted(truststore)})


def _trusted(truststore: str) -> dict[str, str]:
    return {"ssl.truststore.type": "PEM", "ssl.truststore.location": truststore} if truststore else {}


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _for_spark(options: dict[str, str]) -> dict[str, str]:
    return {f"kafka.{name}": value for name, value in options.items()}
