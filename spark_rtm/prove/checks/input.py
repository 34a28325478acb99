"""Send hostile records, and find the kinds that make the query fail, are dropped, or are accepted as good."""

import base64
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.query import StreamingQuery

from spark_rtm.prove.checks.slow import fields_to_fill, slow_fields, verdict_on
from spark_rtm.prove.query import KEPT_BYTES, SIZE, Query, Result, evaluated, holds, results_of
from spark_rtm.prove.records.decoding import NONE, decoding
from spark_rtm.prove.records.hostile import MISSING, Hostile, hostile_records, too_large
from spark_rtm.prove.records.samples import DEFAULT
from spark_rtm.prove.verdicts import GOOD, UNCHECKED, WRONG, Failure, Verdict, failure_of
from spark_rtm.realtime.queries import QueryFailedError
from spark_rtm.testing.records import Received, Sent

PAGE = "references/errors_in_rows.md"
REJECTS_PAGE = "references/kafka_patterns.md#routing-and-the-reject-topic"
NULL_TOPIC = "the row has a null topic"
TOO_LARGE = (
    "a result of {:,} bytes is larger than the sink's {}={}\norg.apache.kafka.common.errors.RecordTooLargeException"
)
# Maximum number of bytes that the Kafka client adds to a record's key, value and headers.
RECORD_OVERHEAD = 90
MAX_LIMIT = 10_000_000
MAX_NAMES, MAX_EXAMPLES = 6, 3
MAX_MESSAGE, MAX_VALUE = 120, 50
# Shorter values can occur in unrelated outputs by chance.
MIN_HELD = 5


@dataclass(frozen=True)
class Outcome:
    """Hostile record kinds, grouped by outcome."""

    ends: dict[str, Exception]
    vanished: list[str]
    rejected: list[str]
    accepted: list[str]


def hostile_input(query: Query, running: StreamingQuery) -> Iterator[Verdict]:
    """Yield verdicts on slow fields, on each error that makes the query fail, and on all other records."""
    sample, found = best_sample(query), decoding(query.trial.rows)
    if ended := _sample_ends(query, sample):
        # Hostile records have the same fields, and would fail for the same reason as the samples.
        yield ended
        return
    fields = fields_to_fill(sample, found)
    slow, length = slow_fields(query, sample, fields)
    for one in slow:
        yield verdict_on(query, one, found)
    longest = min((one.length for one in slow), default=sys.maxsize)
    kinds = hostile_records(sample, found)
    kinds |= too_large(sample, query.max_sink_bytes) if _has_known_limit(query) else {}
    kinds = {name: hostile for name, hostile in kinds.items() if len(hostile.record.value or b"") < longest}
    records = {name: hostile.record for name, hostile in kinds.items()}
    results = _results_of(query, records)
    # The query may reject some generated samples, because they do not satisfy its conditions.
    good = results_of(query, [sample] if query.samples.is_made else query.samples.records)
    outcome = outcome_of(records, results, good, query.max_sink_bytes)
    yield from _ends(query, outcome)
    try:
        _send(query, running, records, results, outcome)
    except QueryFailedError as error:
        if not outcome.ends:
            yield _ended(query, failure_of(error, query.place.path, query.place.line), list(records))
            return
    except TimeoutError as error:
        evidence = f"the query did not finish processing {len(records)} hostile records: {error}"
        yield Verdict("input", UNCHECKED, evidence, "run prove again with --only input", PAGE)
        return
    is_known = found.format != NONE and [s.value for s in query.samples.records] != [s.value for s in DEFAULT]
    is_known &= not (query.samples.is_made and are_rejected(good))
    tried = f"strings of up to {length:,} characters tried in {len(fields)} places"
    unjudged = "" if is_known else _unjudged(found.format, query.place.stream)
    for verdict in judged(outcome, kinds, unjudged, f"; {tried}; {_limit(query)}"):
        yield verdict if verdict.status == GOOD else replace(verdict, path=str(query.place.path), line=query.place.line)


def _results_of(query: Query, records: Mapping[str, Sent]) -> dict[str, Result]:
    found = evaluated(query, list(records.values()))
    return {name: result for name, (_, result) in zip(records, found, strict=True)}


def _send(
    query: Query,
    running: StreamingQuery,
    records: Mapping[str, Sent],
    results: Mapping[str, Result],
    outcome: Outcome,
) -> None:
    query.trial.send([record for name, record in records.items() if name not in outcome.ends])
    query.trial.wait_for_commit(running)
    written = len(query.trial.received())
    is_stateless = not (running.lastProgress and running.lastProgress.stateOperators)
    expected = sum(len(r) for n, r in results.items() if isinstance(r, list) and n not in outcome.ends)
    if is_stateless and written != expected:
        raise AssertionError(f"internal error: {written} results in the stream, but {expected} in a batch query")
    if outcome.ends:
        name = next(iter(outcome.ends))
        query.trial.send([records[name]])
        query.trial.wait_for_commit(running)
        raise AssertionError(f"internal error: the stream accepted {name!r}, which failed in a batch query")


def are_rejected(results: Sequence[tuple[Sent, Received]]) -> bool:
    """Return whether each result has a topic and contains its record's bytes, like a reject record."""
    return bool(results) and all(output.topic and holds(output, record) for record, output in results)


def outcome_of(
    records: Mapping[str, Sent],
    results: Mapping[str, Result],
    good: Sequence[tuple[Sent, Received]],
    limit: int = sys.maxsize,
) -> Outcome:
    """Group record kinds by outcome. `good` pairs good records with results. `limit` is the sink's size limit."""
    outcome = Outcome({}, [], [], [])
    topics = {output.topic for _, output in good}
    # If a query also writes the bytes of good records, these bytes are no evidence of rejection.
    is_echo = any(_keeps(output, record) for record, output in good)
    for name, result in results.items():
        record = records[name]
        if isinstance(result, Exception):
            outcome.ends[name] = result
        elif any(output.topic is None for output in result):
            outcome.ends[name] = StreamingQueryException(NULL_TOPIC)
        elif (size := max(map(_size_of, result), default=0)) > limit:
            outcome.ends[name] = StreamingQueryException(TOO_LARGE.format(size, SIZE, limit))
        elif not result:
            outcome.vanished.append(name)
        elif any(
            (output.topic not in topics and (holds(output, record) or _keeps(output, record)))
            or (not is_echo and _keeps(output, record))
            for output in result
        ):
            outcome.rejected.append(name)
        else:
            outcome.accepted.append(name)
    return outcome


def judged(outcome: Outcome, kinds: Mapping[str, Hostile], unjudged: str = "", tried: str = "") -> list[Verdict]:
    """
    Return the verdicts on records that do not make the query fail.

    `unjudged` is the reason why no record was judged, and `tried` describes other attempts. A missing field is allowed
    if the query rejects records that lack a different field.
    """
    gone = {*outcome.vanished, *outcome.rejected, *outcome.ends}
    is_checked = any(kinds[name].breaks == MISSING for name in gone)
    # A query that rejects bad records probably also rejects short records, whose few bytes occur in any output.
    short = {n for n in kinds if len(kinds[n].record.value or b"") < MIN_HELD} if outcome.rejected else set()
    broken = [
        name
        for name in outcome.accepted
        if kinds[name].breaks and not (is_checked and kinds[name].breaks == MISSING) and name not in short
    ]
    dropped = [name for name in outcome.vanished if kinds[name].breaks]
    verdicts = list[Verdict]()
    if dropped:
        evidence = f"{len(dropped)} kinds of broken record are dropped silently: {listed(dropped)}"
        fix = "send these records to a reject topic with their raw bytes and the reason"
        verdicts.append(Verdict("input", WRONG, evidence, fix, PAGE))
    counts = (
        f"{len(kinds)} kinds of hostile record tried: {len(outcome.rejected)} rejected with their bytes, "
        f"{len(outcome.vanished)} dropped silently, {len(outcome.accepted)} accepted as good"
    )
    ends = f"{len(outcome.ends)} of them make the query fail" if outcome.ends else "none makes the query fail"
    if unjudged:
        verdicts.append(Verdict("input", GOOD, f"{counts}, {ends}; {unjudged}{tried}", page=PAGE))
    elif broken:
        examples = ", ".join(f"{name} ({_short(kinds[name].record)})" for name in _examples(broken, kinds))
        evidence = f"{counts}, of which {len(broken)} are broken: {examples}"
        fix = "send a record to a reject topic if it cannot be parsed, or if a field that the job needs is null"
        verdicts.append(Verdict("input", WRONG, evidence, fix, REJECTS_PAGE))
    elif not outcome.ends:
        accepted = f": {listed(outcome.accepted)}" if outcome.accepted else ""
        verdicts.append(Verdict("input", GOOD, f"{counts}, 0 broken{accepted}; {ends}{tried}", page=PAGE))
    return verdicts


def _unjudged(format_: str, stream: str) -> str:
    if format_ == NONE:
        return "the query does not decode its records, so it accepts all of them"
    return f"the fields of good records are unknown, so no record was judged: pass --samples {stream}=FILE.jsonl"


def _examples(broken: Sequence[str], kinds: Mapping[str, Hostile]) -> list[str]:
    """Return example values for a message: first one record kind per breakage, then the remaining kinds."""
    firsts = {kinds[name].breaks: name for name in reversed(broken)}
    chosen = [name for name in broken if name in firsts.values()]
    return [*chosen, *(name for name in broken if name not in chosen)][:MAX_EXAMPLES]


def _short(record: Sent) -> str:
    text = "null" if record.value is None else record.value[: MAX_VALUE + 1].decode(errors="replace")
    return text if len(text) <= MAX_VALUE else f"{text[:MAX_VALUE]}..."


def _keeps(output: Received, record: Sent) -> bool:
    """Return whether an output contains a record's bytes: unchanged, as text, in JSON or as Base64."""
    value, found = (record.value or b"")[:KEPT_BYTES], output.value or b""
    if len(value) < MIN_HELD:
        return False
    text = value.decode(errors="replace")
    forms = (value, text.encode(), json.dumps(text, ensure_ascii=False)[1:-1].encode())
    return any(form in found for form in (*forms, base64.b64encode(value[: len(value) // 3 * 3])))


def _ends(query: Query, outcome: Outcome) -> list[Verdict]:
    kinds = defaultdict[tuple[str, str, int], list[str]](list)
    failures = dict[tuple[str, str, int], Failure]()
    for name, error in outcome.ends.items():
        failure = failure_of(error, query.place.path, query.place.line)
        place = (failure.condition, failure.path, failure.line)
        kinds[place].append(name)
        failures.setdefault(place, failure)
    return [_ended(query, failures[place], names) for place, names in kinds.items()]


def _sample_ends(query: Query, sample: Sent) -> Verdict | None:
    ((_, result),) = evaluated(query, [sample])
    if not isinstance(result, Exception):
        return None
    kind = "a record of its schema" if query.samples.is_made else "a sample"
    return _ended(query, failure_of(result, query.place.path, query.place.line), [f"{kind}, {_short(sample)}"])


def _ended(query: Query, failure: Failure, names: Sequence[str]) -> Verdict:
    evidence = (
        f"{failure.condition}: these kinds of record make the query fail, also after each restart: "
        f"{listed(names)} ({failure.message[:MAX_MESSAGE]})"
    )
    return Verdict("input", WRONG, evidence, failure.fix, failure.page, failure.path, failure.line or query.place.line)


def _has_known_limit(query: Query) -> bool:
    return query.has_own_sink and query.max_sink_bytes <= MAX_LIMIT


def _limit(query: Query) -> str:
    own = "the sink of the job" if query.has_own_sink else "the sink of prove"
    more = "" if _has_known_limit(query) else ", and no larger record was tried"
    return f"{own} has {SIZE}={query.max_sink_bytes}{more}"


def _size_of(output: Received) -> int:
    headers = [part for name, value in output.headers for part in (name.encode(), value)]
    return RECORD_OVERHEAD + sum(len(part or b"") for part in (output.key, output.value, *headers))


def listed(names: Sequence[str]) -> str:
    """Return the first record kinds for a message, and the number of omitted kinds."""
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + more


def best_sample(query: Query) -> Sent:
    """Return the first sample with a result. Results with the sample's bytes come last, because they may be rejects."""
    found = evaluated(query, query.samples.records)
    useful = [(sample, result) for sample, result in found if isinstance(result, list) and result]
    plain = [sample for sample, result in useful if not any(_keeps(output, sample) for output in result)]
    return [*plain, *(sample for sample, _ in useful), *query.samples.records][0]
