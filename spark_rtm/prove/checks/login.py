"""Check that Kafka accepts the form of a job's login; the local broker has no passwords to compare."""

from collections.abc import Mapping

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from spark_rtm.prove.subjects.bench import Bench
from spark_rtm.prove.verdicts.failure import page_of
from spark_rtm.prove.verdicts.verdict import GOOD, WRONG, Verdict

# The local broker gives this answer to every client that sends a login.
ANSWER = "IllegalSaslStateException"
TIMEOUTS = {"kafka.request.timeout.ms": "3000", "kafka.default.api.timeout.ms": "6000", "kafka.retries": "0"}


def login(bench: Bench, options: Mapping[str, str], topic: str, path: str, line: int) -> Verdict | None:
    """Connect to the local broker with the login of a source, and return the verdict; None without a login."""
    sasl = {name: value for name, value in options.items() if name.startswith("kafka.sasl.")}
    if not sasl:
        return None
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
