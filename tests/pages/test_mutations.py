"""The example runner detects wrong advice."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from pytest_examples import EvalExample

from tests.pages.examples import EXAMPLES, Example
from tests.pages.running import PageEnvironment, check_example

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(200)]

MUTATIONS: dict[str, tuple[str, str, str]] = {
    "append": ('outputMode("update")', 'outputMode("append")', "OUTPUT_MODE_NOT_SUPPORTED"),
    "micro-batch": ('realTime="5 minutes"', 'processingTime="1 second"', "has the mode 'real-time'"),
    "no-output": ("writeStream", 'where("1 = 0").writeStream', "no record written"),
}


def _first(is_wanted: Callable[[Example], bool]) -> Example:
    return next(
        example for example in EXAMPLES if example.fate == "run" and example.starts_query and is_wanted(example)
    )


@pytest.mark.parametrize(("right", "wrong", "message"), MUTATIONS.values(), ids=MUTATIONS)
def test_broken_hard_rule_fails_with_its_reason(
    right: str, wrong: str, message: str, eval_example: EvalExample, environment: PageEnvironment
) -> None:
    """A code block that passes fails with the reason after one change that breaks a hard rule."""
    example = _first(lambda example: right in example.fence.code and 'realTime="5 minutes"' in example.fence.code)
    mutated = example.with_code(example.fence.code.replace(right, wrong))
    with pytest.raises(AssertionError) as failure:
        check_example(mutated, eval_example, replace(environment, deadline_seconds=15))

    assert message in str(failure.value)


def test_refusal_with_another_condition_fails(eval_example: EvalExample, environment: PageEnvironment) -> None:
    example = next(example for example in EXAMPLES if example.fence.options.get("raises") == "VALUE_NOT_NON_EMPTY_STR")
    example.fence.options["raises"] = "VALUE_NOT_STR"
    try:
        with pytest.raises(AssertionError, match="VALUE_NOT_NON_EMPTY_STR"):
            check_example(example, eval_example, environment)
    finally:
        example.fence.options["raises"] = "VALUE_NOT_NON_EMPTY_STR"


def test_missing_refusal_fails_the_check(eval_example: EvalExample, environment: PageEnvironment) -> None:
    example = next(example for example in EXAMPLES if example.fence.options.get("raises") == "VALUE_NOT_NON_EMPTY_STR")

    with pytest.raises(AssertionError, match="the code ran to its end"):
        check_example(example.with_code("answer = 1\n"), eval_example, environment)
