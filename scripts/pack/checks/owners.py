"""
Check that one page owns each fact that several pages need, so that the fact is corrected in one place.

Every other page that states the fact must link to the owner on the same line. A string in `spark_rtm` that states the
fact must name the owner in the same call or statement.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scripts.pack import files
from scripts.pack.checks.evidence import hand_written
from spark_rtm.text import markdown
from spark_rtm.text.finding import Finding

FACTS = {
    "timeout for an unreachable broker": ("errors_kafka", r"three minutes|18[34] s"),
    "idle connections of Event Hubs": ("errors_kafka", r"\b240 s\b"),
    "deleted records that the query has not read": ("errors_kafka", r"failOnDataLoss"),
    "maximum record size of the sink": ("kafka_patterns", r"1 MiB|1048576|1,048,576"),
    "linger time of the client": ("kafka_patterns", r"Kafka clients 4"),
    "producer buffer": ("kafka_patterns", r"buffer of 32 MB"),
    "Kafka consumer groups": ("kafka_patterns", r"does not commit offsets to Kafka"),
    "lag of 1 without a record": ("throughput", r"end marker"),
    "shuffle memory": ("throughput", r"writerMaxMemory"),
    "sustained rates": ("throughput", r"(?:32|12|8|6),000 records/s"),
    "limit of a broadcast table": ("sources_sinks_operators", r"10 MB or less"),
    "latency that Databricks reports": ("latency", r"e2eLatencyMs"),
    "runtime dates": ("runtimes", r"2026-06-10|2026-07-23|2029-06-10"),
    "versions of runtime 18": ("runtimes", r"\b18\.[23]\b"),
    "settings of a stream-stream join": ("joins", r"five settings"),
    "gain from async progress tracking": ("execution_modes", r"81 to 84%"),
    "default garbage collector": ("tuning", r"two cores and 1,792 MB"),
    "slow first batches": ("tuning", r"hundred (?:empty|pauses|times)"),
    "rows that are too late": ("state", r"two batches too late"),
    # Each of these patterns finds text that denies a feature of `control`, `latency`, `joins`, `python_state` or
    # `rtm resize`.
    "stop in the middle of a batch": ("control", r"`query\.stop\(\)` repeats|stop\(\)` does not wait for a commit"),
    "latency of OSS": ("latency", r"not reported; applying|OSS(?: 4\.3\.0)? reports no latenc"),
    "missing support for joins": (
        "joins",
        r"stream, inner \| not supported|OSS(?: 4\.3\.0)? (?:refuses|does not support) (?:stream-stream |)joins?\b",
    ),
    "missing support for Python": (
        "state",
        r"(?:refuses?|not support) \[?Python (?:UDF|function|processor)|no Python (?:UDF|function)",
    ),
    "number of state partitions": ("state", r"fixed by the first batch|partitions\S* for each checkpoint"),
}
"""The page that owns each fact, and a regular expression for the words or numbers that state the fact."""
SENTENCE = re.compile(r"(?<![\w.])[a-z]+ [a-z]+(?![\w.])")
"""Two lowercase words in a row. Names and lists of settings contain no such pair, so they are not checked."""


def check_owners(root: Path) -> Iterator[Finding]:
    """Yield places that state a fact without referring to its owner, and owners that do not state their fact."""
    texts = {path: path.read_text(encoding="utf-8") for path in files.pages(root)}
    lines = {path: hand_written(text) for path, text in texts.items()}
    for fact, (owner, words) in FACTS.items():
        page = root / "references" / f"{owner}.md"
        if not re.search(words, texts[page]):
            problem = f"does not state the {fact}, which it owns"
            yield Finding(files.relative(root, page), 1, "owner", problem, "state the fact, or change owners.py")
        stated = [(path, n) for path in texts for n, line in enumerate(lines[path], 1) if re.search(words, line)]
        for path, line in stated:
            targets = {link.target.partition("#")[0] for link in markdown.links(texts[path]) if link.line == line}
            if path != page and page.resolve() not in {(path.parent / target).resolve() for target in targets}:
                problem = f"states the {fact} without a link to its owner, {owner}.md"
                remedy = "link that page, or delete the statement"
                yield Finding(files.relative(root, path), line, "owner", problem, remedy)
    for path in (path for path in files.files_below(root / "spark_rtm") if path.suffix == ".py"):
        for line, problem in _of_messages(path.read_text(encoding="utf-8")):
            remedy = "add the page to the message, or delete the statement"
            yield Finding(files.relative(root, path), line, "owner", problem, remedy)


def _of_messages(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the problem of each string that states a fact without naming the page that owns the fact."""
    facts = [(fact, owner, words) for fact, (owner, words) in FACTS.items() if re.search(words, text)]
    for constant, near in _strings(tree := ast.parse(text), tree) if facts else ():
        for fact, owner, words in facts:
            is_stated = SENTENCE.search(constant.value) and re.search(words, constant.value)
            if is_stated and f"{owner}.md" not in (ast.get_source_segment(text, near) or ""):
                yield constant.lineno, f"a message states the {fact} without naming its owner, {owner}.md"


def _strings(node: ast.AST, near: ast.AST) -> Iterator[tuple[Any, ast.AST]]:
    """Yield each string constant below a node, with the innermost call or statement that contains the string."""
    near = node if isinstance(node, ast.Call | ast.stmt) else near
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node, near
    for child in ast.iter_child_nodes(node):
        yield from _strings(child, near)
