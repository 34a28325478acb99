"""
Check the real-time triggers in Scala code, and the calls between `writeStream` and `start`.

In Scala, a real-time trigger is an object with one optional argument: the interval as a string or in milliseconds.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from scripts.lint.prose.layout import without_comments
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
STREAM = re.compile(r"\.\s*writeStream\b")
END = re.compile(r"\.\s*(?P<name>start|toTable)\s*\(")
CALL = re.compile(
    r"\.\s*(?P<name>format|outputMode|option|foreachBatch|foreach|"
    r"trigger)\s*(?:\((?P<arguments>(?:[^()]++|\((?:[^()]++|\([^()]*+\))*+\))*+)\)|\{)"
)
MAX_BLANKS = 200
"""Blanks between a trigger and the word before it."""
TEXT = re.compile(r'"([^"\\]*)"')
TRIGGER_FORM = next(rule for rule in TRIGGER_RULES if rule.id == "trigger-form")
FIX = 'write Trigger.RealTime("5 minutes"), or on Databricks RealTimeTrigger.apply("5 minutes")'


def scala_problems(code: str) -> list[RuleProblem]:
    """Return the problems in Scala code."""
    plain = without_comments(code, "/*", "*/")
    uncommented = re.sub(r"(?<![:\"])//[^\n]*", "", plain)
    counterexamples = _counterexample_lines(plain)
    module = Module(min_batch_ms=min_batch_ms_in(code) or MIN_BATCH_MS, lines=code.splitlines())
    lines = _Lines(uncommented)
    for match in TRIGGER.finditer(uncommented):
        before = uncommented[max(0, match.start() - MAX_BLANKS) : match.start()].rstrip()
        if before.endswith(("import", ".", "streaming")) or match["argument"] is None:
            continue
        line = lines.number(match.start())
        trigger = _trigger(match["argument"], line)
        module.triggers.append((trigger, Writer(Frame(), lines=frozenset({line}))))
    for stream_end, start in _chains(uncommented):
        if TRIGGER.search(uncommented, stream_end, start.start()):
            module.queries.append(_query(uncommented, stream_end, start, lines))
    problems = module_problems(module, counterexamples)
    for match in UNSUPPORTED_TRIGGER.finditer(uncommented):
        line = lines.number(match.start())
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


def _chains(code: str) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield the end of each `writeStream`, and the match of the `start` that follows it."""
    position = 0
    while (stream := STREAM.search(code, position)) and (end := END.search(code, stream.end())):
        yield stream.end(), end
        position = end.end()


def _query(code: str, stream_end: int, start: re.Match[str], places: _Lines) -> Query:
    fields: dict[str, tuple[Value, int]] = {}
    options: dict[str, tuple[Value, int]] = {}
    sinks, trigger, lines = [], None, set()
    for call in CALL.finditer(code, stream_end, start.start()):
        line, arguments = places.number(call.start("name")), call["arguments"] or ""
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
    is_open = code.find(".options", stream_end, start.start()) >= 0
    writer = Writer(Frame(), fields.get("format"), fields.get("outputMode"), options, is_open,
                    trigger, tuple(sinks), frozenset(lines))  # fmt: skip
    return Query(writer, places.number(start.start("name")))


class _Lines:
    """The positions of the line breaks in a text."""

    def __init__(self, text: str) -> None:
        self.breaks = [match.start() for match in re.finditer("\n", text)]

    def number(self, position: int) -> int:
        """Return the number of the line that contains a position."""
        return bisect_left(self.breaks, position) + 1


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
