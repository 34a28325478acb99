"""
Read Scala and Java as if they were Python, SQL (settings, table properties) and shell commands (`spark-submit --conf`).

Scala and Java code is also searched for trigger expressions that do not compile. Python in a shell command's heredoc is
read as Python.
"""

import ast
import re
from functools import partial
from operator import add

from spark_rtm.lint.facts import Fact, Facts
from spark_rtm.lint.files.definitions import KEY_RULES, REAL_TIME_NAME
from spark_rtm.lint.files.layout import without_comments
from spark_rtm.lint.jvm.parser import parse
from spark_rtm.lint.marks import Marks
from spark_rtm.lint.python.counterexamples import marks_of
from spark_rtm.lint.python.read import facts_of, module_of, read_python
from spark_rtm.lint.spark.intervals import MIN_BATCH_MS, min_batch_ms_in
from spark_rtm.lint.spark.module import Module, target_engines
from spark_rtm.lint.spark.streams import Setting
from spark_rtm.lint.spark.values import Const
from spark_rtm.text import numbered
from spark_rtm.text.finding import DATABRICKS

MAX_STATEMENT = 5000
"""Number of characters before a table property in which the reader looks for the table's kind."""
COMMENT = re.compile(r"--[^\n]*+")
SET = re.compile(r"(?:^|;)\s*+SET\s++(?!VAR\b)`?([\w.]++)`?\s*+=\s*+['\"]?([^;'\"\n]*+)", re.IGNORECASE)
PROPERTY = re.compile(r"(['\"])pipelines\.trigger\1\s*+=\s*+(['\"])RealTime\2", re.IGNORECASE)
TABLE = re.compile(r"\b(STREAMING\s+(?:LIVE\s+)?TABLE|MATERIALIZED\s+VIEW|LIVE\s+TABLE|FLOW)\b", re.IGNORECASE)
CONF = re.compile(r"--conf[\s=]+[\"']?(spark\.[\w.]+)=([^\s\"']+)")
HEREDOC = re.compile(r"<<-?\s*['\"]?(?P<end>\w+)[^\n]*\n(?P<code>.*?)\n\s*(?P=end)\b", re.DOTALL)
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


def read_sql(code: str) -> Facts:
    """Return the facts in SQL code. Comments show whether the settings are for real-time mode."""
    plain = COMMENT.sub("", without_comments(code, "/*", "*/"))
    module = Module(is_for_real_time=bool(REAL_TIME_NAME.search(code)), lines=code.splitlines())
    for line, match in numbered(SET, plain, 1):
        key, value = match[1], match[2].strip()
        module.settings.append(Setting(key, Const(value), line))
        if key == "pipelines.trigger" and value.lower() == "realtime":
            module.flows.append(("SET", line))
    for line, match in numbered(PROPERTY, plain):
        statement = plain[max(0, match.start() - MAX_STATEMENT) : match.start()].rpartition(";")[2]
        kinds = TABLE.findall(statement)
        kind = " ".join(kinds[-1].lower().split()) if kinds else "table"
        module.flows.append((f"a {kind}", line))
    return Facts([Fact(module)])


def read_shell(code: str) -> Facts:
    """Return the facts that shell commands contain."""
    settings = [Setting(match[1], Const(match[2]), line) for line, match in numbered(CONF, code)]
    facts = Facts([Fact(Module(settings=settings), only=KEY_RULES)] if settings else [])
    for line, match in numbered(HEREDOC, code):
        if "readStream" in match["code"] or ".trigger(" in match["code"]:
            facts.add(read_python(match["code"], is_excerpt=True), partial(add, line))
    return facts
