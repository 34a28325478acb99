"""
Keep the books of a run: each source record, where it went, and the newest version of every answer.

What arrives are records as they stand in Kafka, in any order and perhaps twice; what leaves are the facts that the
reconciliation, the latencies and the live view are made of.
Real-time mode reports progress only once per batch, so that live numbers come from the topics themselves.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

from examples.attribution.credit.history import TouchId
from examples.attribution.credit.rule import Touch
from examples.attribution.events import FAMILIES
from examples.attribution.results import BILLABLE
from examples.attribution.topics import ATTRIBUTED_TOPIC, CREDITS_TOPIC, EVENTS_TOPIC, REJECTED_TOPIC

Row = dict[str, Any]


@dataclass(frozen=True)
class SourceRecord:
    """One record of a source topic; times are UTC milliseconds, `t0` is the intended send time."""

    value: bytes | None
    label: str
    t0: int
    appended_at: int


@dataclass(frozen=True)
class EventRecord:
    """One record of `events`: where it stands, when it was appended (UTC milliseconds), and its kind."""

    partition: int
    appended_at: int
    kind: str


class Books:
    """
    The books of one run. Records are known by their position in the source topic, `src`.

    `add_*` take what stands in Kafka; order and repeats do not matter.
    """

    def __init__(self) -> None:
        """Open empty books."""
        self.sources: dict[str, SourceRecord] = {}
        self.events: dict[str, EventRecord] = {}
        self.rejects: dict[str, tuple[str, bytes | None]] = {}
        """Reason and raw value by `src`."""
        self.results: dict[str, Row] = {}
        """The newest version by result id."""
        self.pending: set[str] = set()
        """Results that wait for a record, or for time to pass."""
        self.touches: defaultdict[str, dict[TouchId, Touch]] = defaultdict(dict)
        """Every version of every touch by user, with the time of its first append."""
        self.orders: set[str] = set()
        """The result ids of all orders that have come."""
        self.credits: dict[str, Row] = {}
        """The newest answer by result id; an order has another one for what comes after an erasure of its user."""
        self.erasures: defaultdict[str, list[int]] = defaultdict(list)
        """Append times of the tombstones by user."""
        self.counts: dict[str, Row] = {}
        """The newest count of pacing by result id."""
        self.answered: dict[str, int] = {}
        """Append time of the first result that knows the record, by `src`."""
        self.waiting: Counter[str] = Counter()
        """Records that a stage has not answered yet, by `stage topic:partition`: its lag."""
        self.delivered_again: Counter[str] = Counter()
        """Repeats that an at-least-once sink made, by topic."""
        self.result_rows = 0
        """Records of `ad-attributed`, every version of every result."""
        self.contradictions: list[str] = []
        """Results that came twice with the same version and different content."""

    def add_source(self, src: str, record: SourceRecord) -> None:
        """Book a record of a source topic."""
        self.sources[src] = record
        if src not in self.events and src not in self.rejects:
            self.waiting[_decoding(src)] += 1

    def add_event(self, event: Row, partition: int, appended_at: int) -> None:
        """Book a record of `events`."""
        src = event["src"]
        if src in self.events:
            self.delivered_again[EVENTS_TOPIC] += 1
            return
        self._decoded(src)
        self.events[src] = EventRecord(partition, appended_at, event["kind"])
        if event["kind"] == "conversion":
            self.orders.add(order_id(event))
        elif src not in self.answered:
            self.waiting[_correlating(self.events[src])] += 1

    def add_reject(self, src: str, reason: str, raw: bytes | None) -> None:
        """Book a record of `ad-rejected`."""
        if src in self.rejects:
            self.delivered_again[REJECTED_TOPIC] += 1
            return
        self._decoded(src)
        self.rejects[src] = (reason, raw)

    def add_result(self, result: Row, appended_at: int) -> None:
        """Book a record of `ad-attributed`."""
        self.result_rows += 1
        src, result_id = result["src"], result["result_id"]
        if src not in self.answered and result["kind"] != "slot":
            self.answered[src] = appended_at
            if src in self.events:
                self.waiting[_correlating(self.events[src])] -= 1
        self._keep_newest(ATTRIBUTED_TOPIC, self.results, result)
        (self.pending.add if self.results[result_id]["code"] == "pending" else self.pending.discard)(result_id)
        if result["kind"] in FAMILIES and result["code"] != "pending" and result.get("user_key"):
            versions = self.touches[result["user_key"]]
            touch = _touch(result, appended_at)
            known = versions.setdefault((result_id, touch.version), touch)
            if appended_at < known.stored_at:
                versions[result_id, touch.version] = touch

    def add_credit(self, answer: Row) -> None:
        """Book a record of `ad-credits`."""
        self._keep_newest(CREDITS_TOPIC, self.credits, answer)

    def add_erasure(self, user: str, appended_at: int) -> None:
        """Book a tombstone of `ad-erasures`."""
        self.erasures[user].append(appended_at)

    def add_count(self, count: Row) -> None:
        """Book a record of `ad-pacing`; rows that say nothing new are its habit, not repeats of the sink."""
        known = self.counts.get(count["result_id"])
        if known is None or count["version"] > known["version"]:
            self.counts[count["result_id"]] = count

    def open_orders(self) -> int:
        """Return how many orders have no answer yet, or one that is not final."""
        are_final: dict[str, bool] = {}
        for answer in self.credits.values():
            order = order_of(answer)
            are_final[order] = are_final.get(order, True) and answer["final"]
        return sum(not are_final.get(order) for order in self.orders)

    def is_counted(self) -> bool:
        """Tell whether the newest counts know of every newest slot, and none of them is reserved."""
        filled = [row["code"] == "filled" for row in self.results.values() if row["kind"] == "slot"]
        sums = [sum(row[name] for row in self.counts.values()) for name in ("slots", "delivered", "reserved")]
        return sums == [len(filled), sum(filled), 0]

    def _keep_newest(self, topic: str, newest: dict[str, Row], row: Row) -> None:
        result_id = row["result_id"]
        known = newest.get(result_id)
        if known is None or row["version"] > known["version"]:
            newest[result_id] = row
        elif row["version"] == known["version"]:
            self.delivered_again[topic] += 1
            if row != known:
                self.contradictions.append(result_id)

    def _decoded(self, src: str) -> None:
        if src in self.sources:
            self.waiting[_decoding(src)] -= 1


def user_of(conversion: Row) -> str:
    """Return whose touches an order may credit: without user it has a key of its own."""
    return conversion.get("user_key") or f"/{conversion['advertiser_id']}/{conversion['order_id']}"


def order_id(conversion: Row) -> str:
    """Return the result id of the order that a conversion belongs to."""
    return f"{user_of(conversion)}/{conversion['advertiser_id']}/{conversion['order_id']}"


def order_of(answer: Row) -> str:
    """Return the order that an answer is about; after an erasure, its result id ends with the time of that."""
    result_id: str = answer["result_id"]
    has_no_tail = result_id.endswith(f"/{answer['advertiser_id']}/{answer['order_id']}")
    return result_id if has_no_tail else result_id.rpartition("/")[0]


def _touch(result: Row, appended_at: int) -> Touch:
    names = ("result_id", "version", "kind", "effective_ts", "event_id", "impression_id", "campaign_id")
    return Touch(**{name: result[name] for name in names}, is_valid=result["code"] in BILLABLE, stored_at=appended_at)


def _decoding(src: str) -> str:
    return f"kafka_to_events {src.rpartition(':')[0]}"


def _correlating(event: EventRecord) -> str:
    return f"events_to_attributed {EVENTS_TOPIC}:{event.partition}"
