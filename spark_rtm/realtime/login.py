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
    Return the login options for Spark, and the same for a program that uses `confluent_kafka`, from the environment.

    KAFKA_USER selects a login with KAFKA_PASSWORD and KAFKA_MECHANISM (default: PLAIN), else KAFKA_KEYSTORE one with a
    certificate. KAFKA_TRUSTSTORE alone selects TLS without a login. Without these variables, both results are empty.
    The stores are PEM files. Raises ValueError for an incomplete login or another mechanism.
    Databricks sets DATABRICKS_RUNTIME_VERSION, which selects the class names of its Kafka client.
    """
    mechanism, truststore = environment.get("KAFKA_MECHANISM", "PLAIN"), environment.get("KAFKA_TRUSTSTORE", "")
    keystore, password = environment.get("KAFKA_KEYSTORE", ""), environment.get("KAFKA_PASSWORD", "")
    if mechanism not in MODULES:
        raise ValueError(f"KAFKA_MECHANISM is {mechanism!r}, which rtm cannot use; use {', '.join(MODULES)}")
    if "KAFKA_USER" in environment:
        user = environment["KAFKA_USER"]
        if user and not password:
            raise ValueError("KAFKA_USER is set, but KAFKA_PASSWORD is not; set both")
        client = DATABRICKS_CLIENT if "DATABRICKS_RUNTIME_VERSION" in environment else OSS_CLIENT
        login = password_login(mechanism, user, password, truststore=truststore, client=client)
        return login, client_login(mechanism, user, password, truststore=truststore)
    if not keystore and not truststore:
        return {}, {}
    stores = {"ssl.ca": truststore, "ssl.certificate": keystore, "ssl.key": keystore}
    files = {f"{name}.location": path for name, path in stores.items() if path}
    return certificate_login(keystore, truststore=truststore), {"security.protocol": "SSL", **files}


def certificate_login(keystore: str, *, truststore: str = "") -> dict[str, str]:
    """
    Return the options for authentication with the PKCS #8 private key and certificate in `keystore`, a PEM file.

    If `keystore` is empty, the options are those of TLS without a login.
    """
    keys = {"ssl.keystore.type": "PEM", "ssl.keystore.location": keystore} if keystore else {}
    return _for_spark({"security.protocol": "SSL", **keys, **_trusted(truststore)})


def _trusted(truststore: str) -> dict[str, str]:
    return {"ssl.truststore.type": "PEM", "ssl.truststore.location": truststore} if truststore else {}


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _for_spark(options: dict[str, str]) -> dict[str, str]:
    return {f"kafka.{name}": value for name, value in options.items()}
