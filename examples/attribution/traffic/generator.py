"""
Generate ad traffic from a seed: requests and all that follows from them, at a constant or Poisson rate.

What arrives are settings, and whether a campaign may still be served; what leaves are JSON records for the three source
topics and tombstones for `ad-erasures`, each with the time at which it is to be sent.
Real-time mode demands an open loop to be measured: the schedule is fixed before anything is sent.
"""

import heapq
import json
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from examples.attribution.events import STEPS
from examples.attribution.settings import Settings
from examples.attribution.topics import ERASURES_TOPIC
from examples.realtime.decoding import MAX_RECORD_BYTES

CREATIVE_SECONDS = 30
CAMPAIGNS = 8
# What a campaign at its cap leaves free is sold to whoever takes the rest; there is no goal for it.
RESALE_CAMPAIGN = "campaign-resale"
# A JVM that has not compiled its code yet would fall seconds behind at full rate, and the first batch with it.
COLD_SHARE = 0.05
SAMPLE = 1_000

Fields = dict[str, Any]


@dataclass(frozen=True)
class Record:
    """One record to send; `send_at` is in seconds after the start of the run."""

    topic: str
    key: str
    value: bytes | None
    label: str
    send_at: float


@dataclass(frozen=True)
class Draft:
    """One event of a transaction; times are in milliseconds after the transaction's start."""

    topic: str
    fields: Fields
    event_ms: float
    send_ms: float
    label: str = "normal"


def always_open(_campaign_id: str) -> bool:
    """Serve every campaign without end."""
    return True


class Traffic:
    """A seeded source of records; the same seed, run id and closed campaigns give the same records."""

    def __init__(
        self, settings: Settings, run_id: str, started_at: float, is_open: Callable[[str], bool] = always_open
    ) -> None:
        """
        Take `started_at`, the epoch second of the first record; ids begin with `run_id`.

        `is_open` is asked for the campaign of each request, just before it is due to be sent.
        """
        self.settings, self.run_id, self.started_at, self.is_open = settings, run_id, started_at, is_open
        self.random = random.Random(settings.seed)
        self.ids = 0
        hot = settings.hot_campaign_share
        rest = (1 - hot) / (CAMPAIGNS - 1)
        self.shares = {f"{run_id}-campaign-{n}": rest if n else hot for n in range(CAMPAIGNS)}
        """Share of requests by campaign; the first one is hot."""

    def records(self) -> Iterator[Record]:
        """Yield records for ever, in the order of their send times."""
        waiting: list[tuple[float, int, Draft, float]] = []
        mean_delay_ms = self._mean_delay_ms()
        created = sent = 0
        jitter = 0.0
        while True:
            # Each transaction starts when the records before it will have been sent, so that the schedule is kept.
            starts_ms = 1000 * self._due(created)
            if not waiting or waiting[0][0] > starts_ms:
                for draft in self._spoilt(self._transaction()):
                    heapq.heappush(waiting, (starts_ms + draft.send_ms, created, draft, starts_ms))
                    created += 1
                continue
            _, _, draft, starts_ms = heapq.heappop(waiting)
            yield self._record(draft, starts_ms - mean_delay_ms, self._due(sent + jitter))
            sent += 1
            if self.settings.arrivals == "poisson":
                jitter += self.random.expovariate(1) - 1

    def _due(self, records: float) -> float:
        # Seconds after which so many records are due: the rate grows linearly during the warm-up, then it is constant.
        rate, warm_up = self.settings.rate, self.settings.warm_up_seconds
        first, slope = COLD_SHARE * rate, (1 - COLD_SHARE) * rate / max(warm_up, 1e-9)
        in_warm_up = (first + rate) / 2 * warm_up
        if records >= in_warm_up:
            return warm_up + (records - in_warm_up) / rate
        return (math.sqrt(first**2 + 2 * slope * max(records, 0)) - first) / slope

    def records_until(self, seconds: float) -> float:
        """Return how many records are due in the first `seconds`."""
        rate, warm_up = self.settings.rate, self.settings.warm_up_seconds
        cold = min(seconds, warm_up)
        slope = (1 - COLD_SHARE) * rate / max(warm_up, 1e-9)
        return COLD_SHARE * rate * cold + slope * cold**2 / 2 + rate * max(seconds - warm_up, 0)

    def filled_per_record(self) -> float:
        """Return how many slots are filled per record that is sent, from a sample."""
        other = Traffic(self.settings, self.run_id, self.started_at)
        drafts = [draft for _ in range(SAMPLE) for draft in other._spoilt(other._transaction())]
        shown = (d.fields for d in drafts if d.topic == "ad-impressions" and d.label in ("normal", "out_of_order"))
        return len({(fields["transaction_id"], fields["slot_id"]) for fields in shown}) / len(drafts)

    def _mean_delay_ms(self) -> float:
        other = Traffic(self.settings, self.run_id, self.started_at)
        delays = [draft.send_ms for _ in range(SAMPLE) for draft in other._transaction()]
        return sum(delays) / len(delays)

    def _record(self, draft: Draft, transaction_ms: float, send_at: float) -> Record:
        if draft.topic == ERASURES_TOPIC:
            return Record(draft.topic, draft.fields["user_key"], None, draft.label, send_at)
        zero_ms = self.started_at * 1000 + transaction_ms
        fields = {**draft.fields, "event_ts": int(zero_ms + draft.event_ms)}
        fields["server_ts"] = int((self.started_at + send_at) * 1000)
        if "transaction_id" in fields:
            fields["request_ts"] = int(zero_ms)
        key = fields.get("transaction_id") or fields.get("user_key") or fields["order_id"]
        value = self._malformed(fields) if draft.label == "malformed" else _json(fields)
        return Record(draft.topic, key, value, draft.label, send_at)

    def _transaction(self) -> list[Draft]:
        s, chance = self.settings, self.random.random
        shares = (s.late_share, s.out_of_order_share, s.orphan_share)
        fate = self.random.choices(("late", "out_of_order", "orphan", "normal"), (*shares, 1 - sum(shares)))[0]
        at = self.random.choice({"late": ("impression", "click", "complete")}.get(fate, ("request", "impression")))
        slots = [f"slot-{n}" for n in range(self.random.choice((2, 3)) if chance() < s.several_slots_share else 1)]
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
                shown = self._impressions(common, slot, late=fate == "late" and at == "impression")
                impressions += shown
                callbacks += self._playback(shown[0], late=fate == "late" and at == "complete")
                if chance() < 0.2 or (fate == "late" and at == "click"):
                    callbacks += self._clicks(shown[0], late=fate == "late" and at == "click")
        drafts = self._fated(fate, at, request, impressions, callbacks)
        if common["user_key"] and chance() < s.erasure_share:
            last_ms = max(draft.send_ms for draft in drafts) + self.random.uniform(0, 1) * s.windows.hold_ms
            drafts.append(Draft(ERASURES_TOPIC, {"user_key": common["user_key"]}, last_ms, last_ms, "erasure"))
        return drafts

    def _campaign(self) -> str:
        drawn = self.random.choices(list(self.shares), list(self.shares.values()))[0]
        return drawn if self.is_open(drawn) else RESALE_CAMPAIGN

    def _fated(self, fate: str, at: str, request: Draft, shown: list[Draft], callbacks: list[Draft]) -> list[Draft]:
        if fate == "orphan":
            kept = callbacks if at == "impression" else [*shown, *callbacks]
            return [replace(draft, label="orphan") for draft in kept]
        if fate == "out_of_order":
            hold_ms = self.settings.windows.hold_ms
            late_ms = max(draft.send_ms for draft in (shown if at == "request" else callbacks))
            late_ms += self.random.uniform(0.01, 0.1) * hold_ms
            if at == "request":
                request = replace(request, send_ms=late_ms, label="out_of_order")
            else:
                shown = [replace(shown[0], send_ms=late_ms, label="out_of_order"), *shown[1:]]
        return [request, *shown, *callbacks]

    def _impressions(self, common: Fields, slot_id: str, *, late: bool) -> list[Draft]:
        window_ms = self.settings.windows.request_to_impression_ms
        first_ms = window_ms * (self.random.uniform(1.05, 1.3) if late else self.random.uniform(0.01, 0.2))
        count = 2 if self.random.random() < self.settings.several_impressions_share else 1
        drafts = []
        for n in range(count):
            fields = {
                "event_id": self._id("e"),
                "kind": "impression",
                **common,
                "slot_id": slot_id,
                "impression_id": self._id("i"),
                "creative_length_ms": CREATIVE_SECONDS * 1000 // self.settings.time_scale,
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
                delay_ms += self.settings.windows.playback_grace_ms * self.random.uniform(1.05, 1.3)
            elif not late and self.random.random() < 0.15:
                break
            elif self.random.random() < 0.03:
                continue
            drafts.append(self._callback(impression, step, delay_ms, late=is_late))
        return drafts or [self._callback(impression, "start", 0, late=False)]

    def _clicks(self, impression: Draft, *, late: bool) -> list[Draft]:
        window_ms = self.settings.windows.impression_to_click_ms
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

    def _spoilt(self, drafts: list[Draft]) -> list[Draft]:
        s = self.settings
        normal_share = 1 - s.duplicate_share - s.malformed_share
        result = []
        for draft in drafts:
            result.append(draft)
            if draft.topic == ERASURES_TOPIC:
                continue
            if self.random.random() < s.duplicate_share / normal_share:
                again_ms = draft.send_ms + self.random.uniform(0.001, 0.05) * s.windows.hold_ms
                result.append(replace(draft, send_ms=again_ms, label="duplicate"))
            if self.random.random() < s.malformed_share / normal_share:
                fields = {**draft.fields, "event_id": self._id("e"), "transaction_id": self._id("t")}
                result.append(replace(draft, fields=fields, label="malformed"))
        return result

    def _malformed(self, fields: Fields) -> bytes | None:
        good = _json(fields)
        missing = {name: value for name, value in fields.items() if name != "event_id"}
        return self.random.choice(
            (
                good[:-1],
                b"\xff" + good,
                good + b"tail",
                _json({**fields, "event_ts": str(fields["event_ts"])}),
                _json(missing),
                _json({**fields, "kind": "view"}),
                _json({**fields, "padding": "x" * MAX_RECORD_BYTES}),
                b"",
                None,
            )
        )

    def _id(self, letter: str) -> str:
        self.ids += 1
        return f"{self.run_id}-{letter}{self.ids}"


def _draft(topic: str, fields: Fields, event_ms: float, label: str) -> Draft:
    return Draft(topic, fields, event_ms, event_ms, label)


def _json(fields: Fields) -> bytes:
    return json.dumps({name: value for name, value in fields.items() if value is not None}).encode()
