import json
from functools import partial

import pytest
from pyspark.sql import SparkSession

from examples.alerts.job import Job, Options
from examples.alerts.payments_to_scored import features, payments_to_scored
from tests.alerts.helpers import outputs_of

pytestmark = [pytest.mark.spark, pytest.mark.services]

SMALL = {"payment_id": "p1", "card": "c1", "country": "NL", "amount_cents": 10_00}
LARGE = {"payment_id": "p2", "card": "c2", "country": "XX", "amount_cents": 9_000_00}


def test_model_scores_payments_in_real_time_mode(spark: SparkSession, options: Options) -> None:
    """Each payment has the score of the model in plain Python, and its topic; an unreadable payment is rejected."""
    # The import takes over a second in each worker, so it is not at the top.
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415

    model = LogisticRegression(C=1e6).fit([features(SMALL), features(LARGE)], [0, 1])

    topics = ("payments-suspicious", "payments-cleared", "payments-rejected")
    job = Job(
        "payments_to_scored",
        "Score payments.",
        reads=("payments",),
        writes=topics,
        transform=partial(payments_to_scored, model=model),
    )
    values = [*(json.dumps(payment).encode() for payment in (SMALL, LARGE)), b"{bad"]

    found = {output.topic: output for output in outputs_of(job, spark, options, values, 3)}

    assert {*topics} == {*found}
    for topic, payment in (("payments-cleared", SMALL), ("payments-suspicious", LARGE)):
        score = float(model.predict_proba([features(payment)])[0][1])
        assert {**payment, "score": score} == found[topic].fields()
