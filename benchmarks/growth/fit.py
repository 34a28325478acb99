"""
Fit the cost model with least squares, and measure its error on other points.

The fit minimizes relative errors, so cheap points count as much as expensive ones. Costs cannot fall with an input, so
terms with negative coefficients are removed one by one.
"""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.growth.points import COMBINED, Point
from spark_rtm.commands.capacity import CostModel, rows_of, value_of

TERMS: dict[str, tuple[str, ...]] = {
    # A request of a Kafka client carries several records if the records arrive faster, so part of the cost per record
    # grows only with the square root of the rate of a task: sqrt(rate / partitions) * partitions.
    "busy_cores": (
        *("1", "queries", "queries * partitions", "queries * rate", "queries * sqrt(rate) * sqrt(partitions)"),
        *("queries * rate * record_bytes", "queries * rate * log10(keys)", "queries * rate * log10(state_keys)"),
    ),
    "memory_mb": ("1", "queries", "queries * partitions", "queries * state_keys", "queries * rate * record_bytes"),
    "state_mb": ("queries * partitions", "queries * state_keys"),
    "pause_ms": ("1", "queries", "queries * partitions", "queries * log10(state_keys)", "queries * state_keys", "rate"),
}
"""The terms of each quantity, with coefficients in its unit."""
INPUTS = ("rate", "partitions", "keys", "state_keys", "record_bytes", "queries")

Row = Mapping[str, Any]


def used(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of runs on all cores in which the engine kept up with the records."""
    return [row for row in rows if row["kept_up"] and row["cores"] == Point().cores]


def fit(rows: Sequence[Row]) -> CostModel:
    """Return the model fitted to all rows except combined ones. Raise ValueError if too few rows remain."""
    fitted = [row for row in used(rows) if row["dimension"] != COMBINED]
    terms = {quantity: _coefficients(quantity, fitted) for quantity in TERMS}
    ranges = {name: (min(row[name] for row in fitted), max(row[name] for row in fitted)) for name in INPUTS}
    return CostModel(terms, ranges)


def _coefficients(quantity: str, rows: Sequence[Row]) -> dict[str, float]:
    rows = [row for row in rows if row[quantity]]
    terms = list(TERMS[quantity])
    while terms:
        # Each equation is divided by the measured value: the sum of the terms must be 1.
        matrix = np.array([[value_of(term, row) / row[quantity] for term in terms] for row in rows])
        # Columns are scaled to similar sizes, because state_keys is a million times queries and the solution would be
        # inexact.
        sizes = np.linalg.norm(matrix, axis=0) if rows else np.zeros(len(terms))
        if len(rows) < len(terms) or np.linalg.matrix_rank(matrix / sizes) < len(terms):
            raise ValueError(
                f"{len(rows)} valid points do not determine the {len(terms)} coefficients of {quantity}, so there is "
                f"no model; run all dimensions on an otherwise idle machine"
            )
        scaled = np.linalg.lstsq(matrix / sizes, np.ones(len(rows)), rcond=None)[0]
        if scaled.min() >= 0:
            return dict(zip(terms, (float(f"{value:.6g}") for value in scaled / sizes), strict=True))
        del terms[int(scaled.argmin())]
    return {}


def model_rows(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the model, its ranges, its error at each combined point, and the median and maximum error per quantity."""
    model, held_out, errors = fit(rows), list[dict[str, Any]](), list[dict[str, Any]]()
    for quantity in TERMS:
        sizes = list[float]()
        for row in used(rows):
            if row["dimension"] == COMBINED and row[quantity]:
                measured, predicted = row[quantity], model.predict(quantity, row)
                found = {"quantity": quantity, "point": row["label"], "measured": measured}
                error = round(predicted / measured - 1, 3)
                held_out.append({**found, "predicted": round(predicted, 3), "relative_error": error})
                sizes.append(abs(error))
        if sizes:
            summary = {"median_error": round(statistics.median(sizes), 3), "max_error": max(sizes)}
            errors.append({"quantity": quantity, "points": len(sizes), **summary})
    return {**rows_of(model), "held_out": held_out, "errors": errors}
