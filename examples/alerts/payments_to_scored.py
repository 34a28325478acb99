"""
Score card payments with a scikit-learn model within milliseconds, to complement the rules of `payments_to_flagged`.

OSS 4.3.0 does not support Python UDFs in real-time mode, so the query uses `with_python`, which runs the model on one
row at a time.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from math import log1p
from typing import Any, Protocol

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from examples.alerts.decoding import decode, route
from examples.alerts.payments_to_flagged import PAYMENTS
from spark_rtm.realtime.python_state import with_python

MAX_SCORE = 0.9
HOME = "NL"


class Model(Protocol):
    """A scikit-learn classifier."""

    def predict_proba(self, rows: Sequence[Sequence[float]]) -> Any:
        """Return the probabilities of both classes for each row."""


def payments_to_scored(payments: DataFrame, model: Model) -> DataFrame:
    """
    Convert Kafka source rows of payments to Kafka sink rows, one for each payment.

    The field `score` is the probability, from 0 to 1, that the payment is fraudulent. The model is loaded on the
    driver, and each Python process gets a copy.
    """
    decoded = decode(payments, PAYMENTS).select("key", "value", "src", "reason", "record")
    schema = StructType([*decoded.schema]).add("score", "double")
    scored = with_python(decoded, partial(with_score, model), schema)
    fields = (F.col(f"record.{name}") for name in PAYMENTS.names)
    return route(
        scored,
        "payments-rejected",
        key=F.col("record.card"),
        value=F.to_json(F.struct(*fields, "score")),
        topic=F.when(F.col("score") > MAX_SCORE, "payments-suspicious").otherwise("payments-cleared"),
    )


def with_score(model: Model, row: Row) -> dict[str, Any]:
    """Return the columns of the row and its score as a dictionary. The score is None if the row will be rejected."""
    score = None if row.reason else float(model.predict_proba([features(row.record)])[0][1])
    return {**row.asDict(), "score": score}


def features(payment: Mapping[str, Any]) -> list[float]:
    """Return the features of a payment. Train the model with the same features."""
    return [log1p(payment["amount_cents"]), float(payment["country"] != HOME)]
