from dataclasses import replace
from functools import cache

from hypothesis import strategies as st

from examples.attribution.correlation.rule import Event, Result, correlate
from tests.attribution.correlation.histories import FLAGS, WINDOWS, T, drawn, histories

COUNT = 60
FOREVER = 10**14
CAMPAIGNS = ("c1", "c2", "c3")
BUCKETS_MS = st.integers(T - 1_500, T + 1_500)
# Strategies are made once, because making one takes longer than drawing from it.
CAMPAIGN_IDS = st.sampled_from(CAMPAIGNS)
NUMBERS = st.integers(0, 10**9)
HISTORIES = histories()


@st.composite
def transactions(draw: st.DrawFn) -> list[Event]:
    campaign_id, request_ts = draw(CAMPAIGN_IDS), draw(BUCKETS_MS)
    name = f"t{draw(NUMBERS)}"
    history = draw(HISTORIES)
    return [replace(event, transaction_id=name, campaign_id=campaign_id, request_ts=request_ts) for event in history]


TRANSACTIONS = transactions()


@st.composite
def versions(draw: st.DrawFn) -> list[Result]:
    history = draw(TRANSACTIONS)
    clocks = [None, FOREVER] if draw(FLAGS) else [None]
    lengths = range(1, len(history) + 1)
    emitted = [result for n in lengths for now in clocks for result in correlate(history[:n], WINDOWS, now)]
    duplicates = draw(st.lists(st.sampled_from(emitted), max_size=3))
    return list(draw(st.permutations(emitted + duplicates)))


@cache
def generated() -> list[list[Result]]:
    return drawn(versions(), COUNT)
