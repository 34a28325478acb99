"""Latencies: which clock points, which records, and exact order statistics."""

from examples.attribution.audit.latency import Latency, boundary_gaps_ms, latencies, samples
from examples.attribution.audit.run_log import Books, SourceRecord


def books_of(*rows: tuple[int, int, int, int]) -> Books:
    """Return the books of records with (intended send, append, append in events, append of the first result)."""
    books = Books()
    for n, (t0, appended_at, in_events_at, answered_at) in enumerate(rows):
        books.add_source(f"s:0:{n}", SourceRecord(b"", "normal", t0, appended_at))
        books.add_event({"src": f"s:0:{n}", "kind": "request"}, 0, in_events_at)
        result = {"src": f"s:0:{n}", "result_id": str(n), "kind": "request", "code": "accepted", "version": 2}
        books.add_result(result, answered_at)
        books.add_result({**result, "version": 4}, answered_at + 1_000)
    return books


def test_each_hop_is_measured_between_append_times_of_the_broker() -> None:
    """A hop ends with the first result that knows the record; later versions change nothing."""
    found = samples(books_of((100, 103, 110, 130)))

    assert {
        "kafka_to_events": [7],
        "events_to_attributed": [20],
        "end to end": [27],
        "from intended send": [30],
    } == found


def test_records_are_chosen_by_their_intended_send_time() -> None:
    """A record that was due before the measured part is left out, however late its result came."""
    found = samples(books_of((99, 200, 201, 900), (100, 101, 102, 103)), sent_from=100)

    assert [2] == found["end to end"]


def test_percentiles_are_exact_order_statistics() -> None:
    """Every printed value is one that occurred; none is interpolated or averaged."""
    rows = [(0, 0, n, n) for n in range(1, 1_001)]

    found = {row.hop: row for row in latencies(books_of(*rows))}

    assert Latency("end to end", 1_000, 500, 900, 990, 1_000) == found["end to end"]
    assert Latency("events_to_attributed", 1_000, 0, 0, 0, 0) == found["events_to_attributed"]


def test_a_run_without_results_has_no_rows() -> None:
    """No number is made up for what was not measured."""
    assert [] == latencies(Books())


def test_the_boundary_gap_is_what_a_batch_takes_beyond_its_interval() -> None:
    """A 15-second batch that took 15.4 seconds made rows wait for 0.4."""
    assert [400, 0] == boundary_gaps_ms([15_400, 15_000], 15)
