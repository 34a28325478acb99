"""Evaluate records in a batch query, which has the same expressions as the stream and survives their errors."""

from dataclasses import replace

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from spark_rtm.prove.engine.bench import in_time
from spark_rtm.prove.query import Query
from spark_rtm.testing.records import Received, Sent

EVALUATION_SECONDS = 120.0
KEPT_BYTES = 1_000
"""Length of the beginning of a record's value that a reject topic keeps."""

Result = list[Received] | Exception
"""The rows of a record, or the error of its expressions."""


def evaluated(query: Query, records: list[Sent]) -> list[tuple[Sent, Result]]:
    """
    Return each record with its result.

    Records without a shuffle are evaluated together if each produces exactly one row or none does, and otherwise in
    halves.
    """
    return list(zip(records, _results(query, records), strict=True))


def results_of(query: Query, records: list[Sent]) -> list[tuple[Sent, Received]]:
    """Return each row together with its record. Failing records have no rows."""
    found = evaluated(query, records)
    return [(record, output) for record, result in found if isinstance(result, list) for output in result]


def with_results(query: Query) -> Query:
    """Return the query with other samples if the generated ones produce no result or are all rejected."""
    own = query.samples
    if not own.others:
        return query
    useful, accepted = _useful(query, own.records)
    if accepted:
        return replace(query, samples=replace(own, is_accepted=True))
    others, accepted = _useful(query, own.others)
    found = accepted or ([] if useful else others)
    if not found:
        return query
    samples = replace(own, records=found[: len(own.records)], others=own.records, is_accepted=bool(accepted))
    return replace(query, samples=samples)


def holds(output: Received, record: Sent) -> bool:
    """Return whether an output contains a record's bytes, or the beginning that a reject topic keeps."""
    value = (record.value or b"")[:KEPT_BYTES]
    return value in (output.value or b"") and (record.value is not None or output.value is None)


def _useful(query: Query, records: list[Sent]) -> tuple[list[Sent], list[Sent]]:
    """Return the records with a result, and among them those whose result does not contain their bytes."""
    useful = [(record, found) for record, found in evaluated(query, records) if found and isinstance(found, list)]
    accepted = [record for record, found in useful if not any(holds(output, record) for output in found)]
    return [record for record, _ in useful], accepted


def _results(query: Query, records: list[Sent]) -> list[Result]:
    if not records:
        return []
    try:
        rows = query.rows_of(records)
        found = [_output(row.asDict()) for row in in_time(rows, rows.collect, EVALUATION_SECONDS)]
    except (PySparkException, Py4JJavaError) as error:
        if len(records) == 1:
            return [error]
    else:
        query.topics.update(output.topic for output in found if output.topic)
        if len(records) == 1:
            return [found]
        if not found:
            return [[] for _ in records]
        # Without a shuffle, the rows keep the order of the records.
        if len(found) == len(records) and not query.is_stateful:
            return [[output] for output in found]
    half = len(records) // 2
    return [*_results(query, records[:half]), *_results(query, records[half:])]


def _output(row: dict[str, object]) -> Received:
    headers = row.get("headers") or ()
    kept = tuple((str(h["key"]), _binary(h["value"])) for h in headers)  # type: ignore[attr-defined]
    topic = row.get("topic") if "topic" in row else ""
    return Received(topic, _binary(row.get("key")), _binary(row["value"]), kept, 0)  # type: ignore[arg-type]


def _binary(value: object) -> bytes | None:
    if value is None:
        return None
    return value.encode() if isinstance(value, str) else bytes(value)  # type: ignore[call-overload]
