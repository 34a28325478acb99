from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pyspark.sql import Row
from pyspark.sql.streaming.tws_tester import TwsTester

from examples.attribution.credit.models import CreditRules
from examples.attribution.credit.processor import CONVERSION, TOUCH, CreditProcessor
from examples.attribution.credit.rule import Conversion, OrderCredit, Touch, TouchShare
from tests.attribution.correlation.histories import splits
from tests.attribution.credit.histories import (
    RULES,
    Erasure,
    T,
    UserRecord,
    expected_credits,
    expected_with_erasure,
    histories,
    identity,
    input_row,
)

pytestmark = pytest.mark.spark

USER = "u"
SPAN_MS = 120
DELAY_MS = 20
LONG_SPAN_MS = 2_000

CLICK = Touch("x", 2, "click", True, T, "x", "i", "long", T)
ORDER = Conversion("events:0:1", "a", "o1", T + 5, "e", 100, T + 6, T + 7, 0)


class UserRun:
    """One user in Spark's tester: keeps the newest version of each credit, and checks every row."""

    def __init__(self, rules: CreditRules = RULES) -> None:
        self.tester = TwsTester(CreditProcessor(rules), timeMode="processingTime", outputMode="update")
        self.now = 0
        self.newest: dict[str, OrderCredit] = {}
        self.emitted = 0

    def at(self, now: int, *records: UserRecord | Erasure) -> None:
        if now > self.now:  # the tester rejects the same time
            self.now = now
            self.collect(self.tester.setProcessingTime(now))
        if records:
            self.collect(self.tester.test(USER, [input_row(record) for record in records]))
        assert len(self.timers()) <= 1

    def collect(self, rows: Iterable[Row]) -> None:
        """Keep the newest versions; check that versions only grow, and that shares and money add up."""
        for row in rows:
            credit = credit_of(row)
            known = self.newest.get(credit.result_id)
            assert known is None or credit.version > known.version
            assert sum(share.value_micros for share in credit.credits) in (credit.value_micros, 0)
            assert (credit.code == "attributed") * 1_000_000 == sum(s.credit_millionths for s in credit.credits)
            self.newest[credit.result_id] = credit
            self.emitted += 1

    def contents(self) -> dict[str, OrderCredit]:
        return {result_id: replace(credit, version=0) for result_id, credit in self.newest.items()}

    def timers(self) -> list[int]:
        self.tester.handle.setGroupingKey(USER)
        return [*self.tester.handle.listTimers()]

    def state(self) -> list[Any]:
        collections = [self.tester.peekMapState("touches", USER), self.tester.peekListState("conversions", USER)]
        return [item for item in (*collections, self.tester.peekValueState("user", USER)) if item] + self.timers()


def credit_of(row: Row) -> OrderCredit:
    fields = row.asDict()
    shares = tuple(TouchShare(**share.asDict()) for share in fields.pop("credits"))
    return OrderCredit(**fields, credits=shares)


@hypothesis_settings(max_examples=75, deadline=None, derandomize=True, database=None)
@given(data=st.data())
def test_any_order_and_split_give_the_credit_of_the_rule(data: st.DataObject) -> None:
    history = data.draw(histories(SPAN_MS, DELAY_MS))
    repeats = data.draw(st.lists(st.sampled_from(history), max_size=3))
    arrival = list(data.draw(st.permutations(history + repeats)))
    run, together = UserRun(), UserRun()

    for n, call in enumerate(data.draw(splits(arrival))):
        run.at(T + 10 * n, *call)
    together.at(T, *arrival)
    for user_run in (run, together):
        user_run.at(T + 10 * LONG_SPAN_MS)
        user_run.at(T + 20 * LONG_SPAN_MS)

    assert expected_credits(USER, history) == run.contents() == together.contents()
    assert [] == run.state() == together.state()


@hypothesis_settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(history=histories(LONG_SPAN_MS, RULES.delay_ms), jitter=st.randoms(use_true_random=False))
def test_eviction_of_old_records_changes_no_credit(history: list[UserRecord], jitter: Any) -> None:
    arrives_at = {identity(record): record.stored_at + jitter.randrange(RULES.settle_ms) for record in history}
    arrival = sorted(history, key=lambda record: arrives_at[identity(record)])
    run = UserRun()

    for record in arrival:
        run.at(arrives_at[identity(record)], record)
        touches = run.tester.peekMapState("touches", USER)
        min_stored_at = max(other.stored_at for other in arrival[: arrival.index(record) + 1]) - RULES.retention_ms
        assert all(value[TOUCH.names.index("stored_at")] >= min_stored_at for value in touches.values())
    run.at(T + 10 * LONG_SPAN_MS)

    assert expected_credits(USER, history) == run.contents()
    assert [] == run.state()


def test_credit_is_provisional_then_changed_then_final() -> None:
    """A touch that arrives after the order but in time changes the credit; each change has a higher version."""
    run, versions = UserRun(), []
    late = replace(CLICK, result_id="y", event_id="y", effective_ts=T + 1, stored_at=T + 20)

    for now, records in ((T, [CLICK]), (T + 8, [ORDER]), (T + 21, [late]), (ORDER.stored_at + 39, [])):
        run.at(now, *records)
        versions += [(c.version, c.final, [s.value_micros for s in c.credits]) for c in run.newest.values()]
    run.at(ORDER.stored_at + 40)

    assert [(4, False, [100]), (6, False, [50, 50]), (6, False, [50, 50])] == versions
    assert [(7, True)] == [(credit.version, credit.final) for credit in run.newest.values()]
    assert (600_000, 120_000) == (CreditRules().lateness_ms, CreditRules().settle_ms)


def test_user_with_too_many_touches_keeps_the_newest() -> None:
    """The state of one user is bounded, and credit that may miss an evicted touch is marked as truncated."""
    run = UserRun(replace(RULES, max_user_touches=3))
    many = [replace(CLICK, result_id=f"x{n}", event_id=f"x{n}", effective_ts=T + n) for n in range(5)]

    run.at(T + 4, *many)
    run.at(T + 8, ORDER)

    assert 3 == len(run.tester.peekMapState("touches", USER))
    assert [(True, 3)] == [(credit.path_truncated, len(credit.credits)) for credit in run.newest.values()]


@hypothesis_settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(data=st.data(), history=histories(SPAN_MS, DELAY_MS), erased_at=st.integers(T, T + SPAN_MS + DELAY_MS))
def test_erasure_separates_old_and_new_records(data: st.DataObject, history: list[UserRecord], erased_at: int) -> None:
    arrival = sorted([Erasure(erased_at), *history], key=lambda record: (record.stored_at, isinstance(record, Erasure)))
    run = UserRun()

    for call in data.draw(splits(arrival)):
        run.at(max(record.stored_at for record in call), *call)
    run.at(T + 10 * LONG_SPAN_MS)

    before = [record for record in history if record.stored_at <= erased_at]
    assert expected_with_erasure(USER, history, erased_at) == run.contents()
    assert {*expected_credits(USER, before)} <= {*run.contents()}
    assert sum(isinstance(r, Conversion) for r in history) == sum(c.records for c in run.newest.values())
    assert [] == run.state()


def test_erasure_clears_the_user_and_keeps_the_totals() -> None:
    """
    A tombstone makes credit final and removes touches and orders; older touches that arrive later are ignored.

    Only the position of the order's record remains, so an order that a restarted query writes again is counted once.
    """
    run = UserRun()
    run.at(T + 8, CLICK, ORDER)

    run.at(T + 50, Erasure(T + 50))

    assert [("attributed", True)] == [(credit.code, credit.final) for credit in run.newest.values()]
    assert {} == run.tester.peekMapState("touches", USER)
    assert [(ORDER.src, "", "", 0, "", 0, 0, ORDER.stored_at, 0)] == run.tester.peekListState("conversions", USER)
    emitted = run.emitted
    run.at(T + 52, replace(ORDER, stored_at=T + 51))
    run.at(T + 53, Erasure(T + 53))
    run.at(T + 56, replace(ORDER, stored_at=T + 54))
    assert emitted == run.emitted
    stored_again = replace(CLICK, version=4, stored_at=T + 54)
    run.at(T + 60, CLICK, stored_again, replace(ORDER, src="events:0:2", stored_at=T + 55))
    assert ["attributed", "unattributed"] == [run.newest[f"{USER}/a/o1{suffix}"].code for suffix in ("", f"/{T + 53}")]
    run.at(T + 10 * LONG_SPAN_MS)
    assert [] == run.state()


def test_version_does_not_depend_on_what_is_read_first_of_touch_and_erasure() -> None:
    """After a restart in real-time mode, topics can be read in another order; the final version must not decrease."""
    erasure, order = Erasure(T + 1), replace(ORDER, effective_ts=T + 9, stored_at=T + 9)
    versions = []
    for first, second in ((CLICK, erasure), (erasure, CLICK)):
        run = UserRun()
        for number, record in enumerate((first, second, order)):
            run.at(T + 10 + number, record)
        run.at(T + 10 * LONG_SPAN_MS)
        versions.append({result_id: credit.version for result_id, credit in run.newest.items()})

    assert versions[0] == versions[1]
    assert 1 == len(versions[0])


def test_state_keeps_the_names_in_old_checkpoints() -> None:
    """Checkpoints contain the names and their order, so a renamed field would end a restarted query."""
    touch = "result_id version kind is_valid effective_ts event_id impression_id campaign_id stored_at"
    conversion = "src advertiser_id order_id effective_ts event_id value_micros appended_at stored_at seen_at"

    assert [touch, conversion] == [" ".join(TOUCH.names), " ".join(CONVERSION.names)]
