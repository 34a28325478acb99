"""Send records through the job in real-time mode, with Spark and a Kafka broker on this machine."""

from collections.abc import Callable

from job import LARGE_CENTS, REJECTS, TARGET, marked
from spark_rtm.testing.run import RealTimeRun


def test_large_order_is_marked(run_real_time: Callable[..., RealTimeRun]) -> None:
    order = {"order_id": "A-1", "amount_cents": LARGE_CENTS}

    run = run_real_time(marked, [order])

    assert run.error is None
    assert [(record.topic, record.fields()) for record in run.records] == [(TARGET, {**order, "is_large": True})]


def test_bad_record_is_rejected_with_its_bytes_and_the_reason(run_real_time: Callable[..., RealTimeRun]) -> None:
    run = run_real_time(marked, ["{broken"])

    assert run.error is None
    (rejected,) = run.records
    assert (rejected.topic, rejected.value) == (REJECTS, b"{broken")
    assert ("reason", b"not_json") in rejected.headers
