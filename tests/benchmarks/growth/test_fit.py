import random
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.growth.fit import TERMS, errors, fit, held_out, model_rows, used
from benchmarks.growth.points import COMBINED
from spark_rtm.measure.capacity_model import CostModel, model_of, rows_of
from tests.benchmarks.growth.synthetic import COEFFICIENTS, TRUTH, rows

NOISE = 0.05


def noisy(share: float) -> list[dict[str, Any]]:
    generator = random.Random(11)
    return [row | {name: row[name] * (1 + generator.uniform(-share, share)) for name in TERMS} for row in rows()]


def test_fit_finds_the_coefficients_of_exact_costs() -> None:
    model = fit(rows())

    assert {name: pytest.approx(terms, rel=1e-4) for name, terms in COEFFICIENTS.items()} == model.terms
    assert [0.0] * len(TERMS) == [row["max_error"] for row in errors(held_out(model, rows()))]


def test_noise_of_the_runs_becomes_the_error_of_new_points() -> None:
    """With noise of up to 5%, no prediction of a combined point differs from its measured cost by 20%."""
    model = fit(noisy(NOISE))

    found = errors(held_out(model, noisy(NOISE)))
    assert set(TERMS) == {row["quantity"] for row in found}
    assert all(0 < row["median_error"] <= row["max_error"] < 4 * NOISE for row in found)


def test_combined_points_do_not_change_the_fit() -> None:
    wrong = [row | {"busy_cores": 10 * row["busy_cores"]} if row["dimension"] == COMBINED else row for row in rows()]

    assert fit(rows()) == fit(wrong)
    predictions = held_out(fit(wrong), wrong)
    assert {-0.9} == {row["relative_error"] for row in predictions if row["quantity"] == "busy_cores"}


def test_runs_that_fell_behind_or_lack_cores_do_not_count() -> None:
    found = rows()
    found[1] |= {"kept_up": False, "busy_cores": 99.0}
    found[-6] |= {"busy_cores": 99.0}

    terms = fit(found).terms

    assert ("rate", "cores") == (found[1]["dimension"], found[-6]["dimension"])
    assert [row for row in found if row["busy_cores"] != 99.0] == used(found)
    assert {name: pytest.approx(known, rel=1e-4) for name, known in COEFFICIENTS.items()} == terms


def test_cost_never_falls_with_an_input() -> None:
    terms = {**COEFFICIENTS["busy_cores"], "queries * partitions": -0.01}

    found = fit(rows(replace(TRUTH, terms={**COEFFICIENTS, "busy_cores": terms}))).terms["busy_cores"]

    assert "queries * partitions" not in found
    assert min(found.values()) >= 0


def test_too_few_runs_have_no_model() -> None:
    part = [row for row in rows() if row["dimension"] in ("base", "rate")]

    with pytest.raises(ValueError, match=r"do not determine the \d coefficients of busy_cores.*run all dimensions"):
        fit(part)


def test_model_survives_its_json() -> None:
    model = fit(rows())

    assert model == model_of(rows_of(model)) == model_of(model_rows(rows()))
    assert (100.0, 4_000.0) == model.ranges["rate"]
    assert {"rate": (100, 4_000)} == model.outside({**rows()[0], "rate": 5_000})


@pytest.mark.parametrize("term", ["rate +", "log(rate)", "Rate"])
def test_unknown_term_is_refused(term: str) -> None:
    with pytest.raises(ValueError, match="use a name, sqrt"):
        CostModel({"busy_cores": {term: 1.0}}, {}).predict("busy_cores", {"rate": 1.0})
