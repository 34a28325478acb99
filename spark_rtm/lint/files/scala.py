"""Read Scala and Java code as if it were Python, and find trigger expressions that do not compile."""

import ast
import re

from spark_rtm.lint.facts import Facts
from spark_rtm.lint.files.layout import without_comments
from spark_rtm.lint.jvm.parser import parse
from spark_rtm.lint.marks import Marks
from spark_rtm.lint.python.counterexamples import marks_of
from spark_rtm.lint.python.read import facts_of, module_of
from spark_rtm.lint.spark.intervals import MIN_BATCH_MS, min_batch_ms_in
from spark_rtm.lint.spark.module import target_engines
from spark_rtm.text import numbered
from spark_rtm.text.finding import DATABRICKS

UNSUPPORTED_TRIGGER = re.compile(
    r"\bTrigger\s*\.\s*(?:realTime|RealTimeMode|Realtime)\b|\.trigger\(\s*realTime\s*=|"
    r"\bnew\s+(?:Trigger\.)?RealTime\b"
)
SESSION = re.compile(r"\bbuilder\b|\bgetOrCreate\b")
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
"""Pattern for an import of a `Trigger` class from another library."""
TEST = re.compile(r"\borg\.(?:scalatest|junit|testng)\b|@Test\b|\bextends\s+\w*(?:Suite|Spec|TestBase)\b")


def read_jvm(code: str, *, is_java: bool = False, is_excerpt: bool = True) -> Facts:
    """Return the facts in Scala or Java code."""
    plain = without_comments(code, "/*", "*/")
    uncommented = re.sub(r"(?<![:\"])//[^\n]*", "", plain)
    tree = parse(code, is_java=is_java)
    module = module_of(
        tree,
        code,
        min_batch_ms=min_batch_ms_in(code) or MIN_BATCH_MS,
        forms=[(match[0].strip(), line) for line, match in numbered(UNSUPPORTED_TRIGGER, uncommented)],
        is_job=not is_excerpt and bool(JOB.search(uncommented)),
        is_databricks=target_engines(code) == (DATABRICKS,),
        builds_session=bool(SESSION.search(uncommented)),
        is_jvm=True,
        is_test=bool(TEST.search(uncommented)),
        is_spark=is_excerpt or (bool(SPARK.search(uncommented)) and not OTHER_TRIGGER.search(uncommented)),
    )
    facts = facts_of(module, _marks(plain, tree, is_excerpt=is_excerpt))
    return Facts(facts.parts, module.unchecked if "realtime" in code.lower() else [])


def _marks(code: str, tree: ast.Module, *, is_excerpt: bool) -> Marks:
    parts = {number: line.partition("//") for number, line in enumerate(code.splitlines(), 1) if "//" in line}
    alone = {number: comment for number, (before, _, comment) in parts.items() if not before.strip()}
    beside = {number: comment for number, (_, _, comment) in parts.items() if number not in alone}
    return marks_of(code, tree, alone, beside, is_excerpt=is_excerpt)
