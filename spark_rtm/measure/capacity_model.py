"""
Predict a query's cost from fitted coefficients.

A term is a product such as `queries * sqrt(rate)`. The benchmark's JSON contains the terms, so this module and the fit
use the same formula. This module imports only the standard library.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

FUNCTIONS: dict[str, Callable[[float], float]] = {"": float, "sqrt": math.sqrt, "log10": math.log10}


@dataclass(frozen=True)
class CostModel:
    """The sum of terms for each predicted quantity, and each input's range in the fitted runs."""

    terms: Mapping[str, Mapping[str, float]]
    """Each quantity's coefficients, by term."""
    ranges: Mapping[str, tuple[float, float]]
    """Each input's minimum and maximum."""

    def predict(self, quantity: str, inputs: Mapping[str, float]) -> float:
        """Return a quantity's predicted value."""
        return sum(coefficient * value_of(term, inputs) for term, coefficient in self.terms.get(quantity, {}).items())


def value_of(term: str, inputs: Mapping[str, float]) -> float:
    """Evaluate a term. Raise ValueError for an unknown factor."""
    value = 1.0
    for text in term.split(" * "):
        function, _, name = text.removesuffix(")").rpartition("(")
        try:
            value *= float(text) if text.isdigit() else FUNCTIONS[function](inputs[name])
        except KeyError:
            reason = f"the term {term!r} contains {text!r}; use a name, sqrt(name), log10(name) or a number"
            raise ValueError(reason) from None
    return value


def model_of(content: Mapping[str, Any]) -> CostModel:
    """Read the model from the benchmark's JSON."""
    terms: dict[str, dict[str, float]] = {}
    for row in content["model"]:
        terms.setdefault(row["quantity"], {})[row["term"]] = row["coefficient"]
    return CostModel(terms, {row["input"]: (row["lowest"], row["highest"]) for row in content["ranges"]})


def rows_of(model: CostModel) -> dict[str, Sequence[Mapping[str, Any]]]:
    """Convert the model to JSON rows, the inverse of `model_of`."""
    return {
        "model": [
            {"quantity": quantity, "term": term, "coefficient": coefficient}
            for quantity, terms in model.terms.items()
            for term, coefficient in terms.items()
        ],
        "ranges": [
            {"input": name, "lowest": lowest, "highest": highest} for name, (lowest, highest) in model.ranges.items()
        ],
    }
