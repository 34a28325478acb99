"""
Define the log of a run: its source records, whether each record was accepted or rejected, and the newest results.

The log is read back from Kafka. A real-time query reports its progress only once per batch, so the live view, the
latency report and the reconciliation use the log instead.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

from examples.attribution.correlation.rule import BILLABLE, FAMILIES
from examples.attribution.credit.history import TouchId
from examples.attribution.credit.rule import Touch
from examples.attribution.topics import ATTRIBUTED_TOPIC, CREDITS_TOPIC, EVENTS_TOPIC, PACING_TOPIC, REJECTED_TOPIC

Row = dict[str, Any]


@dataclass(frozen=True)
class SourceRecord:
    """One record of a source topic. Times are UTC milliseconds, and `t0` is the intended send time."""

    value: bytes | None
    label: str
    t0: int
    appended_at: int


@dataclass(frozen=True)
class EventRecord:
    """One record of the topic `events`, with its append time (UTC milliseconds) and kind."""

    appended_at: int
    kind: str


class RunLog:
    """
    The log of one run. Each source record is identified by `src`, its position in the source topic.

    The `record_*` methods accept records in any order, and accept the same record more than once.
    """

    def __init__(self) -> None:
        self.sources: dict[str, SourceRecord] = {}
        self.events: dict[str, EventRecord] = {}
        self.rejects: dict[str, tuple[str, bytes | None]] = {}
        """Reject reason and raw value of each rejected record, by `src`."""
        self.results: dict[str, Row] = {}
        """The newest version of each result, by result id."""
        self.pending: set[str] = set()
        """Ids of the pending results."""
        self.touches: defaultdict[str, dict[TouchId, Touch]] = defaultdict(dict)
        """All versions of all touches, by user. `stored_at` is the time at which a version was first appended."""
        self.orders: set[str] = set()
        """The result ids of all orders with a conversion in `events`."""
        self.credits: dict[str, Row] = {}
        """The newest version of each credit, by result id. Credit after an erasure has a separate result id."""
        self.erased: set[str] = set()
        """Users with a tombstone in `ad-erasures`."""
        self.counts: dict[str, Row] = {}
        """The newest version of each count in `ad-pacing`, by result id."""
        # By `src`: the time of each record's first result, as appended, and as seen by a reader of committed records.
        self.first_result_at, self.visible_at = dict[str, int](), dict[str, int]()
        # By topic: the number of duplicates that the at-least-once sink wrote, and of rows after a newer version.
        self.duplicates, self.outdated = Counter[str](), Counter[str]()
        # By result id: the deadline of each pending ad slot, and the first append times of its timeout and of the
        # final credit of an order.
        self.deadlines, self.unfilled_at, self.final_at = dict[str, int](), dict[str, int](), dict[str, int]()
        # Number of records in `ad-attributed`, `ad-credits` and `ad-pacing`, and of rows of slots, in all versions.
        self.written: Counter[str] = Counter()
        # Positions of records in the pipeline's topics that the pipeline cannot have written.
        self.unreadable: list[str] = []
        self._to_correlate = 0
        self.conflicts: set[str] = set()
        """Ids of results of which one version was written with different contents."""

    def record_source(self, src: str, record: SourceRecord) -> None:
        """Add a record of a source topic."""
        self.sources[src] = record

    def record_event(self, event: Row, appended_at: int) -> None:
        """Add a record of `events`."""
        src = event["src"]
        if src in self.events:
            self.duplicates[EVENTS_TOPIC] += 1
            return
        self.events[src] = EventRecord(appended_at, event["kind"])
        if event["kind"] == "conversion":
            self.orders.add(order_result_id(event))
        else:
            self._to_correlate += 1

    def record_reject(self, src: str, reason: str, raw: bytes | None) -> None:
        """Add a record of `ad-rejected`."""
        if src in self.rejects:
            self.duplicates[REJECTED_TOPIC] += 1
            return
        self.rejects[src] = (reason, raw)

    def record_result(self, result: Row, appended_at: int) -> None:
        """Add a record of `ad-attributed`."""
        self.written[ATTRIBUTED_TOPIC] += 1
        src, result_id = result["src"], result["result_id"]
        self.written["slots"] += result["kind"] == "slot"
        if src not in self.first_result_at and result["kind"] != "slot":
            self.first_result_at[src] = appended_at
        if result["kind"] == "slot" and result.get("deadline"):
            self.deadlines[result_id] = result["deadline"]
        elif result["code"] == "unfilled":
            self.unfilled_at.setdefault(result_id, appended_at)
        self._keep_newest(ATTRIBUTED_TOPIC, self.results, result)
        (self.pending.add if self.results[result_id]["code"] == "pending" else self.pending.discard)(result_id)
        if result["kind"] in FAMILIES and result["code"] != "pending" and result.get("user_key"):
            versions = self.touches[result["user_key"]]
            touch = _touch(result, appended_at)
            known = versions.setdefault((result_id, touch.version), touch)
            if appended_at < known.stored_at:
                versions[result_id, touch.version] = touch

    def record_credit(self, credit: Row, appended_at: int) -> None:
        """Add a record of `ad-credits`."""
        if credit["final"]:
            self.final_at.setdefault(credit["result_id"], appended_at)
        self.written[CREDITS_TOPIC] += 1
        self._keep_newest(CREDITS_TOPIC, self.credits, credit)

    def record_count(self, count: Row) -> None:
        """
        Add a record of `ad-pacing`.

        The query also emits unchanged counts, so a repeated count is not a duplicate.
        """
        self.written[PACING_TOPIC] += 1
        known = self.counts.get(count["result_id"])
        if known is None or count["version"] > known["version"]:
            self.counts[count["result_id"]] = count

    @property
    def waiting(self) -> dict[str, int]:
        """Return the number of records that each hop has not yet processed, keyed by hop."""
        return {
            "kafka_to_events": len(self.sources) - len(self.events) - len(self.rejects),
            "events_to_attributed": self._to_correlate - len(self.first_result_at),
        }

    def open_orders(self) -> int:
        """Return the number of orders without final credit."""
        are_final: dict[str, bool] = {}
        for credit in self.credits.values():
            order = result_id_without_erasure(credit)
            are_final[order] = are_final.get(order, True) and credit["final"]
        return sum(not are_final.get(order) for order in self.orders)

    def wrong_counts(self) -> int:
        """Return the number of ad slots that the newest counts omit, count incorrectly, or still count as reserved."""
        filled = [row["code"] == "filled" for row in self.results.values() if row["kind"] == "slot"]
        sums = [sum(row[name] for row in self.counts.values()) for name in ("slots", "delivered", "reserved")]
        return sum(abs(found - due) for found, due in zip(sums, (len(filled), sum(filled), 0), strict=True))

    def outstanding(self) -> int:
        """Return the number of records without a result, and of results, orders and ad slots that are not yet final."""
        return sum(self.waiting.values()) + len(self.pending) + self.open_orders() + self.wrong_counts()

    def _keep_newest(self, topic: str, newest: dict[str, Row], row: Row) -> None:
        result_id = row["result_id"]
        known = newest.get(result_id)
        if known is None or row["version"] > known["version"]:
            newest[result_id] = row
            if topic == CREDITS_TOPIC:
                # A restarted real-time query can read topics in a different order, so only the newest credit must
                # match.
                self.conflicts.discard(result_id)
        elif row["version"] == known["version"]:
            self.duplicates[topic] += 1
            if row != known:
                self.conflicts.add(result_id)
        else:
            self.outdated[topic] += 1


def credit_key(conversion: Row) -> str:
    """Return the key by which `touches_to_credit` groups a conversion: the user or, if no user is known, the order."""
    return conversion.get("user_key") or f"/{conversion['advertiser_id']}/{conversion['order_id']}"


def order_result_id(conversion: Row) -> str:
    """Return the result id of a conversion's order."""
    return f"{credit_key(conversion)}/{conversion['advertiser_id']}/{conversion['order_id']}"


def result_id_without_erasure(credit: Row) -> str:
    """Return the result id of a credit record without the suffix that contains the time of an erasure."""
    result_id: str = credit["result_id"]
    has_no_suffix = result_id.endswith(f"/{credit['advertiser_id']}/{credit['order_id']}")
    return result_id if has_no_suffix else result_id.rpartition("/")[0]


def _touch(result: Row, appended_at: int) -> Touch:
    names = ("result_id", "version", "kind", "effective_ts", "event_id", "impression_id", "campaign_id")
    return Touch(**{name: result[name] for name in names}, is_valid=result["code"] in BILLABLE, stored_at=appended_at)
