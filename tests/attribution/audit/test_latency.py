from examples.attribution.audit.latency import Latency, hop_latencies, medians_of_run, timer_latencies
from examples.attribution.audit.run_log import RunLog, SourceRecord
from examples.attribution.credit.models import CreditRules


def log_of(*rows: tuple[int, int, int, int]) -> RunLog:
    log = RunLog()
    for n, (t0, appended_at, in_events_at, answered_at) in enumerate(rows):
        log.record_source(f"s:0:{n}", SourceRecord(b"", "normal", t0, appended_at))
        log.record_event({"src": f"s:0:{n}", "kind": "request"}, in_events_at)
        result = {"src": f"s:0:{n}", "result_id": str(n), "kind": "request", "code": "accepted", "version": 2}
        log.record_result(result, answered_at)
        log.record_result({**result, "version": 4}, answered_at + 1_000)
    return log


def test_hop_latency_is_between_broker_append_times() -> None:
    """A hop ends when the first result that includes the record is appended; later versions change nothing."""
    latencies = hop_latencies(log_of((100, 103, 110, 130)))

    expected = {"kafka_to_events": 7, "events_to_attributed": 20, "end to end": 27, "from intended send": 30}
    assert [(hop, 1, ms, ms) for hop, ms in expected.items()] == [(x.hop, x.records, x.p50, x.max) for x in latencies]


def test_records_are_selected_by_intended_send_time() -> None:
    """A record that was due before the measured part does not count, even if its result arrived in this part."""
    latencies = hop_latencies(log_of((99, 200, 201, 900), (100, 101, 102, 103)), sent_from=100)

    assert [2] == [latency.max for latency in latencies if latency.hop == "end to end"]


def test_timer_latency_is_from_the_deadline_to_the_first_result() -> None:
    """Slots that are filled before their deadline and orders with several records do not count."""
    log, slot = log_of(), {"src": "s:0:0", "kind": "slot", "code": "pending", "version": 2}
    for result_id, deadline in (("unfilled", 100), ("filled", 100), ("early", 99)):
        log.record_result({**slot, "result_id": result_id, "deadline": deadline}, 50)
        code = "filled" if result_id == "filled" else "unfilled"
        for version, appended_at in ((3, 107), (5, 400)):
            log.record_result({**slot, "result_id": result_id, "code": code, "version": version}, appended_at)
    log.record_event({"src": "s:0:1", "kind": "conversion", "advertiser_id": "a", "order_id": "o"}, 200)
    for result_id, records in (("single", 1), ("repeated", 2)):
        credit = {"result_id": result_id, "src": "s:0:1", "records": records, "final": False, "version": 2}
        log.record_credit(credit, 210)
        log.record_credit({**credit, "final": True, "version": 3}, 200 + 30 + 10 + 9)

    timeouts, credits_ = timer_latencies(log, CreditRules(lateness_ms=30, settle_ms=10), since=100)

    assert Latency("deadline to timeout", 1, 7, 7, 7, 7) == timeouts
    assert Latency("deadline to credit", 1, 9, 9, 9, 9) == credits_


def test_median_of_a_second_is_that_of_the_records_due_in_it() -> None:
    """Each record counts in the second in which it was due; seconds are counted from the first record."""
    log = log_of((2_000, 2_000, 2_000, 2_004), (2_001, 2_000, 2_000, 2_040))

    assert {1: 4} == medians_of_run(log, 1.0, 2)
    assert {1: 0} == medians_of_run(log, 1.0, 2, decoded=True)
