from dataclasses import replace

import pytest

from benchmarks.growth.fit import TERMS, fit, model_rows
from benchmarks.growth.points import COMBINED
from spark_rtm.commands.capacity import CostModel, model_of
from tests.benchmarks.growth.synthetic import COEFFICIENTS, TRUTH, rows


def test_fit_finds_the_coefficients_of_exact_costs() -> None:
    model = fit(rows())

    assert model == model_of(model_rows(rows()))
    assert {name: pytest.approx(terms, rel=1e-4) for name, terms in COEFFICIENTS.items()} == model.terms
    assert [0.0] * len(TERMS) == [row["max_error"] for row in model_rows(rows())["errors"]]


def test_runs_that_fell_behind_lack_cores_or_combine_inputs_do_not_change_the_fit() -> None:
    found = [row | {"busy_cores": 10 * row["busy_cores"]} if row["dimension"] == COMBINED else row for row in rows()]
    found[1] |= {"kept_up": False, "busy_cores": 99.0}
    found[-6] |= {"busy_cores": 99.0}

    assert ("rate", "cores") == (found[1]["dimension"], found[-6]["dimension"])
    assert {name: pytest.approx(known, rel=1e-4) for name, known in COEFFICIENTS.items()} == fit(found).terms
    predictions = model_rows(found)["held_out"]
    assert {-0.9} == {row["relative_error"] for row in predictions if row["quantity"] == "busy_cores"}


def test_cost_never_falls_with_an_input() -> None:
    terms = {**COEFFICIENTS["busy_cores"], "queries * partitions": -0.01}

    found = fit(rows(replace(TRUTH, terms={**COEFFICIENTS, "busy_cores": terms}))).terms["busy_cores"]

    assert "queries * partitions" not in found
    assert min(found.values()) >= 0


def test_too_few_runs_have_no_model() -> None:
    part = [row for row in rows() if row["dimension"] in ("base", "rate")]

    with pytest.raises(ValueError, match=r"do not determine the \d coefficients of busy_cores.*run all dimensions"):
        fit(part)


@pytest.mark.parametrize("term", ["rate +", "log(rate)", "Rate"])
def test_unknown_term_is_refused(term: str) -> None:
    with pytest.raises(ValueError, match="use a name, sqrt"):
        CostModel({"busy_cores": {term: 1.0}}, {}).predict("busy_cores", {"rate": 1.0})
