"""
The checks of `rtm doctor` that use the network: log in to a Kafka cluster, and describe topics.

Spark uses Kafka's Java client. This module passes the job's options to the C client in `confluent_kafka`, if that
client has them. Each step has a deadline.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spark_rtm import how
from spark_rtm.inspect.sources import topics_of
from spark_rtm.realtime.login import MODULES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

LOGIN_SECONDS, ANSWER_SECONDS = 10.0, 10.0
WORD = r"""\b{}\s*=\s*(?:"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|([^\s;"']+))"""
CLOCK, APPEND_TIME = "message.timestamp.type", "LogAppendTime"
SERVERS = "kafka.bootstrap.servers"
FINAL = {"_AUTHENTICATION", "_SSL", "_RESOLVE", "_ALL_BROKERS_DOWN"}
"""Errors of the client that remain after further attempts."""
FINE, PROBLEM, SKIPPED = "fine", "problem", "not checked"


@dataclass(frozen=True)
class Result:
    """The result of one check."""

    check: str
    status: str
    text: str
    """What was found and, for a problem, its consequence."""
    remedy: str = ""


class UncheckedError(Exception):
    """Raised if this command cannot check an option that a job may use."""


def of_kafka(
    given: Mapping[str, str], sources: Sequence[str], targets: Sequence[str], partitions: dict[str, int]
) -> Iterator[Result]:
    """Yield the results about the cluster and its topics. Store the partition counts of `sources` in `partitions`."""
    if not given.get(SERVERS):
        remedy = f"set KAFKA_BOOTSTRAP_SERVERS, or pass FILE with {SERVERS}"
        yield Result("kafka", SKIPPED, "no servers were given", remedy)
    elif find_spec("confluent_kafka") is None:
        problem = "the package confluent-kafka is missing, so the cluster and the topics were not checked"
        yield Result("kafka", PROBLEM, problem, how("kafka"))
    else:
        try:
            properties = client_properties(given)
            admin, found = _connected(properties)
        except UncheckedError as error:
            remedy = 'start the job with trigger(realTime="5 seconds"), which fails within seconds'
            yield Result("kafka", SKIPPED, str(error), remedy)
        except ValueError as error:
            yield Result("kafka", PROBLEM, f"{error}, so a query fails", f"correct {SERVERS} or the login options")
        else:
            protocol = f"{properties['security.protocol']} {properties.get('sasl.mechanism', '')}".strip()
            yield Result("kafka", FINE, f"{given[SERVERS]} responds ({protocol})")
            partitions |= {topic: found[topic] for topic in sources if topic in found}
            yield from _topics(admin, found, sources, targets)


def client_properties(options: Mapping[str, str]) -> dict[str, str]:
    """
    Return the C client's properties for the Kafka options of a Spark job, whose names begin with `kafka.`.

    Raises UncheckedError for an option that only Java's client has, and ValueError for an invalid option. No message
    contains a password.
    """
    given = {name.removeprefix("kafka."): value for name, value in options.items() if name.startswith("kafka.")}
    protocol = given.get("security.protocol", "PLAINTEXT").upper()
    properties = {"bootstrap.servers": given["bootstrap.servers"], "security.protocol": protocol}
    if protocol.startswith("SASL"):
        mechanism = given.get("sasl.mechanism", "GSSAPI")
        if mechanism not in MODULES:
            raise UncheckedError(f"this command cannot log in with {mechanism}")
        login = {name: _word(name, given.get("sasl.jaas.config", "")) for name in ("username", "password")}
        if not all(login.values()):
            raise ValueError("kafka.sasl.jaas.config contains no user or no password")
        properties |= {"sasl.mechanism": mechanism, **{f"sasl.{name}": value for name, value in login.items()}}
    return {**properties, **_encryption(given)} if protocol.endswith("SSL") else properties


def _encryption(given: Mapping[str, str]) -> dict[str, str]:
    properties: dict[str, str] = {}
    for store, names in {"truststore": ("ssl.ca",), "keystore": ("ssl.certificate", "ssl.key")}.items():
        if path := given.get(f"ssl.{store}.location"):
            if given.get(f"ssl.{store}.type", "JKS").upper() != "PEM":
                raise UncheckedError(f"this command cannot read the {store} {path!r}, because its type is not PEM")
            if not Path(path).is_file():
                raise ValueError(f"the {store} {path!r} is not a file")
            properties |= {f"{name}.location": path for name in names}
    if given.get("ssl.endpoint.identification.algorithm") == "":
        properties["ssl.endpoint.identification.algorithm"] = "none"
    return properties


def _word(name: str, jaas: str) -> str:
    match = re.search(WORD.format(name), jaas)
    return re.sub(r"\\(.)", r"\1", next(text for text in match.groups() if text is not None)) if match else ""


def _connected(properties: Mapping[str, str]) -> tuple[Any, dict[str, int]]:
    """Return the client, and each topic's number of partitions. Raise ValueError if the cluster does not answer."""
    from confluent_kafka import KafkaError, KafkaException  # noqa: PLC0415
    from confluent_kafka.admin import AdminClient  # noqa: PLC0415

    errors: list[KafkaError] = []
    silent = logging.getLogger(f"{__name__}.silent")
    silent.disabled = True
    try:
        conf: dict[str, Any] = {**properties, "error_cb": errors.append}
        admin = AdminClient(conf, logger=silent)
        topics = topics_of(admin, LOGIN_SECONDS, lambda: bool(FINAL & {error.name() for error in errors}))
        return admin, {name: len(topic.partitions) for name, topic in topics.items()}
    except KafkaException:
        reasons = [each.str() for each in errors if each.name() != "_ALL_BROKERS_DOWN"]
        reasons += ["the server does not answer, or it requires TLS"]
        reason = re.sub(r"^\S+/bootstrap: | \(after \d+ms.*", "", reasons[0])
        raise ValueError(f"this client cannot connect to {properties['bootstrap.servers']} ({reason})") from None


def _topics(admin: Any, found: Mapping[str, int], sources: Sequence[str], targets: Sequence[str]) -> Iterator[Result]:
    from confluent_kafka import KafkaException  # noqa: PLC0415
    from confluent_kafka.admin import ConfigResource, ResourceType  # noqa: PLC0415

    topics = list(dict.fromkeys((*sources, *targets)))
    if not topics:
        yield Result("topics", SKIPPED, "no topics were given", "pass --source and --target, or FILE with subscribe")
    for topic in (topic for topic in topics if topic not in found):
        effect = "the query reads nothing" if topic in sources else "the query fails a minute after its first row"
        problem = f"topic {topic!r} does not exist, or this user may not describe it, so {effect}"
        yield Result("topics", PROBLEM, problem, "create the topic, or grant READ on sources and WRITE on targets")
    resources = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics if topic in found]
    answers = admin.describe_configs(resources, request_timeout=ANSWER_SECONDS) if resources else {}
    for resource, answer in answers.items():
        number = found[resource.name]
        count = f"topic {resource.name!r} has {number} partition{'' if number == 1 else 's'}"
        try:
            clock = answer.result(ANSWER_SECONDS)[CLOCK].value
        except (KafkaException, TimeoutError) as error:
            reason = error.args[0].str() if isinstance(error, KafkaException) else "no answer"
            text = f"{count}, but its {CLOCK} is unknown ({reason})"
            yield Result("topics", SKIPPED, text, "grant DESCRIBE_CONFIGS on the topic")
            continue
        if clock == APPEND_TIME:
            yield Result("topics", FINE, f"{count} and {CLOCK}={clock}")
        else:
            problem = f"{count} and {CLOCK}={clock}, so latencies would depend on the producers' clocks"
            yield Result("topics", PROBLEM, problem, f"set {CLOCK}={APPEND_TIME} on the topic")
