"""
Cases for the table of functions.

An expression that fails for one row makes the query fail, and each restart reads that row again.
"""

import hashlib
from dataclasses import replace

from tests.helpers import eventually, new_topic
from tests.pages.operator_probe import DEADLINE_SECONDS, LAST, Observe, OperatorProbe, once, together, writes

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
"""The expressions of each row, with their values for the last record."""
ERRORS = (
    ("cast(k as int)", "to_timestamp(k)"),
    ("n / (n - 1)",),
    ("array(n)[n]",),
    ("validate_utf8(concat(cast(unhex('FF') as string), k))",),
    ("parse_json(k)", "from_json(k, 'a int', map('mode', 'FAILFAST'))"),
    ("from_json(k, 'a int', map('mode', 'DROPMALFORMED'))",),
)
CLOCKS = ("current_timestamp()", "reflect('java.lang.System', 'nanoTime')")


def _name(*expressions: str) -> str:
    return "; ".join(f"`{expression}`" for expression in expressions)


def _select(*expressions: str, where: str = "true", expected: tuple[str, ...] = ()) -> Observe:
    return writes(lambda probe: probe.rows().where(where).selectExpr(*expressions), *expected)


def _clock(expression: str) -> Observe:
    def observe(probe: OperatorProbe) -> str:
        empty = replace(probe, topic=new_topic(probe.kafka, 1))
        query = empty.write(empty.rows().selectExpr(expression)).start()
        for sent in range(1, 4):
            empty.send(LAST, sent)
            eventually(lambda: len(empty.texts()) == sent, DEADLINE_SECONDS, "one output row for each row sent")  # noqa: B023
        query.stop()
        distinct = len(set(empty.texts()))
        return {1: "runs, one value per batch", 3: "runs, a new value for each row"}.get(distinct, f"{empty.texts()}")

    return observe


_ALL_VALUES = {expression: value for values in VALUES for expression, value in values.items()}
_EVALUATE = once(_select("k", *_ALL_VALUES, where="k = 'z'", expected=(" ".join([LAST, *_ALL_VALUES.values()]),)))
FUNCTIONS = {
    **{_name(*values): _EVALUATE for values in VALUES},
    **{_name(clock): _clock(clock) for clock in CLOCKS},
    **{_name(*expressions): together(*map(_select, expressions)) for expressions in ERRORS},
}
