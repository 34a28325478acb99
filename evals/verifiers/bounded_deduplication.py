"""Each alarm is passed on once, even if its repetition arrives in a later batch, and the state expires."""

import json

from evals.stage import Answer, require, require_same, trial, written_by
from spark_rtm.prove.subjects.bench import Bench
from spark_rtm.testing.records import Sent

START_MS = 1_700_000_000_000
DAY_MS = 86_400_000
INTERVAL_MS = 1_000


def alarm(name: str, day: int = 0) -> Sent:
    """Return an alarm whose time depends only on its name and its day."""
    value = {"id": name, "at": START_MS + day * DAY_MS + sum(name.encode())}
    return Sent(json.dumps(value).encode(), name.encode())


def verify(bench: Bench, answer: Answer) -> None:
    """Repeat alarms within a batch and in the next batch, then advance the event time by days."""
    first = [alarm(f"a{number}") for number in range(5)]
    with trial(bench, answer, "alarms") as run:
        query = run.start("query", INTERVAL_MS)
        written = written_by(run, query, [*first, *first])
        written += written_by(run, query, [*first, alarm("b")])
        sent = [*first, alarm("b")]
        for day in (10, 20, 30):
            sent += [alarm(f"c{day}", day)]
            written += written_by(run, query, [alarm(f"c{day}", day)])
        require_same([record.value for record in sent], [record.value for record in written], "alarms")
        progress = query.recentProgress
        removed = sum(operator.numRowsRemoved for event in progress for operator in event.stateOperators)
        rows = sum(operator.numRowsTotal for operator in progress[-1].stateOperators)
        require(removed, f"{rows} rows of state never expire: 30 days of event time removed no row")
