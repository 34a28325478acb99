"""Check Scala and Java code: queries, with the Python rules that also apply to the JVM, and forms of triggers."""

import ast
import re

from spark_rtm.lint.files.layout import without_comments
from spark_rtm.lint.jvm.parser import parse
from spark_rtm.lint.marks import Marks
from spark_rtm.lint.python.check import CODE_RULES, module_of, module_problems
from spark_rtm.lint.python.counterexamples import marks_of
from spark_rtm.lint.rules.rule import Problem, RuleProblem, Steps
from spark_rtm.lint.rules.trigger import RULES as TRIGGER_RULES
from spark_rtm.lint.spark.engines import target_engines
from spark_rtm.lint.spark.intervals import MIN_BATCH_MS, min_batch_ms_in
from spark_rtm.text.finding import DATABRICKS
from spark_rtm.text.lines import numbered

PYTHON_ONLY = {"python-udf", "python-state", "map-in-pandas", "foreach-writer-import", "foreach-interval"}
JVM_RULES = [rule for rule in CODE_RULES if rule.id not in PYTHON_ONLY]
UNSUPPORTED_TRIGGER = re.compile(
    r"\bTrigger\s*\.\s*(?:realTime|RealTimeMode|Realtime)\b|\.trigger\(\s*realTime\s*=|"
    r"\bnew\s+(?:Trigger\.)?RealTime\b"
)
JOB = re.compile(
    r"\bbuilder\b|\bgetOrCreate\b|\bawaitTermination\b|\bextends\s+App\b|\bdef\s+main\b|\bstatic\s+void\s+main\b"
)
SPARK = re.compile(
    r"\borg\s*\.\s*apache\s*\.\s*spark\b|\b(?:read|write)Stream\b|\bSparkSession\b|\bDataStreamWriter\b|"
    r"\bDataFrame\b|\bDataset\s*[<\[]"
)
OTHER_TRIGGER = re.compile(
    r"^[ \t]*import[ \t]+(?!static\b|org\.apache\.spark\b)[\w.]+\.Trigger[ \t]*;?[ \t]*$", re.MULTILINE
)
"""A trigger class of another library with the name of Spark's."""
TEST = re.compile(r"\borg\.(?:scalatest|junit|testng)\b|@Test\b|\bextends\s+\w*(?:Suite|Spec|TestBase)\b")
TRIGGER_FORM = next(rule for rule in TRIGGER_RULES if rule.id == "trigger-form")
FIX = 'write Trigger.RealTime("5 minutes"), or on Databricks RealTimeTrigger.apply("5 minutes")'


def scala_problems(
    code: str, *, is_java: bool = False, is_excerpt: bool = True, steps: Steps | None = None
) -> list[RuleProblem]:
    """Return the problems in Scala or Java code."""
    plain = without_comments(code, "/*", "*/")
    uncommented = re.sub(r"(?<![:\"])//[^\n]*", "", plain)
    tree = parse(code, is_java=is_java)
    marks = _marks(plain, tree, is_excerpt=is_excerpt)
    module = module_of(
        tree,
        code,
        steps,
        min_batch_ms=min_batch_ms_in(code) or MIN_BATCH_MS,
        is_job=not is_excerpt and bool(JOB.search(uncommented)),
        is_databricks=target_engines(code) == (DATABRICKS,),
        is_test=bool(TEST.search(uncommented)),
        is_spark=is_excerpt or (bool(SPARK.search(uncommented)) and not OTHER_TRIGGER.search(uncommented)),
    )
    problems = module_problems(module, marks, JVM_RULES) + module.unchecked
    for line, match in numbered(UNSUPPORTED_TRIGGER, uncommented) if module.is_spark else ():
        if not marks.cover(TRIGGER_FORM.id, line):
            message = f"{match[0].strip()} does not exist, so the code does not compile"
            problems.append((TRIGGER_FORM, Problem(line, message, FIX)))
    return problems


def _marks(code: str, tree: ast.Module, *, is_excerpt: bool) -> Marks:
    parts = {number: line.partition("//") for number, line in enumerate(code.splitlines(), 1) if "//" in line}
    alone = {number: comment for number, (before, _, comment) in parts.items() if not before.strip()}
    beside = {number: comment for number, (_, _, comment) in parts.items() if number not in alone}
    return marks_of(code, tree, alone, beside, is_excerpt=is_excerpt)
