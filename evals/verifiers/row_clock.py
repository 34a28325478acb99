"""Each output contains a time between the append of its record and its own append."""

import json
from collections.abc import Iterable

from evals.stage import DEADLINE_SECONDS, Answer, WrongAnswerError, fields, require, trial
from spark_rtm.prove.subjects.bench import Bench
from spark_rtm.realtime.queries import wait_until
from spark_rtm.testing.records import Received, Sent

RECORDS = 6
RATE = 10
INTERVAL_MS = 10_000


def verify(bench: Bench, answer: Answer) -> None:
    """Send records one by one during a batch, and compare their times with the broker's times."""
    with trial(bench, answer, "readings") as run:
        query = run.start("query", INTERVAL_MS)
        sent_ms = run.send([Sent(json.dumps({"n": number}).encode()) for number in range(RECORDS)], rate=RATE)
        written = list[Received]()

        def has_written() -> bool:
            written.extend(run.received())
            return len(written) >= RECORDS

        wait_until(has_written, DEADLINE_SECONDS, "the results", [query])
    _check(sent_ms, sorted(written, key=lambda record: int(fields(record)["n"])))


def _check(sent_ms: Iterable[int], written: list[Received]) -> None:
    require(len(written) == RECORDS, f"{len(written)} outputs instead of {RECORDS}")
    found = [(sent, _processed_ms(record), record.appended_ms) for sent, record in zip(sent_ms, written, strict=True)]
    for sent, processed, appended in found:
        require(processed >= sent, f"a row was processed {sent - processed} ms before its record was appended")
        require(processed <= appended, f"a row was processed {processed - appended} ms after its output was appended")
    require(
        any(processed > sent for sent, processed, _ in found),
        "processed_ms is the append time of each record, not the time at which its row was processed",
    )


def _processed_ms(record: Received) -> int:
    found = fields(record).get("processed_ms")
    if not isinstance(found, int):
        raise WrongAnswerError(f"processed_ms is {found!r} instead of a whole number")
    return found
