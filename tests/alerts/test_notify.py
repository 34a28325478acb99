"""The notifier and a mail server that requires STARTTLS and a login, and that is sometimes down or refuses messages."""

import json
import os
import signal
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from examples.alerts.job import Options
from examples.alerts.lifts_to_notices import JOB
from scripts.pack import files
from spark_rtm.services.child import free_ports
from tests.alerts.helpers import create, send
from tests.certificates import ADDRESS, Certificates
from tests.helpers import eventually

pytestmark = pytest.mark.services

LOGIN = LoginPassword(b"alerts", b"a-secret-of-the-test")
OPERATORS, CONTACT, REFUSED = "operators@site.example", "north@site.example", "gone@site.example"
ALERTS = [
    (b"e1", {"event_id": "e1", "to": CONTACT, "site": "Nørth"}, CONTACT),
    (b"e2", {"event_id": "e2"}, OPERATORS),
    (b"e3\r\nBcc: x@y.example", {"event_id": "e3", "to": "a@b.example\r\nBcc: x@y.example"}, OPERATORS),
    (b"e4", {"event_id": "e4", "to": REFUSED, "site": "\ud800"}, OPERATORS),
    (b"\xff", ["no object"], OPERATORS),
]
"""For each alert: the key, the value, and the address that its message must have."""


class Mailbox:
    """Accepts messages; `on_mail` runs after a message was stored and before the server confirms it."""

    def __init__(self) -> None:
        self.mails: list[Message] = []
        self.on_mail: Callable[[], None] = lambda: None

    async def handle_RCPT(  # noqa: N802 - the interface of aiosmtpd
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        if address == REFUSED:
            return "550 no such mailbox"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802
        mail = message_from_bytes(bytes(envelope.original_content or b""))
        assert [mail["To"]] == envelope.rcpt_tos
        self.mails.append(mail)
        self.on_mail()
        return "250 OK"


@contextmanager
def mail_server(mailbox: Mailbox, environment: dict[str, str], folder: Path) -> Iterator[None]:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "mail.pem", folder / "mail.key")
    server = Controller(
        mailbox,
        ADDRESS,
        int(environment["SMTP_PORT"]),
        tls_context=context,
        require_starttls=True,
        auth_required=True,
        authenticator=lambda _server, _session, _envelope, _method, data: AuthResult(
            success=data == LOGIN, handled=False
        ),
    )
    server.start()
    try:
        yield
    finally:
        server.stop()


@contextmanager
def notifier(topic: str, environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "examples.alerts.notify", topic]
    with subprocess.Popen(
        command, cwd=files.ROOT, env={**os.environ, **environment}, text=True, stderr=subprocess.PIPE
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def environment(options: Options, tmp_path: Path) -> dict[str, str]:
    """Return the variables of a notifier, with a password file and a certificate authority of this test."""
    (tmp_path / "password").write_bytes(LOGIN.password + b"\n")
    certificates, [port] = Certificates(tmp_path), free_ports(1)
    certificates.identity("mail")
    return {
        "KAFKA_BOOTSTRAP_SERVERS": options.bootstrap_servers,
        "SMTP_HOST": ADDRESS,
        "SMTP_PORT": str(port),
        "SMTP_USER": LOGIN.login.decode(),
        "SMTP_FROM": "alerts@site.example",
        "SMTP_TO": OPERATORS,
        "SMTP_CA_FILE": str(certificates.trusted()),
        "SMTP_PASSWORD_FILE": str(tmp_path / "password"),
    }


@pytest.mark.timeout(120)
def test_alerts_are_mailed_over_outage_and_kill(options: Options, environment: dict[str, str], tmp_path: Path) -> None:
    """
    Alerts wait while the server is down. After kill -9 between sending and commit, the repeated e-mail has the same id.

    A refused address, line breaks in a key and bytes that are not JSON do not block the alerts after them.
    """
    mailbox, topic = Mailbox(), options.topic_prefix + "lifts-notices"
    create(JOB, options)
    send(options, "lifts-notices", [(key, json.dumps(value).encode()) for key, value, _ in ALERTS])

    with notifier(topic, environment) as process:
        assert process.stderr
        waits = process.stderr.readline()
        mailbox.on_mail = lambda: os.kill(process.pid, signal.SIGKILL) if len(mailbox.mails) == 2 else None
        with mail_server(mailbox, environment, tmp_path):
            assert -signal.SIGKILL == process.wait(60)
    with mail_server(mailbox, environment, tmp_path), notifier(topic, environment) as process:
        eventually(lambda: len(mailbox.mails) > len(ALERTS), 60, "the messages")
        process.send_signal(signal.SIGTERM)
        assert "" == process.communicate(timeout=60)[1]
        assert 0 == process.returncode
    wrong = {**environment, "SMTP_PASSWORD_FILE": "", "SMTP_PASSWORD": "wrong-secret"}
    send(options, "lifts-notices", [(b"e6", b"{}")])
    with mail_server(mailbox, environment, tmp_path), notifier(topic, wrong) as process:
        refused = process.communicate(timeout=60)[1]
        assert 1 == process.returncode

    assert f"{ADDRESS}:{environment['SMTP_PORT']} does not accept mail (ConnectionRefusedError)" in waits
    assert "5 alerts are waiting" in waits
    assert "rejected the login of 'alerts' with code 535, so the alerts wait in Kafka" in refused
    assert "secret" not in waits + refused
    ids = [mail["Message-ID"] for mail in mailbox.mails]
    assert ids[1] == ids[2]
    assert len(ALERTS) == len(set(ids)) == len(ids) - 1
    mails = [*mailbox.mails[:2], *mailbox.mails[3:]]
    assert [(to, None) for _, _, to in ALERTS] == [(mail["To"], mail["Bcc"]) for mail in mails]
    assert "site: Nørth" in bytes(mails[0].get_payload(decode=True)).decode()
