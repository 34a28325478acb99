"""
Express the correlation rule as SQL expressions over an array that contains the events of one transaction.

Real-time mode on OSS 4.3.0 runs no Python code on rows, so higher-order SQL functions replace the loops of
`correlation/rule.py`. Tests compare the results of both modules for generated histories with events in any order.
"""

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F

from examples.attribution.correlation.rule import BILLABLE, STEPS, Result
from examples.attribution.correlation.windows import Windows
from examples.attribution.schemas import struct_of

ATTRIBUTED = struct_of(Result)
"""
One result. Times are UTC milliseconds. For each result id, only the highest version is valid.

    {"result_id": "run-t734/1767225577743/click/run-e741", "version": 12, "kind": "click", "code": "matched",
     "transaction_id": "run-t734", "request_ts": 1767225577743, "campaign_id": "run-campaign-0",
     "effective_ts": 1767225610095, "src": "ad-callbacks:0:000000000251", "appended_at": 1767225625702,
     "clock_skew": false, "user_key": "user-4940", "event_id": "run-e741", "impression_id": "run-i737"}
"""


def results_of(history: Column, windows: Windows) -> Column:
    """Convert a history (array<HISTORY>) into the results (array<ATTRIBUTED>) that `rule.correlate` returns."""

    def of_arrived(arrived: Column) -> Column:
        kept = F.slice(arrived, 1, windows.max_events)
        excess = F.slice(arrived, F.lit(windows.max_events + 1), F.size(arrived))
        return F.concat(_stamped(_results(kept, windows), kept), _too_many_events(excess, windows))

    return _let(_first_per(history, lambda event: event["src"]), of_arrived)


def changes_of(first: Column, last: Column, events: Column, windows: Windows) -> Column:
    """
    Return the results (array<ATTRIBUTED>) that the last event of a history changes.

    `first` (array<HISTORY>) contains the first `windows.max_events` events of the history, `last` is the last event,
    and `events` is the number of all events. A record beyond the maximum number of events changes only its own result.
    Unlike `rule.correlate`, this function counts copies of a record as events, so a history with copies reaches the
    maximum number earlier.
    """
    before = F.slice(first, F.lit(1), F.size(first) - 1)
    # One expression evaluates the history with and without its last event, because two expressions would double the
    # planning time of every batch.
    both = F.transform(F.array(first, before), lambda events: _results(events, windows))
    changes = _stamped(_let(both, lambda results: F.array_except(results[0], results[1])), first)
    is_new = ~F.exists(first, lambda event: event["src"] == last["src"])
    excess = _too_many_events(F.when(is_new, F.array(last)).otherwise(F.array()), windows)
    return F.when(events > windows.max_events, excess).otherwise(changes)


def _stamped(results: Column, history: Column) -> Column:
    records = F.size(F.array_distinct(F.transform(history, lambda event: event["src"])))
    return _let(
        (2 * records).cast("long"),
        lambda version: F.transform(results, lambda result: result.withField("version", version)),
    )


def _too_many_events(excess: Column, windows: Windows) -> Column:
    def result(event: Column) -> Column:
        match = _match(event, F.lit("too_many_events"), F.lit(False), F.lit(None).cast("long"))
        id_tail = F.concat_ws("/", F.lit("too_many_events"), event["src"])
        return _result(match, event["kind"], id_tail).withField("version", F.lit(2 * windows.max_events).cast("long"))

    return F.transform(excess, result)


def _results(history: Column, windows: Windows) -> Column:
    def of_records(records: Column) -> Column:
        return _let(_first_per(records, _identity), lambda firsts: of_firsts(records, firsts))

    def of_firsts(records: Column, firsts: Column) -> Column:
        requests = F.filter(firsts, _is_request)
        return _let(requests, lambda requests: _let(_slot_names(records), of_requests(records, firsts, requests)))

    def of_requests(records: Column, firsts: Column, requests: Column) -> Callable[[Column], Column]:
        impressions = F.filter(firsts, lambda event: event["kind"] == "impression")
        return lambda slots: _let(
            _match_impressions(requests, slots, impressions, windows),
            lambda matches: F.concat(
                _requests(requests),
                _slots(requests, slots, matches, windows),
                _as_results(matches),
                _as_results(_match_callbacks(matches, F.filter(firsts, _is_callback), windows)),
                _duplicates(records),
            ),
        )

    return _let(F.array_sort(history), lambda events: _let(_first_per(events, lambda e: e["src"]), of_records))


def _let(value: Column, body: Callable[[Column], Column]) -> Column:
    # A lambda variable is evaluated once, but an expression inside a lambda is evaluated for each element. `aggregate`
    # over an empty array binds its start value to the lambda variable of `body`, so `value` is evaluated once. Unlike
    # `transform`, `aggregate` does not copy the result of `body`.
    return F.aggregate(F.array(), value, lambda start, _: start, body)


def _first_per(events: Column, key: Callable[[Column], Column]) -> Column:
    return _let(
        F.transform(events, key),
        lambda keys: F.filter(events, lambda event, index: F.array_position(keys, key(event)) == index + 1),
    )


def _identity(event: Column) -> Column:
    return F.concat_ws("/", event["kind"], event["event_id"])


def _is_request(event: Column) -> Column:
    return event["kind"] == "request"


def _is_callback(event: Column) -> Column:
    return event["kind"].isin("click", *STEPS)


def _slot_names(records: Column) -> Column:
    # Use the ad slots of all requests, including repeated requests with different ad slots. Otherwise a new request
    # could remove an ad slot whose result has already been emitted.
    requests = F.filter(records, _is_request)
    return F.array_sort(F.array_distinct(F.flatten(F.transform(requests, lambda request: request["slots"]))))


def _match_impressions(requests: Column, slots: Column, impressions: Column, windows: Windows) -> Column:
    def match_impression(impression: Column, request: Column) -> Column:
        late, orphan, skewed = _delay(impression, request, windows.request_to_impression_ms, windows.hold_ms, windows)
        code = (
            F.when(request.isNull(), "pending")
            .when(late, "late_impression")
            .when(orphan, "orphan_impression")
            .when(~F.array_contains(slots, impression["slot_id"]), "invalid_slot")
            .when(request["server_ts"] > impression["server_ts"], "matched_late_request")
            .otherwise("matched")
        )
        deadline = F.when(request.isNull(), impression["server_ts"] + windows.hold_ms)
        return _match(impression, code, F.coalesce(skewed, F.lit(False)), deadline)

    def mark_duplicates(matches: Column) -> Column:
        slots = F.transform(matches, lambda m: F.when(m["code"].isin(*BILLABLE), m["event"]["slot_id"]))
        return _let(slots, lambda filled: F.transform(matches, lambda m, index: mark(m, index, filled)))

    def mark(match: Column, index: Column, filled_slots: Column) -> Column:
        is_repeated = F.array_position(filled_slots, match["event"]["slot_id"]) != index + 1
        is_duplicate = match["code"].isin(*BILLABLE) & is_repeated
        return match.withField("code", F.when(is_duplicate, "duplicate_impression").otherwise(match["code"]))

    matches = F.transform(impressions, lambda impression: match_impression(impression, F.get(requests, F.lit(0))))
    return _let(matches, mark_duplicates)


def _match_callbacks(impressions: Column, callbacks: Column, windows: Windows) -> Column:
    def match_callback(event: Column, parent: Column) -> Column:
        hold_ms = F.when(event["kind"] == "click", windows.impression_to_click_ms).otherwise(windows.playback_grace_ms)
        creative_ms = F.when(event["kind"] == "click", 0).otherwise(parent["event"]["creative_length_ms"])
        late, orphan, skewed = _delay(event, parent["event"], hold_ms + creative_ms, hold_ms, windows)
        code = (
            F.when(parent.isNull() | (parent["code"] == "pending"), "pending")
            .when(parent["code"] == "late_impression", F.concat(F.lit("late_"), _family(event)))
            .when(~parent["code"].isin(*BILLABLE), F.concat(F.lit("orphan_"), _family(event)))
            .when(late, F.concat(F.lit("late_"), _family(event)))
            .when(orphan, F.concat(F.lit("orphan_"), _family(event)))
            .otherwise("matched")
        )
        deadline = F.when(parent.isNull(), event["server_ts"] + hold_ms).otherwise(parent["deadline"])
        return _match(event, code, F.coalesce(parent["code"].isin(*BILLABLE) & skewed, F.lit(False)), deadline)

    def mark_repeats(matches: Column) -> Column:
        kinds = F.transform(matches, lambda m: F.when(m["code"] == "matched", _kind_and_impression(m["event"])))
        return _let(kinds, lambda matched: F.transform(matches, lambda m, index: mark(m, index, matched)))

    def mark(match: Column, index: Column, matched_kinds: Column) -> Column:
        event, is_matched = match["event"], match["code"] == "matched"
        is_repeated = F.array_position(matched_kinds, _kind_and_impression(event)) != index + 1
        earlier_steps = F.array(*(F.concat_ws("/", F.lit(step), event["impression_id"]) for step in STEPS[:-1]))
        is_step_missing = F.exists(earlier_steps, lambda step: F.array_position(matched_kinds, step) == 0)
        code = (
            F.when(is_matched & is_repeated, F.concat(F.lit("repeat_"), _family(event)))
            .when(is_matched & (event["kind"] == "complete") & is_step_missing, "partial_quartiles")
            .otherwise(match["code"])
        )
        return match.withField("code", code)

    ids = F.transform(impressions, lambda match: match["event"]["impression_id"])
    matches = _let(
        ids,
        lambda ids: F.transform(
            callbacks,
            lambda event: _let(
                F.get(impressions, (F.array_position(ids, event["impression_id"]) - 1).cast("int")),
                lambda parent: match_callback(event, parent),
            ),
        ),
    )
    return _let(matches, mark_repeats)


def _delay(
    child: Column, parent: Column, limit_ms: int | Column, hold_ms: int | Column, windows: Windows
) -> tuple[Column, Column, Column]:
    """Return whether `child` is too late, whether it is too early, and whether the collector's times were used."""
    delay_ms = child["effective_ts"] - parent["effective_ts"]
    skewed = delay_ms < -windows.skew_tolerance_ms
    delay_ms = F.when(skewed, child["server_ts"] - parent["server_ts"]).otherwise(delay_ms)
    return delay_ms > limit_ms, delay_ms < -F.lit(hold_ms), skewed


def _kind_and_impression(event: Column) -> Column:
    return F.concat_ws("/", event["kind"], event["impression_id"])


def _family(event: Column) -> Column:
    return F.when(event["kind"] == "click", "click").otherwise("step")


def _match(event: Column, code: Column, clock_skew: Column, deadline: Column) -> Column:
    return F.struct(
        event.alias("event"), code.alias("code"), clock_skew.alias("clock_skew"), deadline.alias("deadline")
    )


def _slots(requests: Column, slots: Column, impressions: Column, windows: Windows) -> Column:
    def slot(request: Column, slot_id: Column, winners: Column) -> Column:
        winner = F.get(winners, F.lit(0))
        deadline = F.when(winner.isNull(), request["effective_ts"] + windows.request_to_impression_ms)
        match = _match(
            request.withField("slot_id", slot_id).withField("impression_id", winner["event"]["impression_id"]),
            F.when(winner.isNull(), "pending").otherwise("filled"),
            F.lit(False),
            deadline,
        )
        return _result(match, F.lit("slot"), F.concat(F.lit("slot/"), slot_id))

    def winners_of(slot_id: Column) -> Column:
        return F.filter(impressions, lambda m: m["code"].isin(*BILLABLE) & (m["event"]["slot_id"] == slot_id))

    request = F.get(requests, F.lit(0))
    return F.transform(slots, lambda name: _let(winners_of(name), lambda w: slot(request, name, w)))


def _requests(requests: Column) -> Column:
    def accepted(request: Column, index: Column) -> Column:
        code = F.when(index == 0, "accepted").otherwise("duplicate_request")
        return _match(request, code, F.lit(False), F.lit(None).cast("long"))

    return _as_results(F.transform(requests, accepted))


def _duplicates(records: Column) -> Column:
    def duplicates(identities: Column) -> Column:
        copies = F.transform(records, lambda event, index: F.struct(event.alias("event"), copy(identities, index)))
        return F.transform(F.filter(copies, lambda c: c["copy"] > 0), result)

    def copy(identities: Column, index: Column) -> Column:
        before = F.slice(identities, F.lit(1), index)
        return F.size(F.filter(before, lambda name: name == F.get(identities, index))).alias("copy")

    def result(copy: Column) -> Column:
        event = copy["event"]
        match = _match(event, F.lit("duplicate_event"), F.lit(False), F.lit(None).cast("long"))
        return _result(match, event["kind"], F.concat_ws("/", F.lit("duplicate_event"), _identity(event), copy["copy"]))

    return _let(F.transform(records, _identity), duplicates)


def _as_results(matches: Column) -> Column:
    return F.transform(matches, lambda m: _result(m, m["event"]["kind"], _identity(m["event"])))


def _result(match: Column, kind: Column, id_tail: Column) -> Column:
    event = match["event"]
    values = {
        "result_id": F.concat_ws("/", event["transaction_id"], event["request_ts"], id_tail),
        "version": F.lit(0).cast("long"),
        "kind": kind,
        "code": match["code"],
        "clock_skew": F.coalesce(event["clock_skew"], F.lit(False)) | match["clock_skew"],
        "deadline": match["deadline"],
    }
    return F.struct(*((values[name] if name in values else event[name]).alias(name) for name in ATTRIBUTED.names))
