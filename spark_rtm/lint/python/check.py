"""Apply the code rules to Python code, and to `Module` objects built from other languages."""

import ast
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from spark_rtm.lint.marks import Marks
from spark_rtm.lint.python.counterexamples import STRING_OR_COMMENT, python_marks
from spark_rtm.lint.python.excerpt import parse, unparsed
from spark_rtm.lint.python.interpreter import Interpreter
from spark_rtm.lint.python.unresolved import unresolved_triggers
from spark_rtm.lint.rules import job, mode, operator, setting, source, state, trigger
from spark_rtm.lint.rules.rule import Module, Rule, RuleProblem, Steps, steps_for
from spark_rtm.lint.spark.engines import target_engines
from spark_rtm.lint.spark.intervals import MIN_BATCH_MS, min_batch_ms_in
from spark_rtm.text.finding import DATABRICKS

JOB = re.compile(
    r"SparkSession\s*\.\s*builder|\bgetOrCreate\(|\b__main__\b|\bawait(?:Any)?Termination\(|\bdbutils\.widgets\b"
)
TEST = re.compile(r"^[ \t]*(?:import (?:pytest|unittest)\b|from (?:pytest|unittest)\b|def test_)", re.MULTILINE)
LOCAL_MASTER = re.compile(r"\blocal\[(\d{1,4})\]")
SPARK = re.compile(
    r"\b(?:py)?spark\b|readStream|writeStream|SparkSession|DataStreamWriter|\.outputMode\(", re.IGNORECASE
)
"""Words that mark a page as being about Spark. For code, the names that it uses are more precise."""
SPARK_NAME = re.compile(r"spark|readStream|writeStream|DataStreamWriter|\bdlt\b|(?<![\w.])databricks\b", re.IGNORECASE)
WRITER_PARAMETER = re.compile(r"\bdef\s+\w+\((?:[^)]*?,)?\s*\w*writer\s*[,)=]")
CODE_RULES: list[Rule] = [
    rule for module in (trigger, source, operator, state, setting, mode, job) for rule in module.RULES
]


def python_problems(
    code: str,
    *,
    is_excerpt: bool,
    is_notebook: bool = False,
    is_spark: bool | None = None,
    min_batch_ms: float | None = None,
    rules: Sequence[Rule] = CODE_RULES,
    steps: Steps | None = None,
) -> list[RuleProblem] | None:
    """
    Return the problems in Python code, or None if it cannot be parsed. Notebook code counts as an excerpt.

    `steps` are those that are left for the whole file; None means that the code is the whole file.
    """
    tree, python, lost_at = parse(code, is_excerpt=is_excerpt)
    lost = [unparsed(lost_at)] if lost_at else []
    if tree is None:
        return lost if is_excerpt else None
    minima = [value for value in (min_batch_ms_in(code), min_batch_ms) if value is not None]
    module = module_of(
        tree,
        code,
        steps,
        is_spark=((is_excerpt and not is_notebook) or _is_spark(code)) if is_spark is None else is_spark,
        min_batch_ms=min(minima, default=MIN_BATCH_MS),
        is_job=(is_notebook or not is_excerpt) and bool(JOB.search(code)),
        is_notebook=is_notebook,
        is_test=bool(TEST.search(code)),
        is_databricks=target_engines(code) == (DATABRICKS,),
    )
    marks = python_marks(python, tree, is_excerpt=is_excerpt)
    # A large file about something else is not reported as unchecked.
    is_about = "realtime" in code.lower()
    return module_problems(module, marks, rules) + lost + (module.unchecked if is_about else [])


def _is_spark(code: str) -> bool:
    """Return whether code uses a Spark name or a writer parameter. Comments and strings do not count."""
    bare = STRING_OR_COMMENT.sub("", code)
    return bool(SPARK_NAME.search(bare) or (".outputMode(" in bare and WRITER_PARAMETER.search(bare)))


def module_of(tree: ast.Module, code: str, steps: Steps | None, **facts: Any) -> Module:
    """Follow code and return its Spark calls and imports. `facts` are further fields of the module."""
    interpreter = Interpreter(steps or steps_for(code))
    interpreter.run(tree)
    if "realTime" in code:
        interpreter.spark.module.triggers += unresolved_triggers(tree, interpreter.spark.module, interpreter.followed)
    slots = LOCAL_MASTER.search(code)
    local_slots = int(slots[1]) if slots else None
    return replace(interpreter.spark.module, lines=code.splitlines(), local_slots=local_slots, **facts)


def module_problems(module: Module, marks: Marks, rules: Sequence[Rule] = CODE_RULES) -> list[RuleProblem]:
    """Return the problems in a module, except where marks cover them."""
    if not (module.queries or module.triggers or module.settings or module.imports or module.flows):
        return []
    if not module.is_spark:  # writers without a `writeStream` belong to another library
        module = replace(
            module,
            queries=[query for query in module.queries if not query.writer.is_guess],
            triggers=[trigger for trigger in module.triggers if not trigger.is_guess],
        )
    # Thousands of queries that share an operator cause the same problem thousands of times. Keep one of them.
    problems = {
        (rule.id, problem.line, problem.message): (rule, problem)
        for rule in rules
        for problem in rule.check(module)
        if not marks.cover(rule.id, problem.line, problem.lines)
    }
    return list(problems.values())
