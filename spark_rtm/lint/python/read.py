"""Read Python code: parse and follow the code, and return its Spark calls as facts."""

import ast
import re
from dataclasses import replace
from typing import Any

from spark_rtm.lint.facts import Fact, Facts
from spark_rtm.lint.marks import Marks
from spark_rtm.lint.problem import UnreadableError
from spark_rtm.lint.python.counterexamples import STRING_OR_COMMENT, python_marks
from spark_rtm.lint.python.excerpt import PYTHON, parse, unparsed
from spark_rtm.lint.python.interpreter import Interpreter
from spark_rtm.lint.python.unresolved import unresolved_triggers
from spark_rtm.lint.spark.intervals import MIN_BATCH_MS, min_batch_ms_in
from spark_rtm.lint.spark.module import Module, target_engines
from spark_rtm.lint.spark.streams import Trigger
from spark_rtm.lint.spark.values import Const
from spark_rtm.text.finding import DATABRICKS

SESSION = re.compile(r"SparkSession\s*\.\s*builder|\bgetOrCreate\(")
JOB = re.compile(
    r"SparkSession\s*\.\s*builder|\bgetOrCreate\(|\b__main__\b|\bawait(?:Any)?Termination\(|\bdbutils\.widgets\b"
)
TEST = re.compile(r"^[ \t]*(?:import (?:pytest|unittest)\b|from (?:pytest|unittest)\b|def test_)", re.MULTILINE)
LOCAL_MASTER = re.compile(r"\blocal\[(\d{1,4})\]")
SPARK = re.compile(
    r"\b(?:py)?spark\b|readStream|writeStream|SparkSession|DataStreamWriter|\.outputMode\(", re.IGNORECASE
)
"""Pattern for words that show that a page is about Spark. In code, names are more precise."""
SPARK_NAME = re.compile(r"spark|readStream|writeStream|DataStreamWriter|\bdlt\b|(?<![\w.])databricks\b", re.IGNORECASE)
WRITER_PARAMETER = re.compile(r"\bdef\s+\w+\((?:[^)]*?,)?\s*\w*writer\s*[,)=]")


def read_python(
    code: str,
    *,
    is_excerpt: bool,
    is_notebook: bool = False,
    is_spark: bool | None = None,
    min_batch_ms: float | None = None,
) -> Facts:
    """
    Return the facts in Python code. Notebook code is treated as an excerpt.

    Raise UnreadableError if code that is not an excerpt cannot be parsed.
    """
    tree, python, lost_at = parse(code, is_excerpt=is_excerpt)
    lost = [unparsed(lost_at)] if lost_at else []
    if tree is None:
        if not is_excerpt:
            raise UnreadableError(parser=f" by {PYTHON}")
        return Facts(unchecked=lost)
    minima = [value for value in (min_batch_ms_in(code), min_batch_ms) if value is not None]
    module = module_of(
        tree,
        code,
        is_spark=((is_excerpt and not is_notebook) or _is_spark(code)) if is_spark is None else is_spark,
        min_batch_ms=min(minima, default=MIN_BATCH_MS),
        is_job=(is_notebook or not is_excerpt) and bool(JOB.search(code)),
        builds_session=bool(SESSION.search(code)),
        is_notebook=is_notebook,
        is_test=bool(TEST.search(code)),
        is_databricks=target_engines(code) == (DATABRICKS,),
    )
    # A large file about a different subject is not reported as unchecked.
    is_about = "realtime" in code.lower()
    facts = facts_of(module, python_marks(python, tree, is_excerpt=is_excerpt))
    return Facts(facts.parts, lost + (module.unchecked if is_about else []))


def _is_spark(code: str) -> bool:
    """Return whether code uses a Spark name or a writer parameter, ignoring comments and strings."""
    bare = STRING_OR_COMMENT.sub("", code)
    return bool(SPARK_NAME.search(bare) or (".outputMode(" in bare and WRITER_PARAMETER.search(bare)))


def module_of(tree: ast.Module, code: str, **facts: Any) -> Module:
    """Follow code and return its Spark calls and imports. `facts` are additional fields of the module."""
    interpreter = Interpreter()
    interpreter.run(tree)
    if "realTime" in code:
        interpreter.spark.module.triggers += unresolved_triggers(tree, interpreter.spark.module, interpreter.followed)
    slots = LOCAL_MASTER.search(code)
    local_slots = int(slots[1]) if slots else None
    return replace(interpreter.spark.module, lines=code.splitlines(), local_slots=local_slots, **facts)


def _is_python_boolean(trigger: Trigger, module: Module) -> bool:
    value = trigger.value("realTime")
    return isinstance(value, Const) and isinstance(value.value, bool) and not module.is_jvm


def facts_of(module: Module, marks: Marks) -> Facts:
    """Return a module as a fact. Without Spark names, writers without a `writeStream` belong to another library."""
    if not module.is_spark:
        module = replace(
            module,
            queries=[query for query in module.queries if not query.writer.is_guess],
            triggers=[each for each in module.triggers if not each.is_guess or _is_python_boolean(each, module)],
            forms=[],
        )
    is_empty = not (module.queries or module.triggers or module.settings or module.imports or module.flows)
    return Facts([] if is_empty and not module.forms else [Fact(module, marks)])
