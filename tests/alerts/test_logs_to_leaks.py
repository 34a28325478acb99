from typing import Any

import pytest
from pyspark.sql import SparkSession

from examples.alerts.job import Options
from examples.alerts.logs_to_leaks import JOB, LEAKS, MAX_LEAKS
from tests.alerts.helpers import BROKEN, encoded, outputs_of, rejected

pytestmark = [pytest.mark.spark, pytest.mark.services]

GOOD: dict[str, Any] = {"service": "checkout", "level": "INFO", "message": "done"}
CARD, IBAN = "4111 1111 1111 1111", "NL91ABNA0417164300"
LINES = {
    "mail to ann.b+c@mail.example.org sent": ("mail to [email] sent", "email", 1),
    f"card {CARD} declined": ("card [card] declined", "card", 1),
    "card 4111111111111111": ("card [card]", "card", 1),
    "card 3782-822463-10005.": ("card [card].", "card", 1),
    f"order 1234 {CARD}": ("order 1234 [card]", "card", 1),
    "card 4111 1111 1111 1112": ("card 4111 1111 1111 1112", "", 0),
    "at 1700000000000 took 4111111111111111000000 ns": ("at 1700000000000 took 4111111111111111000000 ns", "", 0),
    f"to {IBAN}, from GB82WEST12345698765432": ("to [iban], from [iban]", "iban", 2),
    "to NL91ABNA0417164301": ("to NL91ABNA0417164301", "", 0),
    f"{IBAN} a@b.nl {CARD} a@b.nl": ("[iban] [email] [card] [email]", "card,email,iban", 3),
    "from a@b.nl to xa@b.nl": ("from [email] to [email]", "email", 2),
    "@home 12:00 a@b": ("@home 12:00 a@b", "", 0),
    "": ("", "", 0),
    " ".join(f"u{n}@b.nl" for n in range(MAX_LEAKS + 1)): ("[withheld]", "email", MAX_LEAKS + 1),
    # A pattern that tries every length at every position would need minutes for one of these lines.
    **{line: (line, "", 0) for line in ("a" * 99_000, "1" * 99_000, "4111 " * 19_800)},
}
"""For each message: the masked message, the kinds of data, and the number of distinct matches."""


def test_personal_data_is_masked_and_absent_from_alerts(spark: SparkSession, options: Options) -> None:
    """Each line is written once; a line with a leak also produces one alert with the same source position."""
    cases = [(encoded(GOOD, message=line, user="ann@b.nl"), *expected) for line, expected in LINES.items()]
    bad = {
        **BROKEN,
        "wrong_type": encoded(GOOD, message={"a": 1}),
        "missing:service": encoded(GOOD, service=...),
        "missing:message": encoded(GOOD, message=None),
        "bad_service": encoded(GOOD, service="card-4111"),
        "bad_level": encoded(GOOD, level="ann"),
    }
    alerts = [expected for _, *expected in cases if expected[2]]
    values = [*(value for value, *_ in cases), *bad.values()]

    found = outputs_of(JOB, spark, options, values, len(values) + len(alerts))

    masked = [{**GOOD, "message": message} for _, message, *_ in cases]
    assert masked == [o.fields() for o in found if o.topic == "logs-masked"]
    expected = [dict(zip(LEAKS.names, ("checkout", *alert[1:]), strict=True)) for alert in alerts]
    assert expected == [o.fields() for o in found if o.topic == "leaks"]
    assert [*bad.items()] == rejected(found)
    good = [str([o.key, o.value, o.headers]) for o in found if o.topic != "logs-rejected"]
    assert [] == [text for text in good for leak in ("ann", "@", CARD, IBAN) if leak in text and "@home" not in text]
