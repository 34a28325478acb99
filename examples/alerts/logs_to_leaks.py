"""
Find e-mail addresses, card numbers and IBANs in log lines, mask them, and raise alerts without personal data.

Unreadable records go to `logs-rejected` without masking, so give that topic the same ACLs as `logs`. No log
line can slow down the search, because each pattern looks ahead by only a limited number of characters.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from examples.alerts.decoding import decode, newest, route
from examples.alerts.job import Job

LOGS = (
    StructType()
    .add("service", "string", nullable=False)
    .add("level", "string")
    .add("message", "string", nullable=False)
)
"""One log line. The job searches only `message` for personal data, and drops fields that are not in this schema."""

OWNERS = StructType().add("to", "string")
"""
The value of a record in `log-owners`: the e-mail address of the service's owner. The key of the record is the service.

The alert of a service without a readable owner has no `to`, so `notify` sends the alert to the operators.
"""

EMAIL = r"([A-Za-z0-9._%+-]{1,64}+@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8})"
# The patterns for cards and IBANs are lookaheads, so digits directly before a card number or an IBAN cannot hide the
# match.
CARD = (
    r"(?<![0-9])(?=((?:[2-6][0-9]{12,18}|[2-6][0-9]{3}([ -])[0-9]{4}\2[0-9]{4}\2[0-9]{1,7}"
    r"|3[47][0-9]{2}[ -][0-9]{6}[ -][0-9]{5})(?![0-9])))"
)
IBAN = r"(?<![A-Za-z0-9])(?=([A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}(?![A-Za-z0-9])))"

# Alerts contain the name of the service, so a record is rejected if this name could contain a personal number.
SERVICE = r"\A(?!.*[0-9]{4})[a-z][a-z0-9-]{0,31}\z"
LEVELS = ("DEBUG", "INFO", "WARN", "ERROR")
MAX_LEAKS = 100
"""Maximum number of matches. A message with more matches is withheld, because masking it would take too long."""


def logs_to_leaks(logs: DataFrame, owners: DataFrame) -> DataFrame:
    """
    Convert Kafka source rows of log lines and owners to Kafka sink rows: two for a line with a leak, else one.

    An alert contains the service, the kinds of data joined by commas, the number of distinct matches, and the owner's
    address.
    """
    service, level, message = (F.col(f"record.{name}") for name in LOGS.names)
    checks = {"bad_service": ~service.rlike(SERVICE), "bad_level": ~level.isin(*LEVELS)}
    decoded = decode(logs, LOGS, checks).withColumn("found", _leaks_in(message))
    leaking = F.col("reason").isNull() & (F.size("found") > 0)
    both, one = F.array(F.lit("logs-masked"), F.lit("leaks")), F.array(F.lit("logs-masked"))
    masked = F.to_json(F.struct(service, level, _masked(message).alias("message")))
    kinds = F.array_join(F.array_sort(F.array_distinct("found.kind")), ",").alias("kinds")
    alert = F.to_json(F.struct(service, kinds, F.size("found").alias("leaks"), "owner.to"))
    table = F.broadcast(newest(owners, OWNERS, "owner"))
    owned = decoded.join(table, service == F.col("owner_key"), "left")
    return route(
        owned.withColumn("to", F.explode(F.when(leaking, both).otherwise(one))),
        "logs-rejected",
        key=service,
        value=F.when(F.col("to") == "leaks", alert).otherwise(masked),
        topic=F.col("to"),
    )


def _leaks_in(text: Column) -> Column:
    def all_of(kind: str, pattern: str) -> Column:
        matches = F.array_distinct(F.regexp_extract_all(text, F.lit(pattern), F.lit(1)))
        return F.transform(matches, lambda match: F.struct(F.lit(kind).alias("kind"), match.alias("text")))

    cards = F.filter(
        all_of("card", CARD), lambda leak: F.call_function("luhn_check", F.regexp_replace(leak["text"], "[ -]", ""))
    )
    ibans = F.filter(all_of("iban", IBAN), lambda leak: _is_iban(leak["text"]))
    leaks = F.concat(all_of("email", EMAIL), cards, ibans)
    # The longest leak is masked first. Otherwise masking a@b.nl inside xa@b.nl would leave the x.
    return F.array_sort(leaks, lambda one, other: F.length(other["text"]) - F.length(one["text"]))


def _is_iban(text: Column) -> Column:
    letters = F.split(F.concat(F.substring(text, 5, 34), F.substring(text, 1, 4)), "")
    values = F.transform(letters, lambda letter: F.conv(letter, 36, 10).cast("int"))
    rest = F.aggregate(values, F.lit(0), lambda n, v: (n * F.when(v > 9, 100).otherwise(10) + v) % 97)
    return rest == 1


def _masked(text: Column) -> Column:
    masked = F.aggregate("found", text, lambda line, leak: F.replace(line, leak["text"], _name_of(leak)))
    return F.when(F.size("found") > MAX_LEAKS, "[withheld]").otherwise(masked)


def _name_of(leak: Column) -> Column:
    return F.concat(F.lit("["), leak["kind"], F.lit("]"))


JOB = Job(
    logs_to_leaks,
    "Find personal data in log lines: logs + log-owners -> leaks (alerts without the data) and logs-masked.",
    reads=("logs", "log-owners"),
    writes=("leaks", "logs-masked", "logs-rejected"),
)
