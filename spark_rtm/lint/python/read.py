"""Read Python code: parse and follow the code, and return its Spark calls as facts."""

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from spark_rtm.lint.facts import Fact, Facts
from spark_rtm.lint.marks import Marks
from spark_rtm.lint.problem import UnreadableError
from spark_rtm.lint.python.counterexamples import STRING_OR_COMMENT, python_marks
from spark_rtm.lint.python.excerpt import PYTHON, parse, unparsed
from spark_rtm.lint.python.interpreter import Interpreter
from spark_rtm.lint.spark.calls import CERTAIN_WRITER_METHODS, WRITER_NAME
from spark_rtm.lint.spark.intervals import MIN_BATCH_MS, min_batch_ms_in
from spark_rtm.lint.spark.module import Module, target_engines
from spark_rtm.lint.spark.streams import TRIGGER_KEYWORDS, Arguments, Trigger
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
NAME = "realTime"
MAKERS = {"dict", "partial", "functools.partial", "methodcaller", "operator.methodcaller", "SimpleNamespace"}
"""Functions that store keyword arguments for a later call."""


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


def unresolved_triggers(tree: ast.Module, module: Module, followed: set[ast.AST]) -> list[Trigger]:
    """
    Return triggers in unreached code, and triggers whose keyword and value occur in the same statement.

    Triggers of the second kind are returned only if a trigger call in the module has unknown arguments.
    """
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node not in followed]
    found = [_trigger(value) for call in calls if _is_trigger(call) for value in _constants(call)]
    resolved = {trigger.line for trigger in module.triggers if trigger.kinds}
    if any(_is_hidden(node, resolved) for node in ast.walk(tree) if isinstance(node, ast.Call)):
        known = {trigger.line_of(NAME) for trigger in module.triggers if NAME in trigger.arguments.keywords}
        found += [_trigger(value) for value in _beside_name(tree) if value.lineno not in known]
    return found


def _is_trigger(call: ast.Call) -> bool:
    """Return whether a call is a writer's `trigger`, according to the keywords and the names in the method chain."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "trigger" or call.args:
        return False
    names = [getattr(node, "attr", getattr(node, "id", "")) for node in ast.walk(call.func.value)]
    is_writer = not CERTAIN_WRITER_METHODS.isdisjoint(names) or bool(names and WRITER_NAME.search(names[0]))
    return is_writer and {keyword.arg for keyword in call.keywords} <= set(TRIGGER_KEYWORDS)


def _constants(call: ast.Call) -> Iterator[ast.Constant]:
    for keyword in call.keywords:
        if keyword.arg == NAME and isinstance(keyword.value, ast.Constant) and not isinstance(keyword.value.value, str):
            yield keyword.value


def _trigger(value: ast.Constant) -> Trigger:
    return Trigger(Arguments(keywords={NAME: (Const(value.value), value.lineno)}), value.lineno, is_guess=True)


def _is_hidden(call: ast.Call, resolved: set[int]) -> bool:
    """Return whether a call passes unknown keywords to `trigger`, or refers to it as in `methodcaller("trigger")`."""
    if isinstance(call.func, ast.Attribute) and call.func.attr == "trigger":
        return any(keyword.arg is None for keyword in call.keywords) and call.func.end_lineno not in resolved
    return bool(call.args) and isinstance(call.args[0], ast.Constant) and call.args[0].value == "trigger"


def _beside_name(tree: ast.Module) -> Iterator[ast.Constant]:
    """Yield the first boolean in each simple statement that also has `realTime` as a key, keyword or target."""
    for statement in ast.walk(tree):
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.Expr | ast.Return | ast.AugAssign):
            nodes = list(ast.walk(statement))
            values = [node for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, bool)]
            yield from values[:1] if any(map(_names, nodes)) else ()


def _names(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        is_keyword = any(each.arg == NAME for each in node.keywords)
        maker = ast.unparse(node.func) if is_keyword else ""
        return "rigger" in maker or maker in MAKERS
    if isinstance(node, ast.Name):
        return node.id == NAME and isinstance(node.ctx, ast.Store)
    return isinstance(node, ast.Constant) and node.value == NAME
