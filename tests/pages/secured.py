"""A broker and a database that require TLS and a login; the broker denies every operation without an ACL."""

import secrets
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from psycopg.conninfo import make_conninfo

from scripts.pack import files
from spark_rtm.services.child import free_ports, running
from spark_rtm.services.kafka import LocalKafka
from spark_rtm.services.postgres import LocalPostgres
from spark_rtm.services.tcp_proxy import TcpProxy
from tests.certificates import Certificates
from tests.pages.examples import Example, examples_of

PACKAGE = "org.apache.kafka.common.security"
USER = "pipeline"
# Quotes and backslashes must be escaped in a login.
PASSWORD = secrets.token_urlsafe(9) + '"\\'

SSL_REQUEST = (8).to_bytes(4, "big") + (80877103).to_bytes(4, "big")


def secured_examples() -> list[Example]:
    page = files.ROOT / "references" / "security.md"
    return [example for example in examples_of(page) if example.fate in ("run", "raises")]


@dataclass(frozen=True)
class SecuredKafka:
    setup: str
    """For the set-up of a test: without a login, the anonymous user may do everything."""
    login: str
    mutual: str
    trusted: str
    stranger: Certificates
    """An authority that the broker does not trust, and that did not sign the broker's certificate."""
    keystore: str

    def allow(self, *rights: tuple[str, str]) -> None:
        """Replace all ACLs with rights of `USER`: the name of a topic, and an operation."""
        admin = AdminClient({"bootstrap.servers": self.setup})
        # The stub of the client lacks None, which means any name, user or host.
        unknown: Any = None
        kind, pattern, permission = ResourceType.ANY, ResourcePatternType.ANY, AclPermissionType.ANY
        everything = AclBindingFilter(kind, unknown, pattern, unknown, unknown, AclOperation.ANY, permission)
        for deleted in admin.delete_acls([everything]).values():
            deleted.result(30)
        kind, pattern, permission = ResourceType.TOPIC, ResourcePatternType.LITERAL, AclPermissionType.ALLOW
        for topic, name in rights:
            right = AclBinding(kind, topic, pattern, f"User:{USER}", "*", AclOperation[name], permission)
            admin.create_acls([right])[right].result(30)


def _broker_properties(ports: list[int], certificates: Certificates) -> dict[str, str]:
    setup, controller, login, mutual = ports
    listeners = f"PLAINTEXT://127.0.0.1:{setup},LOGIN://127.0.0.1:{login},MUTUAL://127.0.0.1:{mutual}"
    # A properties file needs each backslash twice.
    password = PASSWORD.replace("\\", "\\\\").replace('"', '\\"').replace("\\", "\\\\")
    plain = f'{PACKAGE}.plain.PlainLoginModule required user_{USER}="{password}";'
    return {
        "listeners": f"{listeners},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": listeners,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,LOGIN:SASL_SSL,MUTUAL:SSL",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificates.identity_file("broker")),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificates.trusted()),
        "listener.name.mutual.ssl.client.auth": "required",
        "listener.name.mutual.ssl.principal.mapping.rules": "RULE:^.*CN=([^,]+).*$/$1/,DEFAULT",
        "listener.name.login.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512,OAUTHBEARER",
        "listener.name.login.plain.sasl.jaas.config": plain,
        "listener.name.login.scram-sha-512.sasl.jaas.config": f"{PACKAGE}.scram.ScramLoginModule required;",
        "listener.name.login.oauthbearer.sasl.jaas.config": f"{PACKAGE}.oauthbearer.OAuthBearerLoginModule required;",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }


@contextmanager
def secured_kafka(folder: Path) -> Iterator[SecuredKafka]:
    """Yield a broker with logins and the ACL right to nothing; its certificates are in `folder`."""
    ports, certificates = free_ports(4), Certificates(folder)
    (folder / "stranger").mkdir()
    properties = _broker_properties(ports, certificates)
    with running(LocalKafka(ports=ports[:2], properties=properties)) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        upsert = UserScramCredentialUpsertion(USER, credential, PASSWORD.encode())
        admin.alter_user_scram_credentials([upsert])[USER].result(30)
        login, mutual = (f"127.0.0.1:{port}" for port in ports[2:])
        keystore = str(certificates.identity_file(USER))
        stranger = Certificates(folder / "stranger")
        yield SecuredKafka(broker.bootstrap_servers, login, mutual, str(certificates.trusted()), stranger, keystore)


class TlsProxy(TcpProxy):
    """
    A proxy that accepts only encrypted connections.

    The server of the tests is built without TLS. Clients negotiate TLS with the proxy, and the rest with the server.
    """

    def __init__(self, port: int, key: Path, certificate: Path) -> None:
        super().__init__(("127.0.0.1", port))
        self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._context.load_cert_chain(certificate, key)

    def _connect(self, client: socket.socket) -> None:
        if client.recv(len(SSL_REQUEST), socket.MSG_WAITALL) != SSL_REQUEST:
            client.close()
            return
        client.sendall(b"S")
        # A client that refuses the certificate ends the handshake.
        with suppress(OSError):
            super()._connect(self._context.wrap_socket(client, server_side=True))


@contextmanager
def secured_postgres(certificates: Certificates) -> Iterator[str]:
    identity = certificates.identity("postgres")
    with running(LocalPostgres()) as server, TlsProxy(server.port, *identity) as proxy:
        yield make_conninfo(server.dsn, port=proxy.port)
