"""
Check the real-time triggers in Scala code, and the calls between `writeStream` and `start`.

In Scala, a real-time trigger is an object with one optional argument: the interval as a string or in milliseconds.
"""

import re

from scripts.lint.prose.marks import is_right_comment, is_wrong_comment
from scripts.lint.python.check import module_problems
from scripts.lint.rules.rule import Module, Problem, RuleProblem
from scripts.lint.rules.trigger import TRIGGER_RULES
from scripts.lint.spark.intervals import MIN_BATCH_MS, min_batch_ms_in
from scripts.lint.spark.streams import Arguments, Frame, Query, Trigger, Writer
from scripts.lint.spark.values import Const, Unknown, Value

TRIGGER = re.compile(
    r"\b(?:Trigger\s*\.\s*RealTime|RealTimeTrigger(?:\s*\.\s*apply)?)\b\s*(?:\((?P<argument>[^()]*)\))?"
)
UNSUPPORTED_TRIGGER = re.compile(
    r"\bTrigger\s*\.\s*(?:realTime|RealTimeMode|Realtime)\b|\.trigger\(\s*realTime\s*=|"
    r"\bnew\s+(?:Trigger\.)?RealTime(?:Trigger)?\b"
)
CHAIN = re.compile(r"\.\s*writeStream\b(?P<calls>.*?)\.\s*(?P<end>start|toTable)\s*\(", re.DOTALL)
CALL = re.compile(
    r"\.\s*(?P<name>format|outputMode|option|foreachBatch|foreach|"
    r"trigger)\s*(?:\((?P<arguments>(?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)|\{)"
)
TEXT = re.compile(r'"([^"\\]*)"')
TRIGGER_FORM = next(rule for rule in TRIGGER_RULES if rule.id == "trigger-form")
FIX = 'write Trigger.RealTime("5 minutes"), or on Databricks RealTimeTrigger.apply("5 minutes")'


def scala_problems(code: str) -> list[RuleProblem]:
    """Return the problems in Scala code."""
    plain = re.sub(r"/\*.*?\*/", lambda match: "\n" * match[0].count("\n"), code, flags=re.DOTALL)
    uncommented = re.sub(r"(?<![:\"])//[^\n]*", "", plain)
    counterexamples = _counterexample_lines(plain)
    module = Module(min_batch_ms=min_batch_ms_in(code) or MIN_BATCH_MS, lines=code.splitlines())
    for match in TRIGGER.finditer(uncommented):
        if uncommented[: match.start()].rstrip().endswith(("import", ".", "streaming")) or match["argument"] is None:
            continue
        line = _line(uncommented, match.start())
        trigger = _trigger(match["argument"], line)
        module.triggers.append((trigger, Writer(Frame(), lines=frozenset({line}))))
    for chain in CHAIN.finditer(uncommented):
        if TRIGGER.search(chain["calls"]):
            module.queries.append(_query(uncommented, chain))
    problems = module_problems(module, counterexamples)
    for match in UNSUPPORTED_TRIGGER.finditer(uncommented):
        line = _line(uncommented, match.start())
        if line not in counterexamples:
            message = f"{match[0].strip()} does not exist, so the code does not compile"
            problems.append((TRIGGER_FORM, Problem(line, message, FIX)))
    return problems


def _trigger(argument: str, line: int) -> Trigger:
    keywords = {"realTime": (_value(argument), line)}
    return Trigger(Arguments(keywords=keywords), line)


def _value(argument: str) -> Value:
    text = TEXT.fullmatch(argument.strip())
    if text:
        return Const(text[1])
    words = {"true": Const(value=True), "false": Const(value=False), "null": Const(0), "None": Const(0)}
    return words.get(argument.strip(), Unknown())


def _query(code: str, chain: re.Match[str]) -> Query:
    fields: dict[str, tuple[Value, int]] = {}
    options: dict[str, tuple[Value, int]] = {}
    sinks, trigger, lines = [], None, set()
    for call in CALL.finditer(code, chain.start("calls"), chain.end("calls")):
        line, arguments = _line(code, call.start("name")), call["arguments"] or ""
        lines.add(line)
        texts = TEXT.findall(arguments)
        name = call["name"]
        if name in {"format", "outputMode"}:
            mode = re.search(r"OutputMode\s*\.\s*(\w+)", arguments)
            value = Const(mode[1].lower()) if mode else Const(texts[0]) if texts else Unknown()
            fields[name] = (value, line)
        elif name == "option" and texts:
            options[texts[0].lower()] = (Const(texts[1]) if len(texts) > 1 else Unknown(), line)
        elif name == "trigger" and (match := TRIGGER.search(arguments)):
            trigger = _trigger(match["argument"] or '"5 minutes"', line)
        elif name in {"foreach", "foreachBatch"}:
            sinks.append((name, line))
    is_open = ".options" in chain["calls"]
    writer = Writer(Frame(), fields.get("format"), fields.get("outputMode"), options, is_open,
                    trigger, tuple(sinks), frozenset(lines))  # fmt: skip
    return Query(writer, _line(code, chain.start("end")))


def _line(code: str, position: int) -> int:
    return code.count("\n", 0, position) + 1


def _counterexample_lines(code: str) -> set[int]:
    wrong, is_wrong = set(), False
    for number, line in enumerate(code.splitlines(), 1):
        body, sign, comment = line.partition("//")
        if sign and not body.strip():
            is_wrong = is_wrong_comment(comment) or (is_wrong and not is_right_comment(comment))
        elif not line.strip():
            is_wrong = False
        if is_wrong or (sign and body.strip() and is_wrong_comment(comment)):
            wrong.add(number)
    return wrong
