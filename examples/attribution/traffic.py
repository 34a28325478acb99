"""
Generate ad traffic from a seed and send it to Kafka at a constant or Poisson rate.

What arrives are settings; what leaves are JSON records in the three source topics, each with the intended send time in
header `t0` (milliseconds) and what the generator made of it in header `label`, which the pipeline never reads.
Real-time mode demands an open loop to be measured: the sender follows its schedule and never waits for results.
"""

import heapq
import json
import math
import random
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from confluent_kafka import KafkaError, Message, Producer

from examples.attribution.correlation_rule import STEPS
from examples.decoding import MOST_BYTES
from examples.settings import Settings

CREATIVE_SECONDS = 30
# A JVM that has not compiled its code yet would fall seconds behind at full rate, and the first batch with it.
COLD_SHARE = 0.05
FLUSH_SECONDS = 60
PRODUCER = {
    "acks": "all",
    "enable.idempotence": True,
    "linger.ms": 0,
    # The Java client's default: records of one key meet in one partition whoever sends them.
    "partitioner": "murmur2_random",
    "queue.buffering.max.messages": 1_000_000,
    "message.max.bytes": 2_000_000,
    # Errors only: a broker that has just started makes the client warn while it retries.
    "log_level": 3,
}

Fields = dict[str, Any]
Headers = list[tuple[str, str | bytes | None]]


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


@dataclass
class Sent:
    """What a sender has done so far; the measured part comes after the warm-up."""

    started_at: float
    """Epoch second of the first record's intended send time."""
    records: int = 0
    failed: int = 0
    measured_seconds: float = 0
    lags_ms: list[float] = field(default_factory=list)
    """Milliseconds between intended and actual send of each record of the measured part."""

    @property
    def rate(self) -> float:
        """Return the achieved rate of the measured part, in records per second."""
        return len(self.lags_ms) / self.measured_seconds if self.measured_seconds else 0.0


class Traffic:
    """A seeded source of records; the same seed and run id give the same records."""

    def __init__(self, settings: Settings, run_id: str, started_at: float) -> None:
        """Take `started_at`, the epoch second of the first record; ids begin with `run_id`."""
        self.settings, self.run_id, self.started_at = settings, run_id, started_at
        self.random = random.Random(settings.seed)
        self.ids = 0

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

    def _mean_delay_ms(self) -> float:
        other = Traffic(self.settings, self.run_id, self.started_at)
        delays = [draft.send_ms for _ in range(1_000) for draft in other._transaction()]
        return sum(delays) / len(delays)

    def _record(self, draft: Draft, transaction_ms: float, send_at: float) -> Record:
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
            "campaign_id": f"campaign-{self.random.randrange(8)}",
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
        return self._fated(fate, at, request, impressions, callbacks)

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
                _json({**fields, "padding": "x" * MOST_BYTES}),
                b"",
                None,
            )
        )

    def _id(self, letter: str) -> str:
        self.ids += 1
        return f"{self.run_id}-{letter}{self.ids}"


def send(
    bootstrap_servers: str, settings: Settings, records: Iterator[Record], sent: Sent, stop: threading.Event
) -> None:
    """Send `records` at their times until they end or `stop` is set, then flush; `sent` is updated on the way."""
    producer = Producer({**PRODUCER, "bootstrap.servers": bootstrap_servers})

    def delivered(error: KafkaError | None, _: Message) -> None:
        sent.failed += error is not None

    # The schedule follows a clock that nobody sets.
    start = time.monotonic() + sent.started_at - time.time()
    for record in records:
        wait = start + record.send_at - time.monotonic()
        if stop.wait(wait) if wait > 0 else stop.is_set():
            break
        headers: Headers = [("t0", str(int((sent.started_at + record.send_at) * 1000))), ("label", record.label)]
        producer.produce(settings.topic(record.topic), record.value, record.key, headers=headers, on_delivery=delivered)
        producer.poll(0)
        sent.records += 1
        sent_at = time.monotonic() - start
        if record.send_at >= settings.warm_up_seconds:
            sent.lags_ms.append((sent_at - record.send_at) * 1000)
            sent.measured_seconds = max(sent_at - settings.warm_up_seconds, 1 / settings.rate)
    sent.failed += producer.flush(FLUSH_SECONDS)


def _draft(topic: str, fields: Fields, event_ms: float, label: str) -> Draft:
    return Draft(topic, fields, event_ms, event_ms, label)


def _json(fields: Fields) -> bytes:
    return json.dumps({name: value for name, value in fields.items() if value is not None}).encode()
