from collections.abc import Callable
from functools import partial

import pytest

from examples.alerts.payments_to_scored import features, payments_to_scored
from spark_rtm.testing.run import RealTimeRun

pytestmark = [pytest.mark.spark, pytest.mark.services]

SMALL = {"payment_id": "p1", "card": "c1", "country": "NL", "amount_cents": 10_00}
LARGE = {"payment_id": "p2", "card": "c2", "country": "XX", "amount_cents": 9_000_00}


def test_model_scores_payments_in_real_time_mode(run_real_time: Callable[..., RealTimeRun]) -> None:
    # The import takes over a second in each worker, so it is not at the top.
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415

    model = LogisticRegression(C=1e6).fit([features(SMALL), features(LARGE)], [0, 1])

    run = run_real_time(partial(payments_to_scored, model=model), [SMALL, LARGE, b"{bad"])

    assert run.error is None
    found = {record.topic: record for record in run.records}
    assert {"payments-suspicious", "payments-cleared", "payments-rejected"} == {*found}
    for topic, payment in (("payments-cleared", SMALL), ("payments-suspicious", LARGE)):
        score = float(model.predict_proba([features(payment)])[0][1])
        assert {**payment, "score": score} == found[topic].fields()
