"""
Compare what the stream answered with a replay of the rule over the same source records, and count every record.

What arrives are a ledger whose topics are read to their ends, and the rows of the table; what leaves are differences.
Real-time mode delivers at least once and may answer in any order: the newest version of each result id must be equal.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from examples.attribution.correlation_rule import STEPS, Event, Result, correlate
from examples.attribution.ledger import Ledger, SourceRecord
from examples.decoding import MOST_RAW_BYTES
from examples.settings import Windows

FAMILY_OF_KIND = {"request": "requests", "impression": "impressions", "click": "clicks", "conversion": "conversions"}
FAMILY_OF_KIND |= dict.fromkeys(STEPS, "playback steps")


@dataclass(frozen=True)
class Reconciliation:
    """The outcome: counts per family (what came in, what became of it), and differences, none in a good run."""

    counts: dict[str, Counter[str]]
    """Per family: `in` and each result code; the codes add up to `in`."""
    differences: list[str]
    results: int
    """Results compared with the replay."""


def reconcile(ledger: Ledger, windows: Windows, stored: dict[str, dict[str, Any]]) -> Reconciliation:
    """
    Check that nothing is lost, nothing is counted twice, and every result is the one that the rule gives.

    `stored` are the rows of the table by result id, without nulls.
    """
    expected = replay(ledger, windows)
    counts = _counts(ledger, expected)
    differences = [
        *_decoding_differences(ledger),
        *_result_differences("result", ledger.results, expected),
        *_result_differences("row", stored, expected),
        *_sum_differences(counts),
        *(f"result {result_id} came twice with one version and two contents" for result_id in ledger.contradictions),
    ]
    return Reconciliation(counts, differences, len(expected))


def replay(ledger: Ledger, windows: Windows) -> dict[str, Result]:
    """Apply the rule to all accepted source records at once, and return its results by id, with version 0."""
    transactions: defaultdict[tuple[str, int], list[Event]] = defaultdict(list)
    for src, record in ledger.sources.items():
        fields = _accepted(ledger, src, record)
        if fields and fields["kind"] != "conversion":
            event = _event(src, record, fields, windows)
            transactions[event.transaction_id, event.request_ts].append(event)
    results = (result for events in transactions.values() for result in correlate(events, windows))
    return {result.result_id: replace(result, version=0) for result in results}


def _accepted(ledger: Ledger, src: str, record: SourceRecord) -> dict[str, Any] | None:
    if src in ledger.rejects or record.value is None:
        return None
    try:
        fields = json.loads(record.value)
    except ValueError:
        return None  # neither rejected nor readable: reported as lost
    return fields if isinstance(fields, dict) else None


def _event(src: str, record: SourceRecord, fields: dict[str, Any], windows: Windows) -> Event:
    clock_skew = abs(fields["event_ts"] - fields["server_ts"]) > windows.clock_skew_limit_ms
    return Event(
        effective_ts=fields["server_ts"] if clock_skew else fields["event_ts"],
        event_id=fields["event_id"],
        src=src,
        kind=fields["kind"],
        transaction_id=fields["transaction_id"],
        request_ts=fields["request_ts"],
        campaign_id=fields["campaign_id"],
        server_ts=fields["server_ts"],
        appended_at=record.appended_at,
        clock_skew=clock_skew,
        user_key=fields.get("user_key"),
        slots=tuple(fields.get("slots") or ()),
        slot_id=fields.get("slot_id"),
        impression_id=fields.get("impression_id"),
        creative_length_ms=fields.get("creative_length_ms"),
    )


def _decoding_differences(ledger: Ledger) -> Iterator[str]:
    for src, record in ledger.sources.items():
        routes = (src in ledger.events) + (src in ledger.rejects)
        if routes != 1:
            yield f"record {src} is {'lost' if routes == 0 else 'in events and in ad-rejected'}"
        if src in ledger.rejects:
            reason, raw = ledger.rejects[src]
            if raw != (record.value if record.value is None else record.value[:MOST_RAW_BYTES]):
                yield f"record {src} was rejected as {reason}, but its raw bytes changed"
            if record.label not in ("", "malformed") and not reason.startswith("expired"):
                yield f"record {src} is {record.label}, but was rejected as {reason}"
        elif record.label == "malformed":
            yield f"record {src} is malformed, but was accepted"
    yield from (
        f"record {src} was never sent" for src in (ledger.events.keys() | ledger.rejects.keys()) - ledger.sources.keys()
    )


def _result_differences(what: str, results: dict[str, dict[str, Any]], expected: dict[str, Result]) -> Iterator[str]:
    for result_id, result in expected.items():
        wanted = {k: v for k, v in asdict(result).items() if v is not None and k != "version"}
        found = results.get(result_id)
        if found is None:
            yield f"{what} {result_id} is missing; the rule says {result.code}"
        elif wanted != {k: v for k, v in found.items() if k != "version"}:
            wrong = ", ".join(
                f"{k} is {found.get(k)!r} instead of {wanted.get(k)!r}"
                for k in sorted(wanted.keys() | found.keys() - {"version"})
                if found.get(k) != wanted.get(k)
            )
            yield f"{what} {result_id} differs: {wrong}"
    yield from (f"{what} {result_id} has no cause" for result_id in results.keys() - expected.keys())


def _counts(ledger: Ledger, expected: dict[str, Result]) -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = {
        "source records": Counter({"in": len(ledger.sources), "events": len(ledger.events)})
    }
    counts["source records"]["rejected"] = len(ledger.rejects)
    for family in ("requests", "slots", "impressions", "clicks", "playback steps", "conversions"):
        counts[family] = Counter()
    counts["slots"]["in"] = sum(result.kind == "slot" for result in expected.values())
    for event in ledger.events.values():
        counts[FAMILY_OF_KIND[event.kind]]["in"] += 1
    # Conversions earn credit in another hop; until then each of them is openly pending.
    counts["conversions"]["pending"] = counts["conversions"]["in"]
    for result in ledger.results.values():
        counts[FAMILY_OF_KIND.get(result["kind"], "slots")][result["code"]] += 1
    return counts


def _sum_differences(counts: dict[str, Counter[str]]) -> Iterator[str]:
    for family, codes in counts.items():
        accounted = codes.total() - codes["in"]
        if accounted != codes["in"]:
            yield f"{family}: {codes['in']} came in, but {accounted} are accounted for"
