"""Apply the code rules to Python code, and to `Module` objects built from other languages."""

from __future__ import annotations

import re
from collections.abc import Sequence

from scripts.lint.prose.comment_claims import MICRO_BATCH_CLAIM, comment_claims
from scripts.lint.prose.marks import counterexample_lines
from scripts.lint.python.excerpt import parse
from scripts.lint.python.interpreter import Interpreter
from scripts.lint.rules.code import CODE_RULES
from scripts.lint.rules.rule import Module, Rule, RuleProblem
from scripts.lint.spark.intervals import MIN_BATCH_MS, min_batch_ms_in

SPARK = re.compile(r"\b(?:py)?spark\b|readStream|writeStream|SparkSession|DataStreamWriter", re.IGNORECASE)


def python_problems(
    code: str,
    *,
    is_excerpt: bool,
    is_spark: bool | None = None,
    min_batch_ms: float | None = None,
    rules: Sequence[Rule] = CODE_RULES,
) -> list[RuleProblem] | None:
    """Return the problems in Python code, or None if the code cannot be parsed."""
    tree, python = parse(code, is_excerpt=is_excerpt)
    if tree is None:
        return None
    interpreter = Interpreter(has_choices="else" in python)
    interpreter.run(tree)
    minima = [value for value in (min_batch_ms_in(code), min_batch_ms) if value is not None]
    module = Module(
        interpreter.spark.queries,
        interpreter.spark.triggers,
        interpreter.spark.settings,
        interpreter.imports,
        code.splitlines(),
        bool(SPARK.search(code)) if is_spark is None else is_spark,
        min(minima, default=MIN_BATCH_MS),
    )
    problems = module_problems(module, counterexample_lines(python, tree, is_excerpt=is_excerpt), rules)
    return problems + interpreter.unchecked


def module_problems(module: Module, counterexamples: set[int], rules: Sequence[Rule] = CODE_RULES) -> list[RuleProblem]:
    """Return the problems in a module, except problems in lines or queries marked as counterexamples."""
    if not (module.queries or module.triggers or module.settings or module.imports):
        return []
    found = [*[(rule, rule.check) for rule in rules], (MICRO_BATCH_CLAIM, comment_claims)]
    # Thousands of queries that share an operator cause the same problem thousands of times. Keep one of them.
    problems = {
        (rule.id, problem.line, problem.message): (rule, problem)
        for rule, check in found
        for problem in check(module)
        if problem.line not in counterexamples and not counterexamples & problem.lines
    }
    return list(problems.values())
