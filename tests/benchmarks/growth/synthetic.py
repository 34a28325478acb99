import json
from collections.abc import Mapping
from typing import Any

from benchmarks.growth.fit import TERMS, model_rows
from benchmarks.growth.points import Point, planned_points
from spark_rtm.commands.capacity import CostModel, value_of
from tests.conftest import ROOT

SHARES = {"busy_cores": 0.02, "memory_mb": 100, "state_mb": 4, "pause_ms": 10}
"""What each term costs in the base run."""
COEFFICIENTS: Mapping[str, Mapping[str, float]] = {
    quantity: {term: SHARES[quantity] / value_of(term, Point().inputs) for term in terms}
    for quantity, terms in TERMS.items()
}
"""A model with every term of the fit."""
TRUTH = CostModel(COEFFICIENTS, {})


def rows(model: CostModel = TRUTH) -> list[dict[str, Any]]:
    found = []
    for point in planned_points():
        inputs = point.inputs
        costs = {quantity: model.predict(quantity, inputs) for quantity in model.terms}
        known = {"dimension": point.dimension, "label": point.label, **inputs, **costs, "p99_ms": 80.0}
        per_million = {"cpu_seconds_per_million": 1e6 * costs["busy_cores"] / inputs["rate"]}
        found.append({**known, **per_million, "kept_up": True, "problems": ""})
    return found


def content() -> dict[str, Any]:
    published = json.loads((ROOT / "references/measured/growth.json").read_text(encoding="utf-8"))
    return {**published, "runs": rows(), "base": Point().inputs, **model_rows(rows())}
