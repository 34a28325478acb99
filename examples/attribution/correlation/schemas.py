"""Define the schema of `ad-attributed`, and the event fields that are stored in the state of a transaction."""

from dataclasses import fields

from examples.attribution.correlation.rule import Event, Result
from examples.attribution.schemas import struct_of

HISTORY = tuple(field.name for field in fields(Event))
"""The names of the stored fields. `array_sort` compares field by field, so the first three fields order the events."""

ATTRIBUTED = struct_of(Result)
"""
One result. Times are UTC milliseconds. For each result id, only the highest version is valid.

    {"result_id": "run-t734/1767225577743/click/run-e741", "version": 12, "kind": "click", "code": "matched",
     "transaction_id": "run-t734", "request_ts": 1767225577743, "campaign_id": "run-campaign-0",
     "effective_ts": 1767225610095, "src": "ad-callbacks:0:000000000251", "appended_at": 1767225625702,
     "clock_skew": false, "user_key": "user-4940", "event_id": "run-e741", "impression_id": "run-i737"}
"""
