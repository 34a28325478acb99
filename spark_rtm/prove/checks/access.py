"""Check a job's topics, Kafka login and passwords."""

import ast
import re
from collections.abc import Collection, Mapping

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from spark_rtm.commands.errors import page_of
from spark_rtm.prove.engine import Bench
from spark_rtm.prove.job.target import code_of
from spark_rtm.prove.query import Query
from spark_rtm.prove.verdicts import GOOD, UNCHECKED, WRONG, Verdict
from spark_rtm.realtime.proof import plan_of_frame

NO_TOPIC = "UnknownTopicOrPartitionException"
# The local broker returns this error to every client that sends credentials.
ANSWER = "IllegalSaslStateException"
# Other modules, such as those for OAuth and Kerberos, connect to an identity provider.
OWN_MODULE = re.compile(r"\s*(?:\w+\.)*common\.security\.(?:plain|scram)\.(?:Plain|Scram)LoginModule\s")
TIMEOUTS = {"kafka.request.timeout.ms": "3000", "kafka.default.api.timeout.ms": "6000", "kafka.retries": "0"}
PAGE = "references/production.md"
# Kafka source options with their default values.
FETCH = {"kafka.fetch.min.bytes": "1", "kafka.fetch.max.wait.ms": "500"}
MIN_WAIT_MS = 100
FETCH_PAGE = "references/kafka_patterns.md#client-options"
NAME = re.compile(r"passw(or)?d|secret|token|jaas|api_?key|credential", re.IGNORECASE)
QUOTED = re.compile(r"password\s*=\s*[\"']([^\"']+)[\"']")
# Excludes names of environment variables, placeholders such as `<password>`, and strings with spaces.
SECRET = re.compile(r"(?![A-Z_]+$|[<{$])\S{6,}")


def topics(query: Query, existing: Collection[str]) -> Verdict:
    """Return the verdict on a query's topics. `existing` is empty if the user has not listed the production topics."""
    read, written = sorted(query.reads), sorted(query.topics)
    parts = [f"reads {', '.join(read)}"] if read else []
    parts += [f"writes {', '.join(written)}"] if written else []
    missing = [topic for topic in (*read, *written) if topic not in existing] if existing else []
    if not missing:
        listed = "--topics lists them" if existing else "prove creates them; pass --topics to check production"
        return Verdict("topics", GOOD, f"the query {' and '.join(parts)}; {listed}")
    evidence = f"{NO_TOPIC}: {', '.join(missing)} is used, but --topics does not list it, so the query fails"
    fix = "create the topic before the query starts, or correct its name"
    return query.place.wrong("topics", evidence, fix, page_of(NO_TOPIC), rf"[\"']{re.escape(missing[0])}[\"']")


def login(
    bench: Bench, options: Mapping[str, str], topic: str, path: str, line: int, *, calls_others: bool = False
) -> Verdict | None:
    """
    Connect to the local broker with a source's login options, and return the verdict, or None without such options.

    A login that would call an identity provider or one of the job's classes is tested only with `calls_others`.
    """
    # Databricks ships Kafka's classes under a different package name, with the same login options.
    sasl = {n: v.replace("kafkashaded.org.", "org.") for n, v in options.items() if n.startswith("kafka.sasl.")}
    if not sasl:
        return None
    if not calls_others and (why := _calls(sasl)):
        evidence = f"the login was not checked, because {why} would receive the credentials"
        fix = "test the login on your cluster, or allow the call with --side-effects"
        return Verdict("login", UNCHECKED, evidence, fix)
    reader = bench.spark.read.format("kafka").option("subscribe", topic).options(**sasl, **TIMEOUTS)
    reader = reader.option("kafka.bootstrap.servers", bench.kafka).option("kafka.security.protocol", "SASL_PLAINTEXT")
    try:
        reader.load().count()
    except (PySparkException, Py4JJavaError) as error:
        text = str(error)
        if ANSWER in text:
            evidence = "the login is well-formed; prove cannot check the password, because its broker requires no login"
            return Verdict("login", GOOD, evidence, page=page_of(ANSWER))
        reason = next((part.strip() for part in text.splitlines() if "Caused by" in part), text.splitlines()[0])
        fix = "correct kafka.sasl.mechanism and kafka.sasl.jaas.config"
        return Verdict("login", WRONG, f"Kafka cannot read the login: {reason[:200]}", fix, page_of(ANSWER), path, line)
    raise AssertionError("internal error: a broker without login accepted one")


def fetch(options: Mapping[str, str], path: str, line: int) -> Verdict | None:
    """Return a verdict if source options make the broker wait for many bytes, otherwise None."""
    size, wait_ms = (options.get(name, default) for name, default in FETCH.items())
    if not (size.isdigit() and wait_ms.isdigit()) or int(size) <= 1 or int(wait_ms) < MIN_WAIT_MS:
        return None
    evidence = (
        f"{next(iter(FETCH))}={size}: the broker delays a response until it has this many bytes, at most {wait_ms} ms"
    )
    return Verdict("flow", WRONG, evidence, "remove the option: its default is 1", FETCH_PAGE, path, line)


def _calls(sasl: Mapping[str, str]) -> str:
    """Return the external server or class that a login would call, or an empty string."""
    for name, value in sasl.items():
        if name.endswith((".class", ".url")):
            return f"{name}={value}"
    if not OWN_MODULE.match(sasl.get("kafka.sasl.jaas.config", "")):
        return "a login module that is neither PlainLoginModule nor ScramLoginModule"
    return ""


def secrets(query: Query) -> list[Verdict]:
    """Return a verdict for each password in the user's file, or a single good verdict."""
    try:
        found = secrets_in(code_of(query.place.path))
    except (OSError, UnicodeDecodeError, SyntaxError):
        found = {}
    if not found:
        return [Verdict("secrets", GOOD, "the file contains no password or token")]
    fix = "read the secret from a secret store or the executors' environment, and never put it into an expression"
    return [
        Verdict("secrets", WRONG, _evidence(query, text), fix, PAGE, str(query.place.path), line)
        for text, line in found.items()
    ]


def secrets_in(code: str) -> dict[str, int]:
    """Return the line number of each string that is assigned to a name such as `password`."""
    found = dict[str, int]()
    for node in ast.walk(ast.parse(code)):
        for name, value in _named(node):
            if NAME.search(name) and isinstance(value, ast.Constant) and isinstance(value.value, str):
                quoted = QUOTED.search(value.value)
                text = quoted[1] if quoted else value.value
                if SECRET.fullmatch(text):
                    found.setdefault(text, value.lineno)
    return found


def _named(node: ast.AST) -> list[tuple[str, ast.expr | None]]:
    match node:
        case (
            ast.Assign(targets=[ast.Name(id=name)], value=value) | ast.AnnAssign(target=ast.Name(id=name), value=value)
        ):
            return [(name, value)]
        case ast.keyword(arg=str(name), value=value):
            return [(name, value)]
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            return [(str(key.value), value) for key, value in pairs if isinstance(key, ast.Constant)]
        case ast.Call(args=[ast.Constant(value=str(name)), value]):
            return [(name, value)]
    return []


def _evidence(query: Query, text: str) -> str:
    data, log = text.encode(), query.bench.log
    checkpoints = (path for path in query.trial.folder.rglob("*") if path.is_file())
    places = {
        "the plan": text in plan_of_frame(query.trial.rows),
        "Spark's log": log is not None and log.is_file() and data in log.read_bytes(),
        "the checkpoint": any(data in path.read_bytes() for path in checkpoints),
    }
    found = " and ".join(place for place, is_there in places.items() if is_there)
    return "the code contains a password or token" + (f", and Spark prints it in {found}" if found else "")
