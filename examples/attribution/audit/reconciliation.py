"""
Reconcile a run: replay its source records, compare the results of the run with those of the replay, and count records.

Results are delivered at least once and in any order, so only the newest version of each result is compared.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from examples.attribution.audit.credit import CreditAudit, audit_credit
from examples.attribution.audit.pacing import CampaignOutcome, campaign_outcomes, count_differences
from examples.attribution.audit.replay import replay_results
from examples.attribution.audit.run_log import RunLog
from examples.attribution.correlation.rule import Result
from examples.attribution.credit.models import CreditRules
from examples.attribution.events import STEPS
from examples.attribution.pacing.rule import Goal
from examples.attribution.settings import Settings
from spark_rtm.realtime.limits import MAX_RAW_BYTES

FAMILY_OF_KIND = {"request": "requests", "impression": "impressions", "click": "clicks"}
FAMILY_OF_KIND |= dict.fromkeys(STEPS, "playback steps")


@dataclass(frozen=True)
class Reconciliation:
    """The outcome of a reconciliation. A correct run has no differences."""

    counts: dict[str, Counter[str]]
    """
    Number of results by code for each event family, and the number of input events under the key `in`.

    In a correct run, the numbers of results in a family add up to the number of its input events.
    """
    differences: list[str]
    results: int
    """Number of results in the replay, each of which was compared with the run's result."""
    credits: CreditAudit
    campaigns: list[CampaignOutcome]
    """The goal of each campaign, and the campaign's delivery according to the replay."""

    @property
    def over_delivered(self) -> int:
        """Return the total number of impressions delivered beyond the campaigns' goals."""
        return sum(campaign.over_delivered for campaign in self.campaigns)


def reconcile(
    log: RunLog, settings: Settings, rules: CreditRules, goals: Iterable[Goal], stored: dict[str, dict[str, Any]]
) -> Reconciliation:
    """
    Check that no record is lost or counted twice, and that every result matches the rules.

    `rules` must contain unscaled times. `stored` maps each result id to the row of this result in the results table,
    without null columns.
    """
    expected = replay_results(log, settings.windows)
    credit_audit = audit_credit(log, settings.windows, rules.scaled(settings.time_scale))
    counts = _counts(log, expected) | {"conversions": credit_audit.conversions}
    differences = [
        *_decoding_differences(log),
        *_result_differences("result", log.results, expected),
        *_result_differences("row", stored, expected),
        *credit_audit.differences,
        *count_differences(log.counts, expected.values(), settings),
        *_sum_differences(counts),
        *(
            f"result {result_id} was written twice with the same version but different content"
            for result_id in sorted(log.conflicts)
        ),
        *(f"record {src} was not written by the pipeline: its value or a header is invalid" for src in log.unreadable),
    ]
    campaigns = campaign_outcomes(expected.values(), goals, settings)
    return Reconciliation(counts, differences, len(expected), credit_audit, campaigns)


def _decoding_differences(log: RunLog) -> Iterator[str]:
    for src, record in log.sources.items():
        routes = (src in log.events) + (src in log.rejects)
        if routes != 1:
            yield f"record {src} is in {'neither events nor' if routes == 0 else 'both events and'} ad-rejected"
        if src in log.rejects:
            reason, raw = log.rejects[src]
            if raw != (record.value if record.value is None else record.value[:MAX_RAW_BYTES]):
                yield f"record {src} was rejected as {reason!r}, but its raw bytes differ from the source record"
            if record.label not in ("", "malformed") and not reason.startswith("expired"):
                yield f"record {src} is labeled {record.label!r}, but was rejected as {reason!r}"
        elif record.label == "malformed":
            yield f"record {src} is labeled 'malformed', but was accepted"
    routed = log.events.keys() | log.rejects.keys()
    yield from (f"record {src} is not in a source topic" for src in routed - log.sources.keys())


def _result_differences(kind: str, results: dict[str, dict[str, Any]], expected: dict[str, Result]) -> Iterator[str]:
    for result_id, result in expected.items():
        fields = {name: value for name, value in asdict(result).items() if value is not None and name != "version"}
        row = results.get(result_id)
        if row is None:
            yield f"{kind} {result_id} is missing; expected code {result.code!r}"
        elif fields != {name: value for name, value in row.items() if name != "version"}:
            wrong = ", ".join(
                f"{name} is {row.get(name)!r} instead of {fields.get(name)!r}"
                for name in sorted(fields.keys() | row.keys() - {"version"})
                if row.get(name) != fields.get(name)
            )
            yield f"{kind} {result_id} differs: {wrong}"
    yield from (f"{kind} {result_id} is not in the replay" for result_id in results.keys() - expected.keys())


def _counts(log: RunLog, expected: dict[str, Result]) -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = {"source records": Counter({"in": len(log.sources), "events": len(log.events)})}
    counts["source records"]["rejected"] = len(log.rejects)
    for family in ("requests", "slots", "impressions", "clicks", "playback steps"):
        counts[family] = Counter()
    counts["slots"]["in"] = sum(result.kind == "slot" for result in expected.values())
    for event in log.events.values():
        if event.kind != "conversion":
            counts[FAMILY_OF_KIND[event.kind]]["in"] += 1
    for result in log.results.values():
        counts[FAMILY_OF_KIND.get(result["kind"], "slots")][result["code"]] += 1
    return counts


def _sum_differences(counts: dict[str, Counter[str]]) -> Iterator[str]:
    for family, codes in counts.items():
        outcomes = codes.total() - codes["in"]
        if outcomes != codes["in"]:
            yield f"{family}: input is {codes['in']}, but the outcomes add up to {outcomes}"
