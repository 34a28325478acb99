"""Read SQL (settings, pipeline table properties) and shell commands (`spark-submit --conf`, Python in heredocs)."""

import re
from functools import partial
from operator import add

from spark_rtm.lint.facts import Fact, Facts
from spark_rtm.lint.files.definitions import KEY_RULES, REAL_TIME_NAME
from spark_rtm.lint.files.layout import without_comments
from spark_rtm.lint.python.read import read_python
from spark_rtm.lint.spark.module import Module
from spark_rtm.lint.spark.streams import Setting
from spark_rtm.lint.spark.values import Const
from spark_rtm.text import numbered

MAX_STATEMENT = 5000
"""Number of characters before a table property in which the reader looks for the table's kind."""
COMMENT = re.compile(r"--[^\n]*+")
SET = re.compile(r"(?:^|;)\s*+SET\s++(?!VAR\b)`?([\w.]++)`?\s*+=\s*+['\"]?([^;'\"\n]*+)", re.IGNORECASE)
PROPERTY = re.compile(r"(['\"])pipelines\.trigger\1\s*+=\s*+(['\"])RealTime\2", re.IGNORECASE)
TABLE = re.compile(r"\b(STREAMING\s+(?:LIVE\s+)?TABLE|MATERIALIZED\s+VIEW|LIVE\s+TABLE|FLOW)\b", re.IGNORECASE)
CONF = re.compile(r"--conf[\s=]+[\"']?(spark\.[\w.]+)=([^\s\"']+)")
HEREDOC = re.compile(r"<<-?\s*['\"]?(?P<end>\w+)[^\n]*\n(?P<code>.*?)\n\s*(?P=end)\b", re.DOTALL)


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
