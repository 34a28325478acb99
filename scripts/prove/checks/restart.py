"""Stop a query inside a batch and start it again, and count what is lost and repeated."""

from collections import Counter

from pyspark.sql.streaming.query import StreamingQuery

from examples.realtime.queries import wait_until
from examples.testing.records import Received
from scripts.prove.subjects.subject import Subject
from scripts.prove.verdicts.verdict import GOOD, UNCHECKED, WRONG, Verdict

PAGE = "references/production.md#restarts"
ATTEMPTS = 3


def restart(
    subject: Subject, query: StreamingQuery, checkpoint: str, interval_ms: int
) -> tuple[Verdict, StreamingQuery]:
    """Stop the query after it has written results that are not committed, start it again, and compare the results."""
    trial = subject.trial
    for _ in range(ATTEMPTS):
        before = _written_in_batch(subject, query)
        committed = query.lastProgress.batchId if query.lastProgress else -1
        trial.stop(query)
        is_inside = (query.lastProgress.batchId if query.lastProgress else -1) == committed
        query = trial.start(checkpoint, interval_ms)
        trial.wait_for_commit(query)
        again = trial.received()
        if before and again and is_inside:
            return _verdict(subject, before, again), query
    return Verdict(
        "restart", UNCHECKED, "the samples gave no result inside a batch", "pass other --samples", PAGE
    ), query


def _written_in_batch(subject: Subject, query: StreamingQuery) -> list[Received]:
    """Send each sample twice at the start of a batch, and return the results that arrive before the batch ends."""
    written = list[Received]()
    last = query.lastProgress.batchId if query.lastProgress else -1
    subject.trial.send(subject.samples * 2)

    def has_written() -> bool:
        written.extend(subject.trial.received())
        is_over = query.lastProgress is not None and query.lastProgress.batchId > last + 1
        return len(written) >= len(subject.samples) or is_over

    wait_until(has_written, 60, "results inside a batch", [query])
    return written


def _verdict(subject: Subject, before: list[Received], again: list[Received]) -> Verdict:
    first, second = Counter(before), Counter(again)
    repeated = sum((first & second).values())
    lost = max(0, len(before) - len(again))
    counts = f"stopped inside a batch and started again: {lost} lost, {len(again)} written again"
    if lost:
        return _wrong(subject, f"{counts}", "make the function deterministic")
    if repeated < len(before):
        evidence = f"{counts}, {len(before) - repeated} of them with other bytes, so a reader cannot recognize repeats"
        fix = "derive every output only from the source record: no clock, no random value, no unique id of the engine"
        return _wrong(subject, evidence, fix)
    unique = len(first) == len(before)
    how = "comparing whole records" if unique else "an id in the value; equal source records give equal results"
    return Verdict("restart", GOOD, f"{counts}, byte by byte the same; a reader can drop them by {how}", page=PAGE)


def _wrong(subject: Subject, evidence: str, fix: str) -> Verdict:
    return Verdict("restart", WRONG, evidence, fix, PAGE, str(subject.path), subject.line)
