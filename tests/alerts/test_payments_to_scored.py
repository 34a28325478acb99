import json

import pytest
from pyspark.sql import DataFrame, SparkSession

from examples.alerts.job import Job, Options, read_stream, start
from examples.alerts.payments_to_scored import features, payments_to_scored
from spark_rtm.realtime.proof import assert_real_time
from tests.alerts.helpers import create, received, send

pytestmark = [pytest.mark.spark, pytest.mark.services]

SMALL = {"payment_id": "p1", "card": "c1", "country": "NL", "amount_cents": 10_00}
LARGE = {"payment_id": "p2", "card": "c2", "country": "XX", "amount_cents": 9_000_00}


def test_model_scores_payments_in_real_time_mode(spark: SparkSession, shared_options: Options) -> None:
    """Each payment has the score of the model in plain Python, and its topic; an unreadable payment is rejected."""
    # The import takes over a second in each worker, so it is not at the top.
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415

    model = LogisticRegression(C=1e6).fit([features(SMALL), features(LARGE)], [0, 1])

    def build(session: SparkSession, options: Options) -> DataFrame:
        return payments_to_scored(read_stream(session, options, "payments"), model)

    topics = ("payments-suspicious", "payments-cleared", "payments-rejected")
    job = Job("payments_to_scored", "Score payments.", reads=("payments",), writes=topics, build=build)
    create(job, shared_options)
    send(shared_options, "payments", [(b"k", json.dumps(one).encode()) for one in (SMALL, LARGE)] + [(b"k", b"{bad")])

    query = start(job, spark, shared_options)
    found = {output.topic: output for output in received(shared_options, job, 3)}

    assert_real_time(query)
    assert {*topics} == {*found}
    for topic, payment in (("payments-cleared", SMALL), ("payments-suspicious", LARGE)):
        score = float(model.predict_proba([features(payment)])[0][1])
        assert {**payment, "score": score} == found[topic].fields()
