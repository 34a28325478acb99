"""Reconcile a run: replay its source records, compare the newest versions of its results, and count records."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from examples.attribution.audit.replay import replay_orders, replay_results
from examples.attribution.audit.run_log import Row, RunLog, result_id_without_erasure
from examples.attribution.correlation.rule import STEPS, Result
from examples.attribution.credit.models import CreditRules
from examples.attribution.credit.rule import Conversion, OrderCredit
from examples.attribution.pacing.rule import Goal, count_slots
from examples.attribution.settings import Settings
from examples.attribution.topics import ATTRIBUTED_TOPIC, PACING_TOPIC
from spark_rtm.realtime.limits import MAX_RAW_BYTES

FAMILY_OF_KIND = {"request": "requests", "impression": "impressions", "click": "clicks"}
FAMILY_OF_KIND |= dict.fromkeys(STEPS, "playback steps")


@dataclass(frozen=True)
class CampaignOutcome:
    """
    A campaign's goal, and the campaign's delivery according to the replay.

    The run used its own counts to prevent over-delivery, so these counts cannot reveal over-delivery.
    """

    goal: Goal
    delivered: int

    @property
    def over_delivered(self) -> int:
        """Return the number of impressions delivered beyond the campaign's goal. These impressions are not billable."""
        return max(self.delivered - self.goal.impressions, 0)


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
    orders: int
    """Number of orders whose credit was compared with the credit that the rule computes."""
    erased_orders: int
    """Number of orders that were not compared, because their users were erased."""
    campaigns: list[CampaignOutcome]
    """The goal of each campaign, and the campaign's delivery according to the replay."""

    @property
    def over_delivered(self) -> int:
        """Return the total number of impressions delivered beyond the campaigns' goals."""
        return sum(campaign.over_delivered for campaign in self.campaigns)


def reconcile(
    log: RunLog, settings: Settings, rules: CreditRules, goals: Iterable[Goal], stored: Mapping[str, Row]
) -> Reconciliation:
    """
    Check that no record is lost or counted twice, and that every result matches the rules.

    `rules` must contain unscaled times. `stored` maps each result id to the row of this result in the results table.
    """
    expected = replay_results(log, settings.windows)
    results = {result_id: asdict(result) for result_id, result in expected.items()}
    slots = count_slots(expected.values(), settings)
    orders = replay_orders(log, settings.windows, rules.scaled(settings.time_scale))
    compared = sum(credit is not None for _, credit in orders.values())
    counts = _counts(log, expected) | {"conversions": _conversions(log)}
    differences = [
        *_decoding_differences(log),
        *_differences("result", log.results, results, "code"),
        *_differences("row", stored, results, "code"),
        *_credit_differences(log, orders),
        *_differences("count", log.counts, {count.result_id: vars(count) for count in slots}, "slots"),
        *_sum_differences(counts),
        *(
            f"result {result_id} was written twice with the same version but different content"
            for result_id in sorted(log.conflicts)
        ),
        *(f"record {src} was not written by the pipeline: a field or a header is missing" for src in log.unreadable),
        *(_differences_from_exactly_once(log, settings) if settings.exactly_once else ()),
    ]
    delivered = Counter[str]()
    for count in slots:
        delivered[count.campaign_id] += count.delivered
    campaigns = [CampaignOutcome(goal, delivered[goal.campaign_id]) for goal in goals]
    return Reconciliation(counts, differences, len(expected), compared, len(orders) - compared, campaigns)


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


def _differences_from_exactly_once(log: RunLog, settings: Settings) -> Iterator[str]:
    """Yield repeated and outdated rows that a consumer of committed records gets."""
    yield from (f"{topic} contains {count} rows twice" for topic, count in sorted(log.duplicates.items()))
    # Two queries write to `ad-attributed`, so their rows for one result can arrive in either order.
    outdated = sorted((topic, count) for topic, count in log.outdated.items() if topic != ATTRIBUTED_TOPIC)
    yield from (f"{topic} contains {count} rows after newer ones" for topic, count in outdated)
    if settings.trigger == "real-time" and log.written[PACING_TOPIC] != log.written["slots"]:
        yield f"{PACING_TOPIC} contains {log.written[PACING_TOPIC]} rows for {log.written['slots']} rows of ad slots"


def _differences(kind: str, found: Mapping[str, Row], expected: Mapping[str, Row], shown: str) -> Iterator[str]:
    for row_id, fields in expected.items():
        if row_id not in found:
            yield f"{kind} {row_id} is missing; expected {shown} {fields[shown]!r}"
        elif wrong := _field_differences(found[row_id], fields):
            yield f"{kind} {row_id} differs: {wrong}"
    yield from (f"{kind} {row_id} is not in the replay" for row_id in found.keys() - expected.keys())


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


def _credit_differences(
    log: RunLog, orders: Mapping[str, tuple[list[Conversion], OrderCredit | None]]
) -> Iterator[str]:
    by_order: defaultdict[str, list[Row]] = defaultdict(list)
    for credit in log.credits.values():
        by_order[result_id_without_erasure(credit)].append(credit)
    for order_id, (records, expected) in orders.items():
        yield from _order_differences(order_id, len(records), by_order.get(order_id, []))
        if expected and expected.result_id in log.credits:
            fields = {name: value for name, value in expected.document().items() if name != "final"}
            if wrong := _field_differences(log.credits[expected.result_id], fields):
                yield f"credit {expected.result_id} differs: {wrong}"
    yield from (f"credit {order_id} has no conversion in the replay" for order_id in by_order.keys() - orders.keys())


def _conversions(log: RunLog) -> Counter[str]:
    counts = Counter({"in": sum(event.kind == "conversion" for event in log.events.values())})
    for credit in log.credits.values():
        counts[credit["code"]] += 1
        counts["duplicate"] += credit["records"] - 1
    return counts


def _order_differences(order_id: str, records: int, credits_of_order: Sequence[Row]) -> Iterator[str]:
    if not credits_of_order:
        yield f"credit {order_id} is missing for an order with {records} conversions"
    elif (counted := sum(credit["records"] for credit in credits_of_order)) != records:
        yield f"credit {order_id} includes {counted} conversions instead of {records}"
    yield from (f"credit {credit['result_id']} is not final" for credit in credits_of_order if not credit["final"])


def _field_differences(row: Row, fields: Row) -> str:
    """Return the fields of `row` that differ from `fields`, except the version. A missing field equals null."""
    wrong = [name for name in fields if name != "version" and row.get(name) != fields[name]]
    return ", ".join(f"{name} is {row.get(name)!r} instead of {fields[name]!r}" for name in wrong)
