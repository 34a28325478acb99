"""
Cases for the table of functions: their outcome in real-time mode on OSS 4.3.0.

An expression that fails for one row makes the query fail, and each restart reads that row again.
"""

import hashlib
from collections.abc import Callable
from dataclasses import replace

from pyspark.sql import functions as F

from tests.helpers import eventually, new_topic
from tests.pages.operator_probe import LAST, OperatorProbe
from tests.pages.outcomes import DEADLINE_SECONDS, Case, fails, runs, together

MALFORMED = "while running: `MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION`"
JSON = """'{"a": 7}'"""


def _return(values: dict[str, str]) -> Case:
    """Return the case of expressions with these values, which one query evaluates."""
    names = "; ".join(f"`{expression}`" for expression in values)
    expected = f"{LAST} {' '.join(values.values())}"
    return runs(names, lambda probe: probe.rows().where("k = 'z'").selectExpr("k", *values), expected)


def _raises(expression: str, cell: str) -> Case:
    return fails(f"`{expression}`", cell, lambda probe: probe.rows().selectExpr(expression))


def _observe_clock(expression: str) -> Callable[[OperatorProbe], str]:
    def observe(probe: OperatorProbe) -> str:
        empty = replace(probe, topic=new_topic(probe.kafka, 1))
        query = empty.write(empty.rows().select(F.expr(expression))).start()
        for sent in range(3):
            empty.send(LAST, sent)
            eventually(_has_rows(empty, sent + 1), DEADLINE_SECONDS, "one output row for each row sent")
        query.stop()
        distinct = len(set(empty.texts()))
        return {1: "runs, one value per batch", 3: "runs, a new value for each row"}.get(distinct, f"{empty.texts()}")

    return observe


def _has_rows(probe: OperatorProbe, rows: int) -> Callable[[], bool]:
    return lambda: len(probe.texts()) == rows


def _clock(expression: str, cell: str) -> Case:
    return Case(f"`{expression}`", cell, _observe_clock(expression))


FUNCTIONS = (
    _return(
        {
            f"from_json({JSON}, 'a int').a + n": "16",
            "to_json(struct(k, n))": '{"k":"z","n":9}',
            "get_json_object(k, '$.a')": "-",
        }
    ),
    _return(
        {
            "try_cast(k as int)": "-",
            "try_to_timestamp(k)": "-",
            "try_variant_get(try_parse_json(k), '$.a', 'int')": "-",
            "is_valid_utf8(k)": "true",
        }
    ),
    _return(
        {
            "transform(sequence(1, 3), x -> x * n)": "[9, 18, 27]",
            "sha2(k, 256)": hashlib.sha256(LAST.encode()).hexdigest(),
            "length(uuid())": "36",
        }
    ),
    _clock("current_timestamp()", "runs, one value per batch"),
    _clock("reflect('java.lang.System', 'nanoTime')", "runs, a new value for each row"),
    together(
        _raises("cast(k as int)", "while running: `CAST_INVALID_INPUT`"),
        _raises("to_timestamp(k)", "while running: `CAST_INVALID_INPUT`"),
    ),
    _raises("n / (n - 1)", "while running: `DIVIDE_BY_ZERO`"),
    _raises("array(n)[n]", "while running: `INVALID_ARRAY_INDEX`"),
    _raises("validate_utf8(concat(cast(unhex('FF') as string), k))", "while running: `INVALID_UTF8_STRING`"),
    together(_raises("parse_json(k)", MALFORMED), _raises("from_json(k, 'a int', map('mode', 'FAILFAST'))", MALFORMED)),
    _raises("from_json(k, 'a int', map('mode', 'DROPMALFORMED'))", "while running: `PARSE_MODE_UNSUPPORTED`"),
)
