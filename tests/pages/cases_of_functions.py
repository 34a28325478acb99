"""
Cases for the table of functions.

An expression that fails for one row makes the query fail, and each restart reads that row again.
"""

import hashlib
from dataclasses import replace

from pyspark.sql import functions as F

from tests.helpers import eventually, new_topic
from tests.pages.operator_probe import LAST, OperatorProbe
from tests.pages.outcomes import DEADLINE_SECONDS, Observe, together, writes

JSON = """'{"a": 7}'"""
VALUES = (
    {
        f"from_json({JSON}, 'a int').a + n": "16",
        "to_json(struct(k, n))": '{"k":"z","n":9}',
        "get_json_object(k, '$.a')": "-",
    },
    {
        "try_cast(k as int)": "-",
        "try_to_timestamp(k)": "-",
        "try_variant_get(try_parse_json(k), '$.a', 'int')": "-",
        "is_valid_utf8(k)": "true",
    },
    {
        "transform(sequence(1, 3), x -> x * n)": "[9, 18, 27]",
        "sha2(k, 256)": hashlib.sha256(LAST.encode()).hexdigest(),
        "length(uuid())": "36",
    },
)
"""Expressions that one query evaluates for the last row, with their values."""
ERRORS = (
    ("cast(k as int)", "to_timestamp(k)"),
    ("n / (n - 1)",),
    ("array(n)[n]",),
    ("validate_utf8(concat(cast(unhex('FF') as string), k))",),
    ("parse_json(k)", "from_json(k, 'a int', map('mode', 'FAILFAST'))"),
    ("from_json(k, 'a int', map('mode', 'DROPMALFORMED'))",),
)


def _name(expressions: tuple[str, ...] | dict[str, str]) -> str:
    return "; ".join(f"`{expression}`" for expression in expressions)


def _evaluate(values: dict[str, str]) -> Observe:
    expected = f"{LAST} {' '.join(values.values())}"
    return writes(lambda probe: probe.rows().where("k = 'z'").selectExpr("k", *values), expected)


def _select(expression: str) -> Observe:
    return writes(lambda probe: probe.rows().selectExpr(expression))


def _clock(expression: str) -> Observe:
    def observe(probe: OperatorProbe) -> str:
        empty = replace(probe, topic=new_topic(probe.kafka, 1))
        query = empty.write(empty.rows().select(F.expr(expression))).start()
        for sent in range(1, 4):
            empty.send(LAST, sent)
            eventually(lambda: len(empty.texts()) == sent, DEADLINE_SECONDS, "one output row for each row sent")  # noqa: B023
        query.stop()
        distinct = len(set(empty.texts()))
        return {1: "runs, one value per batch", 3: "runs, a new value for each row"}.get(distinct, f"{empty.texts()}")

    return observe


FUNCTIONS = {
    **{_name(values): _evaluate(values) for values in VALUES},
    **{_name((clock,)): _clock(clock) for clock in ("current_timestamp()", "reflect('java.lang.System', 'nanoTime')")},
    **{_name(expressions): together(*map(_select, expressions)) for expressions in ERRORS},
}
