"""Check that Kafka accepts the form of a job's login; the local broker has no passwords to compare."""

import re
from collections.abc import Mapping

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from spark_rtm.errors import page_of
from spark_rtm.prove.subjects.bench import Bench
from spark_rtm.prove.verdicts.verdict import GOOD, UNCHECKED, WRONG, Verdict

# The local broker gives this answer to every client that sends a login.
ANSWER = "IllegalSaslStateException"
# Other modules, such as those for OAuth and Kerberos, connect to an identity provider.
OWN_MODULE = re.compile(r"\s*(?:\w+\.)*common\.security\.(?:plain|scram)\.(?:Plain|Scram)LoginModule\s")
TIMEOUTS = {"kafka.request.timeout.ms": "3000", "kafka.default.api.timeout.ms": "6000", "kafka.retries": "0"}


def login(
    bench: Bench, options: Mapping[str, str], topic: str, path: str, line: int, *, calls_others: bool = False
) -> Verdict | None:
    """
    Connect to the local broker with the login of a source, and return the verdict; None without a login.

    A login that would call an identity provider or a class of the job runs only if `calls_others`.
    """
    # Databricks ships the classes of Kafka under another name; the form of the login is the same.
    sasl = {n: v.replace("kafkashaded.org.", "org.") for n, v in options.items() if n.startswith("kafka.sasl.")}
    if not sasl:
        return None
    if not calls_others and (why := _calls(sasl)):
        evidence = f"not checked, because {why} would receive the login of the job"
        return Verdict("login", UNCHECKED, evidence, "check it on your cluster, or allow it with --side-effects")
    reader = bench.spark.read.format("kafka").option("subscribe", topic).options(**sasl, **TIMEOUTS)
    reader = reader.option("kafka.bootstrap.servers", bench.kafka).option("kafka.security.protocol", "SASL_PLAINTEXT")
    try:
        reader.load().count()
    except (PySparkException, Py4JJavaError) as error:
        text = str(error)
        if ANSWER in text:
            evidence = "the login has a valid form; prove cannot check the password, because its broker has no login"
            return Verdict("login", GOOD, evidence, page=page_of(ANSWER))
        reason = next((part.strip() for part in text.splitlines() if "Caused by" in part), text.splitlines()[0])
        fix = "correct kafka.sasl.mechanism and kafka.sasl.jaas.config"
        return Verdict("login", WRONG, f"Kafka cannot read the login: {reason[:200]}", fix, page_of(ANSWER), path, line)
    raise AssertionError("internal error: a broker without login accepted one")


def _calls(sasl: Mapping[str, str]) -> str:
    """Return what a client with this login would call beside the broker."""
    for name, value in sasl.items():
        if name.endswith((".class", ".url")):
            return f"{name}={value}"
    if not OWN_MODULE.match(sasl.get("kafka.sasl.jaas.config", "")):
        return "a login module that is neither PlainLoginModule nor ScramLoginModule"
    return ""
