"""Right advice that is made wrong is noticed: the runner fails, and says what to write instead."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from pytest_examples import EvalExample

from tests.pages.examples import EXAMPLES, Example
from tests.pages.running import Place, check_example

MUTATIONS: dict[str, tuple[str, str, str]] = {
    "boolean-trigger": ('realTime="5 minutes"', "realTime=True", '"5 minutes"'),
    "append": ('outputMode("update")', 'outputMode("append")', "OUTPUT_MODE_NOT_SUPPORTED"),
    "no-broadcast": ("F.broadcast(", "(", "OPERATOR_OR_SINK_NOT_IN_ALLOWLIST"),
    "micro-batch": ('realTime="5 minutes"', 'processingTime="1 second"', "has the mode 'real-time'"),
    "no-output": ("writeStream", 'where("1 = 0").writeStream', "no record came out"),
}


def _first(is_wanted: Callable[[Example], bool]) -> Example:
    return next(
        example for example in EXAMPLES if example.fate == "run" and example.starts_query and is_wanted(example)
    )


@pytest.mark.spark
@pytest.mark.services
@pytest.mark.timeout(200)
@pytest.mark.parametrize(("right", "wrong", "said"), MUTATIONS.values(), ids=MUTATIONS)
def test_wrong_advice_fails_with_the_reason(
    right: str, wrong: str, said: str, eval_example: EvalExample, place: Place
) -> None:
    """A code block of a page that ran no longer passes when a hard rule is broken in it."""
    example = _first(lambda example: right in example.fence.code and 'realTime="5 minutes"' in example.fence.code)
    spoilt = example.with_code(example.fence.code.replace(right, wrong))
    with pytest.raises(AssertionError) as failure:
        check_example(spoilt, eval_example, replace(place, deadline_seconds=15))

    assert said in str(failure.value)


@pytest.mark.spark
@pytest.mark.services
@pytest.mark.timeout(200)
def test_refusal_under_another_name_fails(eval_example: EvalExample, place: Place) -> None:
    """The exact condition is compared, not that something failed."""
    example = next(example for example in EXAMPLES if example.fence.options.get("raises") == "VALUE_NOT_NON_EMPTY_STR")
    example.fence.options["raises"] = "VALUE_NOT_STR"
    try:
        with pytest.raises(AssertionError, match="VALUE_NOT_NON_EMPTY_STR"):
            check_example(example, eval_example, place)
    finally:
        example.fence.options["raises"] = "VALUE_NOT_NON_EMPTY_STR"


@pytest.mark.spark
@pytest.mark.services
@pytest.mark.timeout(200)
def test_refusal_that_does_not_come_fails(eval_example: EvalExample, place: Place) -> None:
    """A block that says that it raises and runs instead is noticed."""
    example = next(example for example in EXAMPLES if example.fence.options.get("raises") == "VALUE_NOT_NON_EMPTY_STR")

    with pytest.raises(AssertionError, match="the code ran to its end"):
        check_example(example.with_code("answer = 1\n"), eval_example, place)
