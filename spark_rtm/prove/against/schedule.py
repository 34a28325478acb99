"""Schedule the input of both versions: good records at growing times, then late, hostile and last records."""

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby
from typing import Any

from spark_rtm.prove.records.samples import moved
from spark_rtm.testing.records import Sent

SAMPLE, GOOD, DUPLICATE, LATE, HOSTILE, LAST = "sample", "good", "duplicate", "late", "hostile", "last"
STAGES = {SAMPLE: 0, GOOD: 1, DUPLICATE: 1, LATE: 2, HOSTILE: 3, LAST: 4}
DEFAULT_DURATIONS = (10.0, 60.0)
MAX_BASES, MAX_DURATIONS, MAX_HOSTILE = 24, 6, 24
BATCHES, DUPLICATES = 4, 4
HOUR = 3_600


@dataclass(frozen=True)
class Input:
    """A source record of the comparison, with its topic, its time and the kind of record."""

    topic: str
    record: Sent
    time_ms: int
    kind: str

    @property
    def shown(self) -> dict[str, Any]:
        """The record in the form of `--samples`, with its topic, time and kind."""
        key, value = ((part or b"").decode(errors="replace") for part in (self.record.key, self.record.value))
        headers = {name: (text or b"").decode(errors="replace") for name, text in self.record.headers}
        record = {"key": key, "value": value, **({"headers": headers} if headers else {})}
        return {"topic": self.topic, **record, "time_ms": self.time_ms, "kind": self.kind}


@dataclass(frozen=True)
class Batch:
    """Records of one partition, which both versions commit before the next batch is sent to any partition."""

    topic: str
    partition: int
    inputs: tuple[Input, ...]

    @property
    def is_last(self) -> bool:
        """Whether the batch closes the windows of all other records."""
        return self.inputs[0].kind == LAST


def inputs_of(
    good: Mapping[str, Sequence[Sent]],
    hostile: Mapping[str, Sequence[Sent]],
    delays: Sequence[float],
    windows: Sequence[float],
    seed: int,
    samples: Mapping[str, Sequence[Sent]],
) -> list[Input]:
    """
    Return the input of a schedule.

    The times lie just before and just after the borders of windows and the positions of watermarks. All records
    behind a watermark arrive after the newest good record.
    """
    chosen, now = random.Random(seed), time.time()
    durations = sorted({*(one for one in (*delays, *windows) if one), *DEFAULT_DURATIONS})
    ages = sorted({age for one in _lateness(delays, windows) for age in (one - 1, one + 1)})
    # The records contain the current time. A fixed second of this hour makes the same seed produce the same times.
    start = now // HOUR * HOUR + 7 - now
    found = list[Input]()
    for topic, records in good.items():
        bases = _some(chosen, records, MAX_BASES)
        times = _times(start, durations, -(-len(bases) // 2))
        end = times[-1]
        own = set(records)
        planned = [(SAMPLE, record, 0.0) for record in samples.get(topic, ()) if record in own]
        planned += [
            (GOOD, bases[(2 * number + n) % len(bases)], seconds + chosen.choice((0.0, 0.25, 0.5)))
            for number, seconds in enumerate(times)
            for n in range(2)
        ]
        planned += [(DUPLICATE, *one[1:]) for one in chosen.sample(planned, min(DUPLICATES, len(planned)))]
        planned += [(LATE, bases[number % len(bases)], end - age) for number, age in enumerate(ages)]
        planned += [(HOSTILE, record, end) for record in _some(chosen, hostile.get(topic, ()), MAX_HOSTILE)]
        planned += [(LAST, base, end + sum(durations) + 26 * HOUR) for base in bases[:2]]
        for kind, record, seconds in planned:
            found.append(Input(topic, moved(record, seconds), round((now + seconds) * 1000), kind))
    return found


def _times(start: float, durations: Sequence[float], least: int) -> list[float]:
    """Return at least `least` growing times. The steps are half of each duration, and one second less and more."""
    steps = [step for one in durations[:MAX_DURATIONS] for step in (one / 2, one - 1, one + 1)]
    return list(accumulate([*steps, *(1.0 for _ in range(least - len(steps) - 1))], initial=start))


def _lateness(delays: Sequence[float], windows: Sequence[float]) -> set[float]:
    """Return ages beyond which a record, or the end of its window, is behind a watermark."""
    if not delays:
        return set()
    between = {sum(delays) / len(delays)} if len(delays) > 1 else set[float]()
    return {*delays, *between, *(delay + window for delay in delays for window in windows)}


def _some(chosen: random.Random, records: Sequence[Sent], most: int) -> list[Sent]:
    """Return at most `most` records in their order: the first `most // 2`, and a random selection of the others."""
    if len(records) <= most:
        return list(records)
    head = most // 2
    return [*records[:head], *(records[n] for n in sorted(chosen.sample(range(head, len(records)), most - head)))]


def batches_of(inputs: Iterable[Input], partitions: int, seed: int) -> list[Batch]:
    """Return the batches of a schedule, each with one topic. Stages are shuffled, and cut at random borders."""
    chosen, found = random.Random(seed), list[Batch]()
    for records in _stages(inputs, chosen):
        topics = list(dict.fromkeys(one.topic for one in records))
        chosen.shuffle(topics)
        for topic in topics:
            own = tuple(one for one in records if one.topic == topic)
            found.append(Batch(topic, chosen.randrange(partitions), own))
    return found


def _stages(inputs: Iterable[Input], chosen: random.Random) -> Iterator[list[Input]]:
    """Yield samples, then good records with duplicates, both in several parts, then the records of each other kind."""
    ordered = sorted(inputs, key=lambda one: STAGES[one.kind])
    for stage, group in groupby(ordered, lambda one: STAGES[one.kind]):
        records = list(group)
        if stage > STAGES[GOOD]:
            chosen.shuffle(records)
            yield records
            continue
        if stage:
            # Records arrive out of order, but not far from their time. The samples keep their order.
            records.sort(key=lambda one: one.time_ms + chosen.uniform(0, 20_000))
        cuts = sorted(chosen.sample(range(1, len(records)), min(BATCHES, len(records)) - 1))
        yield from (records[start:end] for start, end in zip([0, *cuts], [*cuts, len(records)], strict=True))


def smallest(
    batches: Sequence[Batch],
    differs: Callable[[Sequence[Batch]], bool],
    is_over: Callable[[], bool],
    note: Callable[[int], None] = lambda _: None,
) -> list[Input]:
    """
    Return a few records of the batches for which `differs` is still true. Stop the search when `is_over` is true.

    Each attempt leaves out a part of the records: first halves, then smaller parts.
    """
    places = [(number, one) for number, batch in enumerate(batches) for one in batch.inputs]
    kept, parts = list(range(len(places))), 2
    note(len(kept))
    while len(kept) > 1 and not is_over():
        size = -(-len(kept) // parts)
        chunks = [kept[start : start + size] for start in range(0, len(kept), size)]
        candidates = chunks if parts == 2 else [[n for n in kept if n not in chunk] for chunk in chunks]
        for candidate in candidates:
            if is_over() or differs(_only(batches, [places[n] for n in candidate])):
                break
        else:
            if size == 1:
                break
            parts = min(2 * parts, len(kept))
            continue
        if not is_over():
            kept, parts = candidate, max(2, parts - 1)
            note(len(kept))
    return [places[n][1] for n in kept]


def _only(batches: Sequence[Batch], kept: Sequence[tuple[int, Input]]) -> list[Batch]:
    found = [replace(batch, inputs=tuple(i for n, i in kept if n == number)) for number, batch in enumerate(batches)]
    return [batch for batch in found if batch.inputs]
