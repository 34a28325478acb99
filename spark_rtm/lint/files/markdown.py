"""Check the fences, code spans, tables and prose of Markdown pages, except what the page marks as wrong."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache, partial

from spark_rtm.lint.files.definitions import definition_problems
from spark_rtm.lint.files.documents import UnreadableError, read_json, read_yaml
from spark_rtm.lint.files.hcl import read_hcl
from spark_rtm.lint.files.layout import Layout, lead_in, mark_of
from spark_rtm.lint.files.prose import MODE, Sentence, sentences
from spark_rtm.lint.files.scala import scala_problems
from spark_rtm.lint.files.sql import sql_problems
from spark_rtm.lint.marks import CONDITION, SIGN, silences
from spark_rtm.lint.python.check import SPARK, python_problems
from spark_rtm.lint.rules.claim import DENIED, is_silent
from spark_rtm.lint.rules.claim import RULES as CLAIM_RULES
from spark_rtm.lint.rules.rule import UNCHECKED, RuleProblem, Steps, UncheckedError, steps_for
from spark_rtm.lint.rules.trigger import RULES as TRIGGER_RULES
from spark_rtm.lint.spark.engines import target_engines
from spark_rtm.lint.spark.scope import FRAGMENT
from spark_rtm.text import markdown

TRIGGER_CONDITIONS = {"VALUE_NOT_NON_EMPTY_STR", "ONLY_ALLOW_SINGLE_TRIGGER", "PySparkValueError"}
DEFINITIONS = {
    **dict.fromkeys(("json", "jsonc"), read_json),
    **dict.fromkeys(("yaml", "yml"), read_yaml),
    **dict.fromkeys(("hcl", "tf", "terraform"), read_hcl),
}
LANGUAGES: dict[str, Callable[[str], list[RuleProblem]]] = {
    "scala": scala_problems,
    "java": partial(scala_problems, is_java=True),
    "sql": sql_problems,
    **{language: partial(definition_problems, read=read) for language, read in DEFINITIONS.items()},
}
"""The check of each other language, which is also the suffix of its files."""
TRIGGER_SPAN = re.compile(r"\breal_?[tT]ime\s*=|Trigger\.RealTime\(|RealTimeTrigger|option\([\"']realTime")
CONTINUOUS_CODE = re.compile(r"\btrigger\s*\(\s*continuous\s*=|\bTrigger\.Continuous\b")
CONTINUOUS = next(rule for rule in CLAIM_RULES if rule.id == "claim-continuous")
BARE_TRIGGER = re.compile(r"\.?\btrigger\(\s*realTime\s*=\s*\w+\s*\)")
CALL = re.compile(r"\btrigger\s*\([^)]*real_?[tT]ime")
JVM_FORM = re.compile(r"\bTrigger\.RealTime\(|\bRealTimeTrigger\b")


def layout_problems(layout: Layout, *, min_batch_ms: float | None = None) -> list[RuleProblem]:
    """Return the problems of a parsed Markdown page."""
    problems: list[RuleProblem] = []
    steps = steps_for(layout.text)
    is_spark = bool(SPARK.search(layout.text))
    for fence in layout.fences:
        engines = {fence.options["requires"]} if "requires" in fence.options else set(target_engines(fence.code))
        in_fence = [
            (rule, problem.at(problem.line + fence.line))
            for rule, problem in _fence_problems(fence, steps, is_spark=is_spark, min_batch_ms=min_batch_ms)
            if engines & set(problem.engine or rule.engines)
        ]
        if "raises" in fence.options:
            # The fence must fail with the error condition that it declares.
            # A wrong `realTime` value would make the fence fail earlier, with a different condition.
            if fence.options["raises"] not in TRIGGER_CONDITIONS:
                problems += [entry for entry in in_fence if entry[0].id == "trigger-duration"]
        else:
            mark = mark_of(layout, fence)
            problems += [
                (rule, problem)
                for rule, problem in in_fence
                if mark is None or (rule is not UNCHECKED and not silences(mark, rule.id))
            ]
            problems += _continuous_problems(layout, fence) if mark is None else []
    for sentence in sentences(layout):
        problems += [(rule, problem) for rule in CLAIM_RULES for problem in rule.check(sentence)]
        problems += _span_problems(sentence, min_batch_ms)
    return problems


def _continuous_problems(layout: Layout, fence: markdown.Fence) -> Iterator[RuleProblem]:
    """Yield continuous triggers that a sentence or the nearest heading calls real-time mode."""
    match = CONTINUOUS_CODE.search(fence.code)
    if match:
        places = [lead_in(layout.lines, fence.line), *layout.titles[fence.line - 1][:-2:-1]]
        sentence = Sentence(1, f"{' '.join(places)} {match[0]}", is_about=any(map(MODE.search, places)))
        line = fence.first_code_line + fence.code.count("\n", 0, match.start())
        yield from ((CONTINUOUS, problem.at(line)) for problem in CONTINUOUS.check(sentence))


def _fence_problems(
    fence: markdown.Fence, steps: Steps, *, is_spark: bool, min_batch_ms: float | None
) -> list[RuleProblem]:
    code = fence.code
    if fence.language == "diff" or (fence.is_python and re.search(r"^[-+]\s*\S", code, re.MULTILINE)):
        code = _after_diff(code)
    try:
        if fence.is_python or fence.language in {"", "diff"} or code.startswith(">>> "):
            found = python_problems(code, is_excerpt=True, is_spark=is_spark, min_batch_ms=min_batch_ms, steps=steps)
            # A fence without a language that is not Python may contain any text.
            is_code = fence.is_python or CALL.search(code)
            return [entry for entry in found or [] if entry[0] is not UNCHECKED or is_code]
        if fence.language in {"scala", "java"}:
            return scala_problems(code, is_java=fence.language == "java", steps=steps)
        return LANGUAGES[fence.language](code) if fence.language in LANGUAGES else []
    except UnreadableError:  # pages show excerpts of definitions, which are seldom complete
        return []
    except UncheckedError as error:
        return [error.problem]


def _after_diff(code: str) -> str:
    lines = []
    for line in code.splitlines():
        is_removed = line.startswith(("-", "@@", "+++", "diff ", "index "))
        lines.append("" if is_removed else line[1:] if line.startswith(("+", " ")) else line)
    return "\n".join(lines)


def _span_problems(sentence: Sentence, min_batch_ms: float | None) -> list[RuleProblem]:
    spans = [(start, sentence.text[start:end].strip("`")) for start, end in markdown.code_spans(sentence.text)]
    triggers = [(start, span) for start, span in spans if TRIGGER_SPAN.search(span) and not JVM_FORM.search(span)]
    if "realTime" in sentence.text:  # code without a span, such as an indented block
        bare = markdown.replace_code_spans(sentence.text, lambda span: "x" * len(span))
        triggers += [(match.start(), match[0]) for match in BARE_TRIGGER.finditer(bare)]
    if not triggers or _denies(sentence.text) or _denies(sentence.around) or is_silent(sentence):
        return []
    problems: list[RuleProblem] = []
    for start, span in triggers:
        line = sentence.line_at(start)
        found = _in_trigger(span, min_batch_ms)
        problems += [(rule, replace(problem.at(line), severity="warning")) for rule, problem in found]
    return problems


@lru_cache(maxsize=100)  # all cells of a row have the same text around them
def _denies(text: str) -> bool:
    said = markdown.replace_code_spans(text, lambda _: "x")
    return bool(DENIED.search(said) or SIGN.search(said) or CONDITION.search(text))


@lru_cache(maxsize=1000)  # the same triggers occur many times on a page
def _in_trigger(span: str, min_batch_ms: float | None) -> tuple[RuleProblem, ...]:
    code = _as_chain(span)
    found = python_problems(code, is_excerpt=True, is_spark=True, min_batch_ms=min_batch_ms, rules=TRIGGER_RULES)
    return tuple((rule, problem) for rule, problem in found or [] if rule in TRIGGER_RULES)


def _as_chain(span: str) -> str:
    code = span.strip()
    if code.startswith("trigger("):
        return f"{FRAGMENT}.{code}"
    if re.match(r"real_?[tT]ime\s*=", code):
        return f"{FRAGMENT}.trigger({code})"
    return FRAGMENT + code if code.startswith(".") else code
