from collections.abc import Mapping
from typing import Any

from benchmarks.growth.fit import model_rows
from benchmarks.growth.points import Point, planned_points
from spark_rtm.measure.capacity_model import CostModel

COEFFICIENTS: Mapping[str, Mapping[str, float]] = {
    "busy_cores": {
        "1": 0.05,
        "queries": 0.02,
        "queries * partitions": 0.01,
        "queries * rate": 0.0001,
        "queries * sqrt(rate) * sqrt(partitions)": 0.004,
        "queries * rate * record_bytes": 3e-08,
        "queries * rate * log10(keys)": 4e-06,
        "queries * rate * log10(state_keys)": 2e-06,
    },
    "memory_mb": {
        "1": 600,
        "queries": 20,
        "queries * partitions": 8,
        "queries * state_keys": 0.0001,
        "queries * rate * record_bytes": 2e-05,
    },
    "state_mb": {"queries * partitions": 8, "queries * state_keys": 0.00005},
    "pause_ms": {
        "1": 30,
        "queries": 5,
        "queries * partitions": 10,
        "queries * log10(state_keys)": 4,
        "queries * state_keys": 0.00002,
        "rate": 0.005,
    },
}
"""A model with every term of the fit."""
TRUTH = CostModel(COEFFICIENTS, {})
CONDITIONS = {
    "date": "2026-11-25",
    "cores": 2,
    "java": "17.0.15",
    "java_options": "",
    "pyspark": "4.3.0",
    "kafka_connector": "4.2.0",
    "kafka_broker_and_clients": "4.4.0",
    "warm_up_seconds": 40,
    "duration_seconds": 28,
    "interval_seconds": 7,
}


def rows(model: CostModel = TRUTH) -> list[dict[str, Any]]:
    found = []
    for planned in planned_points():
        inputs = planned.point.inputs
        costs = {quantity: model.predict(quantity, inputs) for quantity in model.terms}
        found.append(
            {
                "dimension": planned.dimension,
                "label": planned.label,
                **inputs,
                "requested_state_keys": inputs["state_keys"],
                "state_rows": inputs["state_keys"],
                "state_disk_mb": 0.5,
                **costs,
                "cpu_seconds_per_million": 1e6 * costs["busy_cores"] / inputs["rate"],
                "p50_ms": 2.5,
                "p99_ms": 80.0,
                "foreign_cores": 0.03,
                "kept_up": True,
                "problems": "",
            }
        )
    return found


def content() -> dict[str, Any]:
    return {"conditions": CONDITIONS, "runs": rows(), "base": Point().inputs, **model_rows(rows())}
