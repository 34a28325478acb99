"""
Do the works of `work.py` in Quix Streams; this file runs in its own environment and imports nothing of ours.

Raw JSON arrives from a topic, JSON leaves to one or two topics; the only argument is a JSON object with their names and
the settings. Real-time mode is compared with plain Python functions, which is what Quix asks its users for.
"""

import json
import sys
from typing import Any

from quixstreams import Application, State  # type: ignore[import-not-found]

FIELDS = ("id", "seq", "kind", "ts", "amount")
KINDS = ("request", "impression", "click", "complete")


def decode(raw: str) -> dict[str, Any]:
    """Return the known fields, or for a record that is refused its raw form and the reason."""
    record = json.loads(raw)
    if record.get("id") is None:
        return {"reason": "missing:id", "raw": raw}
    if record.get("kind") not in KINDS:
        return {"reason": "unknown_kind", "raw": raw}
    return {field: record.get(field) for field in FIELDS}


def correlate(record: dict[str, Any], state: State) -> dict[str, Any]:
    """Add the record to what is known of its transaction, which is the key of the message and so of the state."""
    known: dict[str, Any] = state.get("transaction", {"request_ts": None, "impressions": 0, "seqs": []})
    if record["kind"] == "request" and known["request_ts"] is None:
        known["request_ts"] = record["ts"]
    known["impressions"] += record["kind"] == "impression"
    known["seqs"].append(record["seq"])
    known |= {"seq": record["seq"], "id": record["id"], "last_ts": record["ts"]}
    state.set("transaction", known)
    return known


def build(run: dict[str, Any]) -> Application:
    """Return the application with its flow from topic to topics."""
    application = Application(**run["settings"], loglevel="WARNING")
    decoded = application.dataframe(application.topic(run["source"], value_deserializer="str")).apply(decode)
    valid = decoded.filter(lambda record: "reason" not in record)
    target = application.topic(run["target"], value_serializer="json")
    if run["work"] == "stateful":
        valid.apply(correlate, stateful=True).to_topic(target)
    else:
        valid.to_topic(target)
        rejected = application.topic(run["rejected"], value_serializer="json")
        decoded.filter(lambda record: "reason" in record).to_topic(rejected)
    return application


if __name__ == "__main__":
    build(json.loads(sys.argv[1])).run()
