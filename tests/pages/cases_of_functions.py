"""
What real-time mode of OSS 4.3.0 does with functions.

Cases leave, one for each row of the table of functions.
Real-time mode demands expressions that answer for every row: a bad one ends the query, and each restart reads it again.
"""

import hashlib
from collections.abc import Callable
from dataclasses import replace

from pyspark.sql import functions as F

from tests.helpers import eventually, new_topic
from tests.pages.bench import LAST, Bench
from tests.pages.outcomes import DEADLINE_SECONDS, Case, fails, runs, together

MALFORMED = "later: `MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION`"
JSON = """'{"a": 7}'"""


def _gives(expression: str, value: str) -> Case:
    """Return the case of an expression that has this value in the last row."""
    return runs(
        f"`{expression}`", lambda bench: bench.rows().where("k = 'z'").selectExpr("k", expression), f"{LAST} {value}"
    )


def _dies(expression: str, cell: str) -> Case:
    return fails(f"`{expression}`", cell, lambda bench: bench.rows().selectExpr(expression))


def _observe_clock(expression: str) -> Callable[[Bench], str]:
    def observe(bench: Bench) -> str:
        own = replace(bench, topic=new_topic(bench.kafka, 1))
        query = own.write(own.rows().select(F.expr(expression))).start()
        for sent in range(3):
            own.send(LAST, sent)
            eventually(_holds(own, sent + 1), DEADLINE_SECONDS, "a row for each row sent")
        query.stop()
        different = len(set(own.texts()))
        return {1: "runs, stands still during a batch", 3: "runs, live in each row"}.get(different, f"{own.texts()}")

    return observe


def _holds(bench: Bench, rows: int) -> Callable[[], bool]:
    return lambda: len(bench.texts()) == rows


def _clock(expression: str, cell: str) -> Case:
    return Case(f"`{expression}`", cell, _observe_clock(expression))


FUNCTIONS = (
    together(
        _gives(f"from_json({JSON}, 'a int').a + n", "16"),
        _gives("to_json(struct(k, n))", '{"k":"z","n":9}'),
        _gives("get_json_object(k, '$.a')", "-"),
    ),
    together(
        _gives("try_cast(k as int)", "-"),
        _gives("try_to_timestamp(k)", "-"),
        _gives("try_variant_get(try_parse_json(k), '$.a', 'int')", "-"),
        _gives("is_valid_utf8(k)", "true"),
    ),
    together(
        _gives("transform(sequence(1, 3), x -> x * n)", "[9, 18, 27]"),
        _gives("sha2(k, 256)", hashlib.sha256(LAST.encode()).hexdigest()),
        _gives("length(uuid())", "36"),
    ),
    _clock("current_timestamp()", "runs, stands still during a batch"),
    _clock("reflect('java.lang.System', 'nanoTime')", "runs, live in each row"),
    together(
        _dies("cast(k as int)", "later: `CAST_INVALID_INPUT`"),
        _dies("to_timestamp(k)", "later: `CAST_INVALID_INPUT`"),
    ),
    _dies("n / (n - 1)", "later: `DIVIDE_BY_ZERO`"),
    _dies("array(n)[n]", "later: `INVALID_ARRAY_INDEX`"),
    _dies("validate_utf8(concat(cast(unhex('FF') as string), k))", "later: `INVALID_UTF8_STRING`"),
    together(
        _dies("parse_json(k)", MALFORMED),
        _dies("from_json(k, 'a int', map('mode', 'FAILFAST'))", MALFORMED),
    ),
    _dies("from_json(k, 'a int', map('mode', 'DROPMALFORMED'))", "later: `PARSE_MODE_UNSUPPORTED`"),
)
