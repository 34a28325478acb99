"""
Check the fences, code spans, tables and prose of Markdown pages.

The linter does not report code and text that the page itself marks as wrong.
"""

from __future__ import annotations

import re

from scripts.lint.files.definitions import definition_problems
from scripts.lint.files.scala import scala_problems
from scripts.lint.prose.compute_claims import COMPUTE_CLAIMS
from scripts.lint.prose.marks import CONDITION, SIGN, WRONG
from scripts.lint.prose.mode_claims import MODE_CLAIMS
from scripts.lint.prose.page import Page
from scripts.lint.prose.sentences import REFERS_BACK, comments, is_counterexample, sentences, titles_of
from scripts.lint.python.check import SPARK, python_problems
from scripts.lint.rules.rule import Rule, RuleProblem
from scripts.lint.rules.trigger import TRIGGER_RULES
from scripts.text import markdown

CLAIMS: list[Rule] = [*COMPUTE_CLAIMS, *MODE_CLAIMS]
SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
TRIGGER_CONDITIONS = {"VALUE_NOT_NON_EMPTY_STR", "ONLY_ALLOW_SINGLE_TRIGGER", "PySparkValueError"}
SPAN_RULES = {rule.id for rule in TRIGGER_RULES}
TRIGGER_SPAN = re.compile(
    r"\brealTime\s*=|\breal_time\s*=|\brealtime\s*=|Trigger\.RealTime\(|RealTimeTrigger|option\([\"']realTime"
)


def page_problems(text: str, *, min_batch_ms: float | None = None) -> list[RuleProblem]:
    """Return the problems in a Markdown page."""
    titles = titles_of(text)
    problems: list[RuleProblem] = []
    for fence in markdown.fences(text):
        in_fence = _fence_problems(fence, is_spark=bool(SPARK.search(text)), min_batch_ms=min_batch_ms)
        if "raises" in fence.options:
            # The fence must fail with the error condition that it declares.
            # A wrong `realTime` value would make the fence fail earlier, with a different condition.
            if fence.options["raises"] not in TRIGGER_CONDITIONS:
                problems += [entry for entry in in_fence if entry[0].id == "trigger-duration"]
        elif not is_counterexample(text, titles, fence):
            problems += in_fence
    page = Page([*sentences(text, titles), *comments(text, titles)])
    problems += [(rule, problem) for rule in CLAIMS for problem in rule.check(page)]
    return problems + _span_problems(page, min_batch_ms=min_batch_ms)


def _fence_problems(fence: markdown.Fence, *, is_spark: bool, min_batch_ms: float | None) -> list[RuleProblem]:
    code = fence.code
    if fence.language == "diff" or (fence.is_python and re.search(r"^[-+] ?\s*\S", code, re.MULTILINE)):
        code = _after_diff(code)
    problems: list[RuleProblem] = []
    if fence.is_python or fence.language in {"", "diff"}:
        problems = python_problems(code, is_excerpt=True, is_spark=is_spark, min_batch_ms=min_batch_ms) or []
    if fence.language == "scala":
        problems = scala_problems(code)
    if fence.language in {"json", "jsonc", "yaml", "yml"}:
        problems = definition_problems(code, is_json=fence.language.startswith("json"))
    return [(rule, problem.at(problem.line + fence.first_code_line - 1)) for rule, problem in problems]


def _after_diff(code: str) -> str:
    lines = []
    for line in code.splitlines():
        is_removed = line.startswith(("-", "@@", "+++", "diff ", "index "))
        lines.append("" if is_removed else line[1:] if line.startswith(("+", " ")) else line)
    return "\n".join(lines)


def _span_problems(page: Page, *, min_batch_ms: float | None) -> list[RuleProblem]:
    problems: list[RuleProblem] = []
    for number, sentence in enumerate(page.sentences):
        after = page.sentences[number + 1].text if number + 1 < len(page.sentences) else ""
        words = SPAN.sub("x", sentence.text)
        if WRONG.search(words) or CONDITION.search(sentence.text) or SIGN.search(words):
            continue
        if REFERS_BACK.match(after) and (WRONG.search(after) or CONDITION.search(after)):
            continue
        for _, span in SPAN.findall(sentence.text):
            if TRIGGER_SPAN.search(span):
                in_span = python_problems(_as_chain(span), is_excerpt=True, is_spark=True, min_batch_ms=min_batch_ms)
                problems += [
                    (rule, problem.at(problem.line + sentence.line - 1))
                    for rule, problem in in_span or []
                    if rule.id in SPAN_RULES
                ]
    return problems


def _as_chain(span: str) -> str:
    code = span.strip()
    if code.startswith("trigger("):
        return "." + code
    if re.match(r"(?:realTime|real_time|realtime)\s*=", code):
        return f".trigger({code})"
    return code


def counterexample_fence_lines(text: str) -> set[int]:
    """Return the numbers of all lines in fences that the page marks as counterexamples."""
    titles = titles_of(text)
    lines: set[int] = set()
    for fence in markdown.fences(text):
        if is_counterexample(text, titles, fence):
            lines.update(range(fence.line, fence.end_line + 1))
    return lines
