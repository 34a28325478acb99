"""
Check the fences, code spans, tables and prose of Markdown pages.

The linter does not report code and text that the page itself marks as wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from spark_rtm.lint.files.definitions import definition_problems
from spark_rtm.lint.files.documents import UnreadableError, read_json, read_yaml
from spark_rtm.lint.files.hcl import read_hcl
from spark_rtm.lint.files.scala import scala_problems
from spark_rtm.lint.files.sql import sql_problems
from spark_rtm.lint.files.target import target_engines
from spark_rtm.lint.prose.certainty import is_certain, is_foreign
from spark_rtm.lint.prose.compute_claims import COMPUTE_CLAIMS
from spark_rtm.lint.prose.layout import REFERS_BACK, Layout, is_counterexample, layout_of
from spark_rtm.lint.prose.marks import CONDITION, SIGN, WRONG
from spark_rtm.lint.prose.mode_claims import MODE_CLAIMS
from spark_rtm.lint.prose.page import Page, Sentence
from spark_rtm.lint.prose.sentences import comments, module_sentences, sentences
from spark_rtm.lint.prose.topics import TOPIC, is_about_spark
from spark_rtm.lint.python.check import SPARK, python_problems
from spark_rtm.lint.rules.rule import Rule, RuleProblem
from spark_rtm.lint.rules.trigger import TRIGGER_RULES
from spark_rtm.lint.rules.unchecked import UncheckedError
from spark_rtm.lint.spark.scope import FRAGMENT
from spark_rtm.text import markdown

CLAIMS: list[Rule] = [*COMPUTE_CLAIMS, *MODE_CLAIMS]
TRIGGER_CONDITIONS = {"VALUE_NOT_NON_EMPTY_STR", "ONLY_ALLOW_SINGLE_TRIGGER", "PySparkValueError"}
DEFINITIONS = {
    "json": read_json,
    "jsonc": read_json,
    "yaml": read_yaml,
    "yml": read_yaml,
    "hcl": read_hcl,
    "tf": read_hcl,
    "terraform": read_hcl,
}
SPAN_RULES = {rule.id for rule in TRIGGER_RULES}
TRIGGER_SPAN = re.compile(
    r"\brealTime\s*=|\breal_time\s*=|\brealtime\s*=|Trigger\.RealTime\(|RealTimeTrigger|option\([\"']realTime"
)
BARE_TRIGGER = re.compile(r"\.?\btrigger\((?:realTime|real_time|realtime)\s*=[^()\n]{0,60}\)")
SCALA_FORM = re.compile(r"\bTrigger\.RealTime\(|\bRealTimeTrigger\b")
MENTIONS = re.compile(
    r"\b(?:search for|grep|look for|find all|ignored|complain\w*|crash\w*|breaks?|missing|invalid)\b", re.IGNORECASE
)
"""What a sentence says that mentions a trigger without advising it."""
SCALA = re.compile(r"\b(?:scala|java)\b", re.IGNORECASE)


def page_problems(text: str, *, min_batch_ms: float | None = None) -> list[RuleProblem]:
    """Return the problems in a Markdown page."""
    return layout_problems(layout_of(text), min_batch_ms=min_batch_ms)


def layout_problems(layout: Layout, *, min_batch_ms: float | None = None) -> list[RuleProblem]:
    """Return the problems in a Markdown page whose lines, headings and fences are known."""
    problems: list[RuleProblem] = []
    is_spark = bool(SPARK.search(layout.text))
    for fence in layout.fences:
        engines = {fence.options["requires"]} if "requires" in fence.options else set(target_engines(fence.code))
        in_fence = _fence_problems(fence, is_spark=is_spark, min_batch_ms=min_batch_ms)
        in_fence = [(rule, problem) for rule, problem in in_fence if engines & set(problem.engine or rule.engines)]
        if "raises" in fence.options:
            # The fence must fail with the error condition that it declares.
            # A wrong `realTime` value would make the fence fail earlier, with a different condition.
            if fence.options["raises"] not in TRIGGER_CONDITIONS:
                problems += [entry for entry in in_fence if entry[0].id == "trigger-duration"]
        elif not is_counterexample(layout, fence):
            problems += in_fence
    page = Page([*sentences(layout), *comments(layout)], is_about_spark(layout.text))
    return problems + _claim_problems(page, min_batch_ms=min_batch_ms)


def module_text_problems(code: str, *, min_batch_ms: float | None = None) -> list[RuleProblem]:
    """Return the wrong claims in the comments and docstrings of a Python module."""
    if not TOPIC.search(code) or not is_about_spark(code):
        return []
    return _claim_problems(Page(list(module_sentences(code))), min_batch_ms=min_batch_ms)


def _claim_problems(page: Page, *, min_batch_ms: float | None) -> list[RuleProblem]:
    problems = [(rule, problem) for rule in CLAIMS for problem in rule.check(page)]
    return problems + _span_problems(page, min_batch_ms=min_batch_ms)


def _fence_problems(fence: markdown.Fence, *, is_spark: bool, min_batch_ms: float | None) -> list[RuleProblem]:
    try:
        problems = _code_problems(fence, is_spark=is_spark, min_batch_ms=min_batch_ms)
    except UnreadableError:  # pages show excerpts of definitions, which are seldom complete
        problems = []
    except UncheckedError as error:
        problems = [error.problem]
    return [(rule, problem.at(problem.line + fence.first_code_line - 1)) for rule, problem in problems]


def _code_problems(fence: markdown.Fence, *, is_spark: bool, min_batch_ms: float | None) -> list[RuleProblem]:
    code = fence.code
    if fence.language == "diff" or (fence.is_python and re.search(r"^[-+]\s*\S", code, re.MULTILINE)):
        code = _after_diff(code)
    if fence.is_python or fence.language in {"", "diff"}:
        return python_problems(code, is_excerpt=True, is_spark=is_spark, min_batch_ms=min_batch_ms) or []
    if fence.language in {"scala", "java"}:
        return scala_problems(code, is_java=fence.language == "java")
    if fence.language in DEFINITIONS:
        return definition_problems(code, DEFINITIONS[fence.language])
    if fence.language == "sql":
        return sql_problems(code)
    return []


def _after_diff(code: str) -> str:
    lines = []
    for line in code.splitlines():
        is_removed = line.startswith(("-", "@@", "+++", "diff ", "index "))
        lines.append("" if is_removed else line[1:] if line.startswith(("+", " ")) else line)
    return "\n".join(lines)


def _span_problems(page: Page, *, min_batch_ms: float | None) -> list[RuleProblem]:
    problems: list[RuleProblem] = []
    checked: dict[str, list[RuleProblem]] = {}
    for number, sentence in enumerate(page.sentences):
        if not TRIGGER_SPAN.search(sentence.text) or sentence.is_rejected or sentence.is_code_refused:
            continue
        after = page.sentences[number + 1].text if number + 1 < len(page.sentences) else ""
        if not _is_warning(sentence.text, after):
            problems += _sentence_problems(page, sentence, checked, min_batch_ms)
    return problems


def _sentence_problems(
    page: Page, sentence: Sentence, checked: dict[str, list[RuleProblem]], min_batch_ms: float | None
) -> list[RuleProblem]:
    problems: list[RuleProblem] = []
    for start, span in _trigger_spans(sentence.text):
        if not page.is_about_spark and "trigger" not in span:
            continue
        if span not in checked:
            checked[span] = _checked_span(span, min_batch_ms)
        if not checked[span] and "realTime=" in span:
            problems = []  # the sentence replaces the triggers before by this one
        elif not (SCALA_FORM.search(span) and _is_scala(sentence)):
            line = sentence.line_at(start)
            problems += [(rule, problem.at(problem.line + line - 1)) for rule, problem in checked[span]]
    return problems


def _checked_span(span: str, min_batch_ms: float | None) -> list[RuleProblem]:
    code = _as_chain(span)
    found = python_problems(code, is_excerpt=True, is_spark=True, min_batch_ms=min_batch_ms, rules=TRIGGER_RULES)
    return [(rule, problem) for rule, problem in found or [] if rule.id in SPAN_RULES]


def _trigger_spans(text: str) -> Iterator[tuple[int, str]]:
    """Yield the position and the text of each trigger, in a code span or without one."""
    spans = markdown.code_spans(text)
    yield from ((start, text[start:end].strip("`")) for start, end in spans if TRIGGER_SPAN.search(text[start:end]))
    for match in BARE_TRIGGER.finditer(text):
        if not any(start <= match.start() < end for start, end in spans):
            yield match.start(), match[0]


def _is_scala(sentence: Sentence) -> bool:
    return any(SCALA.search(text) for text in (sentence.text, *sentence.context))


def _is_warning(text: str, after: str) -> bool:
    words = BARE_TRIGGER.sub("x", markdown.replace_code_spans(text, lambda _: "x"))
    if re.search(r":\s*No\W*$", words):
        return True
    if (
        WRONG.search(words)
        or not is_certain(words)
        or is_foreign(text)
        or MENTIONS.search(words)
        or CONDITION.search(text)
        or SIGN.search(words)
    ):
        return True
    return bool(REFERS_BACK.match(after) and (WRONG.search(after) or CONDITION.search(after)))


def _as_chain(span: str) -> str:
    code = span.strip()
    if code.startswith("trigger("):
        return f"{FRAGMENT}.{code}"
    if re.match(r"(?:realTime|real_time|realtime)\s*=", code):
        return f"{FRAGMENT}.trigger({code})"
    return FRAGMENT + code if code.startswith(".") else code


def counterexample_fence_lines(layout: Layout) -> set[int]:
    """Return the numbers of all lines in fences that the page marks as counterexamples."""
    lines: set[int] = set()
    for fence in layout.fences:
        if is_counterexample(layout, fence):
            lines.update(range(fence.line, fence.end_line + 1))
    return lines
