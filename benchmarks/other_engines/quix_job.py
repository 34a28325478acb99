"""
The workloads of `harness/workloads.py` in Quix Streams, as plain Python functions.

This file runs in the Python environment of Quix Streams and imports nothing from this repository. The only argument is
a JSON object with the topics, the workload and the settings.
"""

import json
import sys
from typing import Any

from quixstreams import Application, State  # type: ignore[import-not-found]

FIELDS = ("id", "seq", "kind", "ts", "amount")
KINDS = ("request", "impression", "click", "complete")


def decode(raw: str) -> dict[str, Any]:
    """Return the known fields, or the raw record and the reason for its rejection."""
    record = json.loads(raw)
    if record.get("id") is None:
        return {"reason": "missing:id", "raw": raw}
    if record.get("kind") not in KINDS:
        return {"reason": "unknown_kind", "raw": raw}
    return {field: record.get(field) for field in FIELDS}


def correlate(record: dict[str, Any], state: State) -> dict[str, Any]:
    """Add the record to the state of its transaction. The message key is the transaction id."""
    totals: dict[str, Any] = state.get("transaction", {"request_ts": None, "impressions": 0, "seqs": []})
    if record["kind"] == "request" and totals["request_ts"] is None:
        totals["request_ts"] = record["ts"]
    totals["impressions"] += record["kind"] == "impression"
    totals["seqs"].append(record["seq"])
    totals |= {"seq": record["seq"], "id": record["id"], "last_ts": record["ts"]}
    state.set("transaction", totals)
    return totals


def build(run: dict[str, Any]) -> Application:
    """Return the application for one run."""
    application = Application(**run["settings"], loglevel="WARNING")
    decoded = application.dataframe(application.topic(run["source"], value_deserializer="str")).apply(decode)
    valid = decoded.filter(lambda record: "reason" not in record)
    target = application.topic(run["target"], value_serializer="json")
    if run["workload"] == "stateful":
        valid.apply(correlate, stateful=True).to_topic(target)
    else:
        valid.to_topic(target)
        rejected = application.topic(run["rejected"], value_serializer="json")
        decoded.filter(lambda record: "reason" in record).to_topic(rejected)
    return application


if __name__ == "__main__":
    build(json.loads(sys.argv[1])).run()
