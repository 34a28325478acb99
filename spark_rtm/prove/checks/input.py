"""Send hostile records, and find the kinds that end the query, that vanish, or that are rejected with their bytes."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.query import StreamingQuery

from spark_rtm.prove.checks.hostile import hostile_records
from spark_rtm.prove.subjects.subject import Subject, has_null_topic, holds
from spark_rtm.prove.verdicts.failure import Failure, failure_of
from spark_rtm.prove.verdicts.verdict import GOOD, WRONG, Verdict
from spark_rtm.realtime.queries import QueryFailedError
from spark_rtm.testing.records import Received, Sent

PAGE = "references/errors_in_rows.md"
NULL_TOPIC = "the row has a null topic"
MAX_NAMES = 6
MAX_MESSAGE = 120


@dataclass(frozen=True)
class Outcome:
    """What became of the hostile records, by kind."""

    ends: dict[str, Exception]
    vanished: list[str]
    rejected: list[str]
    accepted: list[str]


def hostile_input(subject: Subject, query: StreamingQuery) -> list[Verdict]:
    """Return a verdict for each reason that ends the query, one for records that vanish, and one for the others."""
    records = hostile_records(_best_sample(subject))
    results = dict(zip(records, subject.evaluate_all(list(records.values())), strict=True))
    good = {
        output.topic
        for result in subject.evaluate_all(subject.samples)
        if isinstance(result, list)
        for output in result
    }
    outcome = _outcome(records, results, good)
    survivors = [record for name, record in records.items() if name not in outcome.ends]
    verdicts = _ends(subject, outcome)
    try:
        subject.trial.send(survivors)
        subject.trial.wait_for_commit(query)
        written = len(subject.trial.received())
        is_stateless = not (query.lastProgress and query.lastProgress.stateOperators)
        expected = sum(len(r) for n, r in results.items() if isinstance(r, list) and n not in outcome.ends)
        if is_stateless and written != expected:
            raise AssertionError(f"internal error: {written} results in the stream, but {expected} in a batch query")
        if outcome.ends:
            name = next(iter(outcome.ends))
            subject.trial.send([records[name]])
            subject.trial.wait_for_commit(query)
            raise AssertionError(f"internal error: the stream accepted {name!r}, which failed in a batch query")
    except QueryFailedError as error:
        if not outcome.ends:
            return [_ended(subject, failure_of(error, subject.path, subject.line), list(records))]
    return [*verdicts, *_others(subject, outcome, len(records))]


def _outcome(
    records: Mapping[str, Sent], results: Mapping[str, list[Received] | Exception], good_topics: set[str]
) -> Outcome:
    outcome = Outcome({}, [], [], [])
    for name, result in results.items():
        if isinstance(result, Exception):
            outcome.ends[name] = result
        elif has_null_topic(result):
            outcome.ends[name] = StreamingQueryException(NULL_TOPIC)
        elif not result:
            outcome.vanished.append(name)
        elif any(holds(output, records[name]) and output.topic not in good_topics for output in result):
            outcome.rejected.append(name)
        else:
            outcome.accepted.append(name)
    return outcome


def _ends(subject: Subject, outcome: Outcome) -> list[Verdict]:
    kinds = defaultdict[tuple[str, str, int], list[str]](list)
    failures = dict[tuple[str, str, int], Failure]()
    for name, error in outcome.ends.items():
        failure = failure_of(error, subject.path, subject.line)
        place = (failure.condition, failure.path, failure.line)
        kinds[place].append(name)
        failures.setdefault(place, failure)
    return [_ended(subject, failures[place], names) for place, names in kinds.items()]


def _ended(subject: Subject, failure: Failure, names: Sequence[str]) -> Verdict:
    evidence = (
        f"{failure.condition}: {len(names)} kinds of record end the query, again after each restart: {_list(names)} "
        f"({failure.message[:MAX_MESSAGE]})"
    )
    return Verdict("input", WRONG, evidence, failure.fix, failure.page, failure.path, failure.line or subject.line)


def _others(subject: Subject, outcome: Outcome, count: int) -> list[Verdict]:
    verdicts = list[Verdict]()
    if outcome.vanished:
        evidence = f"{len(outcome.vanished)} kinds of record vanish without a trace: {_list(outcome.vanished)}"
        fix = "send them to a reject topic with their bytes and a reason"
        verdicts.append(Verdict("input", WRONG, evidence, fix, PAGE, str(subject.path), subject.line))
    if not outcome.ends:
        accepted = (
            f", {len(outcome.accepted)} written like good records: {_list(outcome.accepted)}"
            if outcome.accepted
            else ""
        )
        rejected = f"{len(outcome.rejected)} rejected with their bytes"
        evidence = f"none of {count} kinds of hostile record ends the query: {rejected}{accepted}"
        verdicts.append(Verdict("input", GOOD, evidence, page=PAGE))
    return verdicts


def _list(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + more


def _best_sample(subject: Subject) -> Sent:
    results = subject.evaluate_all(subject.samples)
    useful = [s for s, result in zip(subject.samples, results, strict=True) if isinstance(result, list) and result]
    return useful[0] if useful else subject.samples[0]
