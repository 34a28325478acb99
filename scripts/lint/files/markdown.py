"""
Problems in Markdown: fences, code spans, tables and prose.

What arrives is the text of a page; what leaves are problems, without those that the page itself shows as wrong.
Real-time mode is mostly explained in pages, so a page may name every mistake as long as it calls it one.
"""

from __future__ import annotations

import re

from scripts.lint.files.definitions import definition_problems
from scripts.lint.files.scala import scala_problems
from scripts.lint.prose.compute_claims import COMPUTE_CLAIMS
from scripts.lint.prose.marks import CONDITION, SIGN, WRONG
from scripts.lint.prose.mode_claims import MODE_CLAIMS
from scripts.lint.prose.page import Page
from scripts.lint.prose.sentences import REFERS_BACK, comments, is_shown_as_wrong, sentences, titles_of
from scripts.lint.python.check import SPARK, Found, python_problems
from scripts.lint.rules.rule import Problem, Rule
from scripts.lint.rules.trigger import TRIGGER_RULES
from scripts.text import markdown

CLAIMS: list[Rule] = [*COMPUTE_CLAIMS, *MODE_CLAIMS]
SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
TRIGGER_CONDITIONS = {"VALUE_NOT_NON_EMPTY_STR", "ONLY_ALLOW_SINGLE_TRIGGER", "PySparkValueError"}
SPAN_RULES = {rule.id for rule in TRIGGER_RULES}
TRIGGER_SPAN = re.compile(
    r"\brealTime\s*=|\breal_time\s*=|\brealtime\s*=|Trigger\.RealTime\(|RealTimeTrigger|option\([\"']realTime"
)


def page_problems(text: str, *, minimum_ms: float | None = None) -> Found:
    """Return the problems of a Markdown page."""
    titles = titles_of(text)
    found: Found = []
    for fence in markdown.fences(text):
        problems = _fence_problems(fence, is_spark=bool(SPARK.search(text)), minimum_ms=minimum_ms)
        if "raises" in fence.options:
            # Whatever a fence promises to fail with: a trigger without a duration fails before that.
            excused = fence.options["raises"] in TRIGGER_CONDITIONS
            found += [] if excused else [entry for entry in problems if entry[0].id == "trigger-duration"]
        elif not is_shown_as_wrong(text, titles, fence):
            found += problems
    page = Page([*sentences(text, titles), *comments(text, titles)])
    found += _claims(page)
    found += _span_problems(page, minimum_ms=minimum_ms)
    return found


def _fence_problems(fence: markdown.Fence, *, is_spark: bool, minimum_ms: float | None) -> Found:
    code = fence.code
    if fence.language == "diff" or (fence.is_python and re.search(r"^[-+] ?\s*\S", code, re.MULTILINE)):
        code = _after_diff(code)
    found: Found = []
    if fence.is_python or fence.language in {"", "diff"}:
        found = python_problems(code, is_excerpt=True, is_spark=is_spark, minimum_ms=minimum_ms) or []
    if fence.language == "scala":
        found = scala_problems(code)
    if fence.language in {"json", "jsonc", "yaml", "yml"}:
        found = definition_problems(code, is_json=fence.language.startswith("json"))
    return [(rule, _moved(problem, fence.first_code_line - 1)) for rule, problem in found]


def _moved(problem: Problem, lines: int) -> Problem:
    return Problem(problem.line + lines, problem.message, problem.fix, problem.engine, problem.severity)


def _after_diff(code: str) -> str:
    lines = []
    for line in code.splitlines():
        is_removed = line.startswith(("-", "@@", "+++", "diff ", "index "))
        lines.append("" if is_removed else line[1:] if line.startswith(("+", " ")) else line)
    return "\n".join(lines)


def _claims(page: Page) -> Found:
    return [(rule, problem) for rule in CLAIMS for problem in rule.check(page)]


def _span_problems(page: Page, *, minimum_ms: float | None) -> Found:
    found: Found = []
    for number, sentence in enumerate(page.sentences):
        after = page.sentences[number + 1].text if number + 1 < len(page.sentences) else ""
        words = SPAN.sub("x", sentence.text)
        if WRONG.search(words) or CONDITION.search(sentence.text) or SIGN.search(words):
            continue
        if REFERS_BACK.match(after) and (WRONG.search(after) or CONDITION.search(after)):
            continue
        for _, span in SPAN.findall(sentence.text):
            if TRIGGER_SPAN.search(span):
                problems = python_problems(_as_chain(span), is_excerpt=True, is_spark=True, minimum_ms=minimum_ms) or []
                found += [(r, _moved(p, sentence.line - 1)) for r, p in problems if r.id in SPAN_RULES]
    return found


def _as_chain(span: str) -> str:
    code = span.strip()
    if code.startswith("trigger("):
        return "." + code
    if re.match(r"(?:realTime|real_time|realtime)\s*=", code):
        return f".trigger({code})"
    return code


def wrong_fence_lines(text: str) -> set[int]:
    """Return the lines of fences that headings or lead-in lines show as wrong."""
    titles = titles_of(text)
    found: set[int] = set()
    for fence in markdown.fences(text):
        if is_shown_as_wrong(text, titles, fence):
            found.update(range(fence.line, fence.end_line + 1))
    return found
