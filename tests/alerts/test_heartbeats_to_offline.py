"""A silent device raises one timely alarm, which its return clears. Duplicates and restarts raise no false alarm."""

import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from examples.alerts.heartbeats_to_offline import JOB, OFFLINE, SILENCE_MS, SKEW_MS, heartbeats_to_offline, ticks_for
from examples.alerts.job import Options, start
from spark_rtm.realtime.proof import assert_real_time
from spark_rtm.realtime.queries import raise_if_failed, stop_completely
from spark_rtm.testing.records import Received
from tests.alerts.helpers import BROKEN, START_SECONDS, create, encoded, outputs_of, send
from tests.helpers import eventually, records_of

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(300)]

SLACK_MS = 60_000
BEAT_SECONDS = 0.1
PAUSE_MS = 100


def now_ms() -> int:
    return int(time.time() * 1000)


def beat(device: str, beat_ts: int | None = None, **changes: Any) -> tuple[bytes, bytes]:
    fields = {"device_id": device, "beat_ts": now_ms() if beat_ts is None else beat_ts}
    return device.encode(), encoded(fields, **changes)


def changes(outputs: list[Received]) -> list[dict[str, Any]]:
    changed = [output.fields() for output in outputs if output.topic == "heartbeats-offline"]
    return sorted(changed, key=lambda change: change["emitted_ts"])


def append_times(options: Options) -> dict[str, list[int]]:
    times: defaultdict[str, list[int]] = defaultdict(list)
    for heartbeat in records_of(options.bootstrap_servers, f"{options.topic_prefix}heartbeats"):
        times[(heartbeat.key() or b"").decode()].append(heartbeat.timestamp()[1])
    return times


def send_in_time(options: Options, device: str) -> None:
    """Send a heartbeat, and send another one if the job will reject it because a busy machine delayed its append."""
    while True:
        sent_ms = now_ms()
        send(options, "heartbeats", [beat(device, sent_ms)])
        if append_times(options)[device][-1] <= sent_ms + SILENCE_MS:
            return


@contextmanager
def beating(options: Options, device: str) -> Iterator[None]:
    """Send heartbeats of a device until the block ends."""
    stop = threading.Event()

    def run() -> None:
        producer = Producer({"bootstrap.servers": options.bootstrap_servers, "linger.ms": 0})
        while not stop.wait(BEAT_SECONDS):
            key, value = beat(device)
            producer.produce(f"{options.topic_prefix}heartbeats", value, key, partition=0)
            producer.flush(60)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@dataclass(frozen=True)
class Observed:
    """The job's output before and after a restart without a commit, and the records that it read."""

    before: list[Received]
    after: list[Received]
    bad: dict[str, bytes | None]
    """Records that the job must reject, by reject reason."""
    stale: list[bytes]
    """Late heartbeats that were sent a second time."""
    appended: dict[str, list[int]]
    """Append times of the heartbeats, by key."""

    def changes_of(self, outputs: list[Received], device: str) -> list[dict[str, Any]]:
        return changes([output for output in outputs if output.key == device.encode()])


@pytest.fixture(scope="module")
def observed(spark: SparkSession, shared_options: Options) -> Observed:
    """
    Observe a run with five devices, and its restart with batches of five seconds.

    Device `back` returns after its alarm, `repeated` sends each heartbeat twice, `rejected` sends bad records before
    its first heartbeat, `restarted` returns while the job is stopped, and `steady` sends heartbeats all the time.
    """
    options = shared_options
    create(JOB, options)
    bad, (last, older) = bad_records("rejected"), (beat("repeated"), beat("repeated", now_ms() - PAUSE_MS))
    send(options, "heartbeats", [last])
    eventually(lambda: now_ms() > append_times(options)["repeated"][0], 60, "a later append time of the repeats")
    send(options, "heartbeats", [last, older, beat("restarted"), *((b"bad", value) for value in bad.values())])
    with ticks_for(options):
        query = start(JOB, spark, options)
        send(options, "heartbeats", [beat("back")])
        outputs_of(options, JOB, len(bad) + 3, START_SECONDS)
        with beating(options, "steady"):
            send(options, "heartbeats", [last, older, beat("rejected"), beat("back")])
            before = without_steady(outputs_of(options, JOB, lambda read: len(without_steady(read)) == len(bad) + 8))
            assert_real_time(query)
            assert query.lastProgress is None
            stop_completely(spark, query)
            send(options, "heartbeats", [beat("restarted")])
            unread = len(append_times(options)["steady"]) + 2 / BEAT_SECONDS
            eventually(lambda: len(append_times(options)["steady"]) > unread, 60, "two seconds of heartbeats")

            query = start(JOB, spark, replace(options, interval_seconds=5))
            eventually(lambda: len(query.recentProgress) > 1, START_SECONDS, "two batches after the restart")
        appended = append_times(options)
        last_alarm = f"steady/{appended['steady'][-1]}"

        def is_complete(read: list[Received]) -> bool:
            is_silent = any(change["alarm_id"] == last_alarm for change in changes(read))
            return is_silent and len(without_steady(read)) == 2 * len(before) + 2

        found = outputs_of(options, JOB, is_complete, START_SECONDS)
        raise_if_failed([query])
    stopped_ms = max(change["emitted_ts"] for change in changes(before))
    after = [o for o in found if o.topic == "heartbeats-offline" and o.fields()["emitted_ts"] > stopped_ms]
    return Observed(before, after, bad, [last[1], older[1]], appended)


def without_steady(outputs: list[Received]) -> list[Received]:
    return [output for output in outputs if output.key != b"steady"]


def bad_records(device: str) -> dict[str, bytes | None]:
    """Return one device's records that the job must reject, by reason."""
    return {
        **BROKEN,
        "bad_id:device_id": beat(device, device_id="d 1")[1],
        "late": beat(device, now_ms() - SILENCE_MS - SLACK_MS)[1],
        "future": beat(device, now_ms() + SKEW_MS + SLACK_MS)[1],
    }


def test_silent_device_raises_alarm_that_its_return_clears(observed: Observed) -> None:
    """The alarm has the time of the last heartbeat and is raised during the batch; the `online` change has its id."""
    found = observed.changes_of(observed.before, "back")
    first, second = observed.appended["back"]

    expected = [
        (f"back/{first}", "back", "offline", first, first + SILENCE_MS),
        (f"back/{first}", "back", "online", second, first + SILENCE_MS),
        (f"back/{second}", "back", "offline", second, second + SILENCE_MS),
    ]
    assert expected == [tuple(change.values())[:-1] for change in found]
    assert {tuple(OFFLINE.names)} == {tuple(change) for change in found}


def test_repeated_and_overtaken_heartbeats_change_no_alarm(observed: Observed) -> None:
    (raised,) = observed.changes_of(observed.before, "repeated")

    assert "offline" == raised["status"]
    assert observed.appended["repeated"][0] == raised["last_seen_ts"]
    rejected = [o for o in observed.before if o.key == b"repeated" and o.topic == "heartbeats-rejected"]
    assert [(value, b"late") for value in observed.stale] == [(o.value, dict(o.headers)["reason"]) for o in rejected]


def test_unreadable_or_late_heartbeat_is_rejected_with_reason(observed: Observed) -> None:
    """Each rejected record keeps its bytes and has a reason; a late heartbeat neither raises nor clears an alarm."""
    (raised,) = observed.changes_of(observed.before, "rejected")

    assert ("offline", observed.appended["rejected"][0]) == (raised["status"], raised["last_seen_ts"])
    expected = [("heartbeats-rejected", b"bad", value, reason) for reason, value in observed.bad.items()]
    rejected = [o for o in observed.before if o.key == b"bad"]
    assert expected == [(o.topic, o.key, o.value, (dict(o.headers)["reason"] or b"").decode()) for o in rejected]


def test_restart_before_commit_repeats_and_clears_the_alarm(observed: Observed) -> None:
    """Uncommitted changes are emitted again with the same ids, even if the device has returned since."""
    before, after = (observed.changes_of(outputs, "restarted") for outputs in (observed.before, observed.after))
    first, second = observed.appended["restarted"]

    assert ["offline", "offline", "online", "offline"] == [change["status"] for change in before + after]
    assert [f"restarted/{at}" for at in (first, first, first, second)] == [c["alarm_id"] for c in before + after]
    for device in ("back", "repeated", "rejected"):
        emitted = [
            [(change["alarm_id"], change["status"]) for change in observed.changes_of(outputs, device)]
            for outputs in (observed.before, observed.after)
        ]
        assert emitted[0] == emitted[1]


def test_heartbeats_during_a_restart_raise_no_alarm(observed: Observed) -> None:
    """A batch boundary or a restart does not count as silence, although timers are due and heartbeats unread."""
    times = observed.appended["steady"]
    silences = {f"steady/{at}" for at, after in pairwise(times) if after > at + SILENCE_MS}

    alarms = {c["alarm_id"] for c in observed.changes_of(observed.after, "steady") if c["status"] == "offline"}

    assert {*silences, f"steady/{times[-1]}"} == alarms


def test_alarm_without_ticks_waits_for_the_end_of_the_batch(spark: SparkSession, options: Options) -> None:
    """A due timer waits for a row of its state partition. After a long silence, the job removes the device's state."""

    def forgetful(heartbeats: DataFrame, ticks: DataFrame) -> DataFrame:
        return heartbeats_to_offline(heartbeats, ticks, 3 * SILENCE_MS)

    create(JOB, options)
    send_in_time(options, "d1")

    query = start(replace(JOB, transform=forgetful), spark, replace(options, interval_seconds=5))

    alarm, forgotten = changes(outputs_of(options, JOB, lambda outputs: len(changes(outputs)) == 2, START_SECONDS))
    assert ("offline", "forgotten") == (alarm["status"], forgotten["status"])
    assert alarm["alarm_id"] == forgotten["alarm_id"]
    eventually(lambda: started_ms(query)[-1:] > [forgotten["emitted_ts"]], 60, "the next batch")
    for change in (alarm, forgotten):
        began = max(at for at in started_ms(query) if at <= change["emitted_ts"])
        assert began + 5_000 <= change["emitted_ts"]
    assert 0 == query.recentProgress[-1].stateOperators[0].numRowsTotal


def started_ms(query: StreamingQuery) -> list[int]:
    times = [datetime.fromisoformat(progress.timestamp) for progress in query.recentProgress]
    return [int(at.timestamp() * 1000) for at in times]
