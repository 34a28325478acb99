"""
Send each record of the given topics as an e-mail: `python -m examples.alerts.notify lifts-notices logins-spikes`.

The notifier commits the offset of an alert only after the mail server has accepted the e-mail, so a restart can repeat
an e-mail but never loses one. A repeated e-mail has the same Message-ID, so mail filters can recognize it (RFC 7352).
While the mail server is unavailable, alerts wait in Kafka and the notifier retries.
"""

import json
import os
import re
import signal
import smtplib
import ssl
import sys
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from email.message import EmailMessage
from hashlib import sha256
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, Message

from spark_rtm.kafka.consumer import CONSUMER, is_record

REQUIRED = ("KAFKA_BOOTSTRAP_SERVERS", "SMTP_HOST", "SMTP_USER", "SMTP_FROM", "SMTP_TO")
ADDRESS = re.compile(r"[A-Za-z0-9._+-]{1,64}@[A-Za-z0-9.-]{1,255}", re.ASCII)
FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 1, 60
TIMEOUT_SECONDS = 30
BATCH = 100
PERMANENT = 500
"""The lowest SMTP reply code that means a permanent failure."""
GROUP = CONSUMER | {
    "group.id": "alerts-notify",
    # A restarted notifier takes over immediately, even after a kill. The start of a second notifier stops the first.
    "group.instance.id": "notify",
    "auto.offset.reset": "earliest",
    # The maximum. With a shorter interval, the notifier would leave the group during an outage of the mail server.
    "max.poll.interval.ms": 86_400_000,
}


def settings_of(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables and the password. Raise ValueError with the names of all missing variables."""
    file = variables.get("SMTP_PASSWORD_FILE")
    password = Path(file).read_text("utf-8").strip() if file else variables.get("SMTP_PASSWORD", "")
    missing = [name for name in REQUIRED if not variables.get(name)]
    if not password:
        missing.append("SMTP_PASSWORD_FILE")
    if missing:
        raise ValueError(f"these variables are not set, so no alert can be sent; export them: {', '.join(missing)}")
    ssl.create_default_context(cafile=variables.get("SMTP_CA_FILE"))  # exit at the start if the file is invalid
    return {"SMTP_PORT": "587", **variables, "SMTP_PASSWORD": password}


def connect(smtp: Mapping[str, str]) -> smtplib.SMTP:
    """Return a connection that is logged in over TLS. Raise an exception if the server lacks STARTTLS."""
    server = smtplib.SMTP(smtp["SMTP_HOST"], int(smtp["SMTP_PORT"]), timeout=TIMEOUT_SECONDS)
    try:
        server.starttls(context=ssl.create_default_context(cafile=smtp.get("SMTP_CA_FILE")))
        server.login(smtp["SMTP_USER"], smtp["SMTP_PASSWORD"])
    except BaseException:
        server.close()
        raise
    return server


def mail_of(alert: Message, smtp: Mapping[str, str]) -> EmailMessage:
    """Return the e-mail for an alert, addressed to the field `to` or, if this is not an address, to the operators."""
    value = (alert.value() or b"").decode(errors="replace")
    try:
        fields = json.loads(value)
    except (ValueError, RecursionError):
        fields = None
    fields = fields if isinstance(fields, dict) else {"value": value}
    to, topic, key = str(fields.pop("to", "")), str(alert.topic()), alert.key() or b""
    # Alerts without a key are distinguished by their position.
    identity = key or f"{alert.partition()}:{alert.offset()}".encode()
    digest = sha256(f"{topic}/".encode() + identity).hexdigest()[:32]
    mail = EmailMessage()
    mail["From"], mail["To"] = smtp["SMTP_FROM"], to if ADDRESS.fullmatch(to) else smtp["SMTP_TO"]
    mail["Subject"] = f"{topic}: " + re.sub(r"[^ -~]", "?", identity.decode(errors="replace"))[:200]
    mail["Message-ID"] = f"<{digest}@{smtp['SMTP_FROM'].rpartition('@')[2]}>"
    text = "".join(f"{name}: {text}\n" for name, text in fields.items())
    mail.set_content(text.encode(errors="replace").decode())
    return mail


def send_all(alerts: Sequence[Message], consumer: Consumer, smtp: Mapping[str, str], stop: threading.Event) -> None:
    """Send each alert in order, then commit it. While the server is unavailable, retry until `stop` is set."""
    waiting, pause, address = deque(alerts), FIRST_PAUSE_SECONDS, f"{smtp['SMTP_HOST']}:{smtp['SMTP_PORT']}"
    while waiting and not stop.is_set():
        try:
            with connect(smtp) as server:
                while waiting and not stop.is_set():
                    _send(server, mail_of(waiting[0], smtp), smtp["SMTP_TO"])
                    consumer.commit(message=waiting.popleft(), asynchronous=False)
                    pause = FIRST_PAUSE_SECONDS
        except OSError as error:  # The base class of all smtplib errors and connection errors.
            if isinstance(error, smtplib.SMTPAuthenticationError) and error.smtp_code >= PERMANENT:
                raise RuntimeError(
                    f"{address} rejected the login of {smtp['SMTP_USER']!r} with code {error.smtp_code}, so the "
                    "alerts wait in Kafka; correct SMTP_USER or the password, and start again"
                ) from None
            print(
                f"{address} does not accept mail ({type(error).__name__}), {len(waiting)} alerts are waiting; "
                f"the next attempt is in {pause} s",
                file=sys.stderr,
                flush=True,
            )
            stop.wait(pause)
            pause = min(2 * pause, MAX_PAUSE_SECONDS)


def _send(server: smtplib.SMTP, mail: EmailMessage, operators: str) -> None:
    try:
        server.send_message(mail)
    except smtplib.SMTPRecipientsRefused:
        if mail["To"] == operators:
            raise
        # An alert with a bad address must not block the alerts after it.
        mail.replace_header("To", operators)
        server.send_message(mail)


def main(topics: Sequence[str]) -> int:
    """Send alerts until Ctrl-C or SIGTERM, then return 0. Return 1 after an error, and 2 if no topics are given."""
    if not topics:
        print("error: no topics are given, so no alert can be sent; pass the topics as arguments", file=sys.stderr)
        return 2
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    try:
        smtp = settings_of(os.environ)
        consumer = Consumer({**GROUP, "bootstrap.servers": smtp["KAFKA_BOOTSTRAP_SERVERS"]})
        try:
            consumer.subscribe(list(topics))
            while not stop.is_set():
                send_all([m for m in consumer.consume(BATCH, 0.5) if is_record(m)], consumer, smtp, stop)
        finally:
            consumer.close()
    except (ValueError, OSError, RuntimeError, KafkaException) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
