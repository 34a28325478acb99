"""
Generate ad traffic from a seed: requests and the events that they cause, at constant intervals.

Each record is a JSON document for a source topic or a tombstone for `ad-erasures`, and has an intended send time. The
schedule does not depend on the pipeline, so slow results do not slow down the traffic.
"""

import heapq
import json
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from examples.attribution.correlation.rule import STEPS
from examples.attribution.correlation.windows import Windows
from examples.attribution.settings import TrafficSettings
from examples.attribution.topics import ERASURES_TOPIC
from spark_rtm.realtime.limits import MAX_RECORD_BYTES

CREATIVE_SHARE = 0.25
"""Length of a creative, as a share of the maximum length (30 of 120 seconds)."""
CAMPAIGN_COUNT = 8
SEVERAL_SLOTS_SHARE = 0.2
"""Share of requests for two or three ad slots."""
SEVERAL_IMPRESSIONS_SHARE = 0.05
"""Share of filled ad slots with a second impression."""
RESALE_CAMPAIGN = "campaign-resale"
"""The campaign that receives the requests of campaigns at their caps. This campaign has no goal."""
# Rate at the start of the warm-up, as a share of the full rate. At the full rate, the first batch would fall behind by
# seconds, because the JVM has not yet compiled the code of the queries.
WARM_UP_START_SHARE = 0.05
SAMPLE_TRANSACTIONS = 1_000

Fields = dict[str, Any]


@dataclass(frozen=True)
class ScheduledRecord:
    """One record to send. `send_at` is in seconds after the start of the run."""

    topic: str
    key: str
    value: bytes | None
    label: str
    send_at: float


@dataclass(frozen=True)
class Draft:
    """One event of a transaction. Times are milliseconds after the start of the transaction."""

    topic: str
    fields: Fields
    event_ms: float
    send_ms: float
    label: str = "normal"


class TrafficGenerator:
    """A seeded source of records. The same seed, run id and open campaigns produce the same records."""

    def __init__(self, settings: TrafficSettings, windows: Windows, run_id: str, started_at: float) -> None:
        """Start the schedule at `started_at` (epoch seconds). All ids start with `run_id`."""
        self.settings = settings
        self.run_id = run_id
        self.started_at = started_at
        self.is_open: Callable[[str], bool] = lambda _campaign_id: True
        """Returns whether a campaign may be served. Called for each request, just before the request is due."""
        self.random = random.Random(settings.seed)
        self.windows = windows
        self.ids = 0
        hot = settings.hot_campaign_share
        shares = [hot, *[(1 - hot) / (CAMPAIGN_COUNT - 1)] * (CAMPAIGN_COUNT - 1)]
        self.campaign_shares = {f"{run_id}-campaign-{n}": share for n, share in enumerate(shares)}
        """Share of requests for each campaign. The first campaign is the hot one."""
        self.campaigns = tuple(self.campaign_shares)
        self.cumulative_shares = tuple(accumulate(self.campaign_shares.values()))
        self.clock_errors_ms = {"event_ts": 0, "server_ts": 0}
        """Clock errors of the devices and of the collector. Another thread may change these errors."""

    def records(self) -> Iterator[ScheduledRecord]:
        """Yield records endlessly, in the order of their intended send times."""
        scheduled: list[tuple[float, int, Draft, float]] = []
        mean_delay_ms = self._mean_delay_ms()
        created = sent = 0
        while True:
            # A transaction starts when all earlier records are due, so records are created at the scheduled rate.
            starts_ms = 1000 * self._due_at(created)
            if not scheduled or scheduled[0][0] > starts_ms:
                for draft in self._with_faults(self._transaction()):
                    heapq.heappush(scheduled, (starts_ms + draft.send_ms, created, draft, starts_ms))
                    created += 1
                continue
            _, _, draft, starts_ms = heapq.heappop(scheduled)
            yield self._record(draft, starts_ms - mean_delay_ms, self._due_at(sent))
            sent += 1

    def _due_at(self, records: float) -> float:
        # Returns the time, in seconds after the start of the run, at which this number of records is due. The rate
        # increases linearly during the warm-up and is constant afterwards.
        rate, warm_up = self.settings.rate, self.settings.warm_up_seconds
        first, slope = WARM_UP_START_SHARE * rate, (1 - WARM_UP_START_SHARE) * rate / max(warm_up, 1e-9)
        in_warm_up = self.records_due_by(warm_up)
        if records >= in_warm_up:
            return warm_up + (records - in_warm_up) / rate
        return (math.sqrt(first**2 + 2 * slope * max(records, 0)) - first) / slope

    def records_due_by(self, seconds: float) -> float:
        """Return the number of records that are due in the first `seconds`, which must include the warm-up."""
        rate, warm_up = self.settings.rate, self.settings.warm_up_seconds
        return rate * (seconds - warm_up + (1 + WARM_UP_START_SHARE) / 2 * warm_up)

    def filled_slots_per_record(self) -> float:
        """Return the number of filled ad slots per record, estimated from a sample of the traffic."""
        other = TrafficGenerator(self.settings, self.windows, self.run_id, self.started_at)
        drafts = [draft for _ in range(SAMPLE_TRANSACTIONS) for draft in other._with_faults(other._transaction())]
        impressions = [draft for draft in drafts if draft.topic == "ad-impressions"]
        filling = (draft.fields for draft in impressions if draft.label in ("normal", "out_of_order"))
        return len({(fields["transaction_id"], fields["slot_id"]) for fields in filling}) / len(drafts)

    def _mean_delay_ms(self) -> float:
        other = TrafficGenerator(self.settings, self.windows, self.run_id, self.started_at)
        delays = [draft.send_ms for _ in range(SAMPLE_TRANSACTIONS) for draft in other._transaction()]
        return sum(delays) / len(delays)

    def _record(self, draft: Draft, transaction_ms: float, send_at: float) -> ScheduledRecord:
        if draft.topic == ERASURES_TOPIC:
            return ScheduledRecord(draft.topic, draft.fields["user_key"], None, draft.label, send_at)
        start_ms = self.started_at * 1000 + transaction_ms
        fields = {**draft.fields, "event_ts": int(start_ms + draft.event_ms) + self.clock_errors_ms["event_ts"]}
        fields["server_ts"] = int((self.started_at + send_at) * 1000) + self.clock_errors_ms["server_ts"]
        if "transaction_id" in fields:
            fields["request_ts"] = int(start_ms)
        key = fields.get("transaction_id") or fields.get("user_key") or fields["order_id"]
        value = self.random.choice(MALFORMED)(fields) if draft.label == "malformed" else _json(fields)
        return ScheduledRecord(draft.topic, key, value, draft.label, send_at)

    def _transaction(self) -> list[Draft]:
        s, chance = self.settings, self.random.random
        shares = (s.late_share, s.out_of_order_share, s.orphan_share)
        fault = self.random.choices(("late", "out_of_order", "orphan", "normal"), (*shares, 1 - sum(shares)))[0]
        kind = self.random.choice({"late": ("impression", "click", "complete")}.get(fault, ("request", "impression")))
        late_kind = kind if fault == "late" else None
        slots = [f"slot-{n}" for n in range(self.random.choice((2, 3)) if chance() < SEVERAL_SLOTS_SHARE else 1)]
        common = {
            "transaction_id": self._id("t"),
            "campaign_id": self._campaign(),
            "user_key": f"user-{self.random.randrange(5_000)}" if chance() < 0.9 else None,
        }
        request = Draft("ad-requests", {"event_id": self._id("e"), "kind": "request", **common, "slots": slots}, 0, 0)
        impressions: list[Draft] = []
        callbacks: list[Draft] = []
        for slot in slots:
            if slot == slots[0] or chance() < 0.9:
                of_slot = self._impressions(common, slot, late=late_kind == "impression")
                impressions += of_slot
                callbacks += self._playback(of_slot[0], late=late_kind == "complete")
                if chance() < 0.2 or late_kind == "click":
                    callbacks += self._clicks(of_slot[0], late=late_kind == "click")
        drafts = self._inject_fault(fault, kind, request, impressions, callbacks)
        if common["user_key"] and chance() < s.erasure_share:
            erased_ms = max(draft.send_ms for draft in drafts) + self.random.uniform(0, 1) * self.windows.hold_ms
            drafts.append(Draft(ERASURES_TOPIC, {"user_key": common["user_key"]}, erased_ms, erased_ms, "erasure"))
        return drafts

    def _campaign(self) -> str:
        campaign_id = self.random.choices(self.campaigns, cum_weights=self.cumulative_shares)[0]
        return campaign_id if self.is_open(campaign_id) else RESALE_CAMPAIGN

    def _inject_fault(
        self, fault: str, kind: str, request: Draft, impressions: list[Draft], callbacks: list[Draft]
    ) -> list[Draft]:
        if fault == "orphan":
            kept = callbacks if kind == "impression" else [*impressions, *callbacks]
            return [replace(draft, label="orphan") for draft in kept]
        if fault == "out_of_order":
            hold_ms = self.windows.hold_ms
            send_ms = max(draft.send_ms for draft in (impressions if kind == "request" else callbacks))
            send_ms += self.random.uniform(0.01, 0.1) * hold_ms
            if kind == "request":
                request = replace(request, send_ms=send_ms, label="out_of_order")
            else:
                impressions = [replace(impressions[0], send_ms=send_ms, label="out_of_order"), *impressions[1:]]
        return [request, *impressions, *callbacks]

    def _impressions(self, common: Fields, slot_id: str, *, late: bool) -> list[Draft]:
        window_ms = self.windows.request_to_impression_ms
        first_ms = window_ms * (self.random.uniform(1.05, 1.3) if late else self.random.uniform(0.01, 0.2))
        count = 2 if self.random.random() < SEVERAL_IMPRESSIONS_SHARE else 1
        drafts = []
        for n in range(count):
            fields = {
                "event_id": self._id("e"),
                "kind": "impression",
                **common,
                "slot_id": slot_id,
                "impression_id": self._id("i"),
                "creative_length_ms": int(CREATIVE_SHARE * self.windows.max_creative_ms),
            }
            drafts.append(
                _draft("ad-impressions", fields, first_ms + n * 0.05 * window_ms, "late" if late else "normal")
            )
        return drafts

    def _playback(self, impression: Draft, *, late: bool) -> list[Draft]:
        length_ms = impression.fields["creative_length_ms"]
        drafts = []
        for n, step in enumerate(STEPS):
            delay_ms = length_ms * n / (len(STEPS) - 1)
            is_late = late and step == "complete"
            if is_late:
                delay_ms += self.windows.playback_grace_ms * self.random.uniform(1.05, 1.3)
            elif not late and self.random.random() < 0.15:
                break
            elif self.random.random() < 0.03:
                continue
            drafts.append(self._callback(impression, step, delay_ms, late=is_late))
        return drafts or [self._callback(impression, "start", 0, late=False)]

    def _clicks(self, impression: Draft, *, late: bool) -> list[Draft]:
        window_ms = self.windows.impression_to_click_ms
        delay_ms = window_ms * (self.random.uniform(1.05, 1.2) if late else self.random.uniform(0.01, 0.15))
        drafts = [self._callback(impression, "click", delay_ms, late=late)]
        if self.random.random() < 0.1:
            drafts.append(self._callback(impression, "click", delay_ms + 0.01 * window_ms, late=late))
        if self.random.random() < 0.2:
            fields = {
                "event_id": self._id("e"),
                "kind": "conversion",
                "user_key": impression.fields["user_key"],
                "advertiser_id": f"advertiser-{self.random.randrange(4)}",
                "order_id": self._id("o"),
                "value_micros": self.random.randrange(1, 100) * 1_000_000,
            }
            drafts.append(_draft("ad-callbacks", fields, drafts[0].event_ms + 0.05 * window_ms, "normal"))
        return drafts

    def _callback(self, impression: Draft, kind: str, delay_ms: float, *, late: bool) -> Draft:
        names = ("transaction_id", "campaign_id", "user_key", "impression_id")
        fields = {"event_id": self._id("e"), "kind": kind, **{name: impression.fields[name] for name in names}}
        return _draft("ad-callbacks", fields, impression.event_ms + delay_ms, "late" if late else "normal")

    def _with_faults(self, drafts: list[Draft]) -> list[Draft]:
        s = self.settings
        normal_share = 1 - s.duplicate_share - s.malformed_share
        with_faults = []
        for draft in drafts:
            with_faults.append(draft)
            if draft.topic == ERASURES_TOPIC:
                continue
            if self.random.random() < s.duplicate_share / normal_share:
                repeat_ms = draft.send_ms + self.random.uniform(0.001, 0.05) * self.windows.hold_ms
                with_faults.append(replace(draft, send_ms=repeat_ms, label="duplicate"))
            if self.random.random() < s.malformed_share / normal_share:
                fields = {**draft.fields, "event_id": self._id("e"), "transaction_id": self._id("t")}
                with_faults.append(replace(draft, fields=fields, label="malformed"))
        return with_faults

    def _id(self, letter: str) -> str:
        self.ids += 1
        return f"{self.run_id}-{letter}{self.ids}"


def _draft(topic: str, fields: Fields, event_ms: float, label: str) -> Draft:
    return Draft(topic, fields, event_ms, event_ms, label)


def _json(fields: Fields) -> bytes:
    return json.dumps({name: value for name, value in fields.items() if value is not None}).encode()


MALFORMED: tuple[Callable[[Fields], bytes | None], ...] = (
    lambda fields: _json(fields)[:-1],
    lambda fields: b"\xff" + _json(fields),
    lambda fields: _json(fields) + b"tail",
    lambda fields: _json({**fields, "event_ts": str(fields["event_ts"])}),
    lambda fields: _json({**fields, "event_id": None}),
    lambda fields: _json({**fields, "kind": "view"}),
    lambda fields: _json({**fields, "padding": "x" * MAX_RECORD_BYTES}),
    lambda _: b"",
    lambda _: None,
)
"""Functions that turn the fields of a record into a malformed value, one function per kind of malformed value."""
