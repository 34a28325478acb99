"""
Compare what the stream answered with a replay of the rules over the same source records, and count every record.

What arrives are the books of a run whose topics are read to their ends, and the rows of the table; what leaves are
differences.
Real-time mode delivers at least once and may answer in any order: the newest version of each result id must be equal.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from examples.attribution.audit.credit import CreditCheck, check_credits
from examples.attribution.audit.pacing import Standing, count_differences, standings
from examples.attribution.audit.replay import replay
from examples.attribution.audit.run_log import Books
from examples.attribution.correlation.rule import Result
from examples.attribution.credit.models import CreditRules
from examples.attribution.events import STEPS
from examples.attribution.pacing.rule import Goal
from examples.attribution.settings import Settings
from examples.realtime.decoding import MAX_RAW_BYTES

FAMILY_OF_KIND = {"request": "requests", "impression": "impressions", "click": "clicks"}
FAMILY_OF_KIND |= dict.fromkeys(STEPS, "playback steps")


@dataclass(frozen=True)
class Reconciliation:
    """The outcome: counts per family (what came in, what became of it), and differences, none in a good run."""

    counts: dict[str, Counter[str]]
    """Per family: `in` and each result code; the codes add up to `in`."""
    differences: list[str]
    results: int
    """Results compared with the replay."""
    credits: CreditCheck
    campaigns: list[Standing]
    """Where each campaign stands against its goal, by the replay."""

    @property
    def over_delivered(self) -> int:
        """Return the impressions beyond all goals."""
        return sum(standing.over_delivered for standing in self.campaigns)


def reconcile(
    books: Books, settings: Settings, rules: CreditRules, goals: Iterable[Goal], stored: dict[str, dict[str, Any]]
) -> Reconciliation:
    """
    Check that nothing is lost, nothing is counted twice, and every answer is the one that the rules give.

    `rules` are not scaled yet; `stored` are the rows of the table by result id, without nulls.
    """
    expected = replay(books, settings.windows)
    credit_check = check_credits(books, settings.windows, rules.scaled(settings.time_scale))
    counts = _counts(books, expected) | {"conversions": credit_check.conversions}
    differences = [
        *_decoding_differences(books),
        *_result_differences("result", books.results, expected),
        *_result_differences("row", stored, expected),
        *credit_check.differences,
        *count_differences(books.counts, expected.values(), settings),
        *_sum_differences(counts),
        *(f"result {result_id} came twice with one version and two contents" for result_id in books.contradictions),
    ]
    campaigns = standings(expected.values(), goals, settings)
    return Reconciliation(counts, differences, len(expected), credit_check, campaigns)


def _decoding_differences(books: Books) -> Iterator[str]:
    for src, record in books.sources.items():
        routes = (src in books.events) + (src in books.rejects)
        if routes != 1:
            yield f"record {src} is {'lost' if routes == 0 else 'in events and in ad-rejected'}"
        if src in books.rejects:
            reason, raw = books.rejects[src]
            if raw != (record.value if record.value is None else record.value[:MAX_RAW_BYTES]):
                yield f"record {src} was rejected as {reason}, but its raw bytes changed"
            if record.label not in ("", "malformed") and not reason.startswith("expired"):
                yield f"record {src} is {record.label}, but was rejected as {reason}"
        elif record.label == "malformed":
            yield f"record {src} is malformed, but was accepted"
    yield from (
        f"record {src} was never sent" for src in (books.events.keys() | books.rejects.keys()) - books.sources.keys()
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


def _counts(books: Books, expected: dict[str, Result]) -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = {
        "source records": Counter({"in": len(books.sources), "events": len(books.events)})
    }
    counts["source records"]["rejected"] = len(books.rejects)
    for family in ("requests", "slots", "impressions", "clicks", "playback steps"):
        counts[family] = Counter()
    counts["slots"]["in"] = sum(result.kind == "slot" for result in expected.values())
    for event in books.events.values():
        if event.kind != "conversion":
            counts[FAMILY_OF_KIND[event.kind]]["in"] += 1
    for result in books.results.values():
        counts[FAMILY_OF_KIND.get(result["kind"], "slots")][result["code"]] += 1
    return counts


def _sum_differences(counts: dict[str, Counter[str]]) -> Iterator[str]:
    for family, codes in counts.items():
        accounted = codes.total() - codes["in"]
        if accounted != codes["in"]:
            yield f"{family}: {codes['in']} came in, but {accounted} are accounted for"
