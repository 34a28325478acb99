"""Read fences, code spans, tables and prose in Markdown pages, including marks for wrong examples."""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache, partial
from operator import add
from typing import Any

from spark_rtm.lint.facts import Fact, Facts, Sentence, denies
from spark_rtm.lint.files.code import read_jvm
from spark_rtm.lint.files.formats import READERS
from spark_rtm.lint.files.layout import Layout, mark_of
from spark_rtm.lint.files.prose import comments, sentences
from spark_rtm.lint.problem import UncheckedError, UnreadableError
from spark_rtm.lint.python.read import SPARK, read_python
from spark_rtm.lint.spark.module import target_engines
from spark_rtm.lint.spark.scope import FRAGMENT
from spark_rtm.text import markdown

TRIGGER_CONDITIONS = {"VALUE_NOT_NON_EMPTY_STR", "ONLY_ALLOW_SINGLE_TRIGGER", "PySparkValueError"}
TRIGGER_SPAN = re.compile(r"\breal_?[tT]ime\s*=|Trigger\.RealTime\(|RealTimeTrigger|option\([\"']realTime")
BARE_TRIGGER = re.compile(r"\.?\btrigger\(\s*realTime\s*=\s*\w+\s*\)")
CALL = re.compile(r"\btrigger\s*\([^)]*real_?[tT]ime")
JVM_FORM = re.compile(r"\bTrigger\.RealTime\(|\bRealTimeTrigger\b")


def read_page(layout: Layout, *, min_batch_ms: float | None = None) -> Facts:
    """Return the facts in a parsed Markdown page."""
    facts, is_spark = Facts(), bool(SPARK.search(layout.text))
    for fence in layout.fences:
        inner = _read_fence(fence, is_spark=is_spark, min_batch_ms=min_batch_ms)
        changes: dict[str, Any] = {"engines": target_engines(fence.code)}
        if "requires" in fence.options:
            changes["engines"] = (fence.options["requires"],)
        if "raises" in fence.options:
            # A fence with `raises` must fail with the declared error condition.
            # A wrong `realTime` value would make the fence fail earlier, with a different condition.
            is_trigger = fence.options["raises"] in TRIGGER_CONDITIONS
            inner = Facts() if is_trigger else Facts(inner.parts)
            changes["only"] = ("trigger-duration",)
        elif (mark := mark_of(layout, fence)) is not None:
            inner = Facts(inner.parts)
            changes["mark"] = mark
        else:
            for comment in comments(layout, fence):
                facts.parts += [Fact(comment), *_spans(comment, min_batch_ms)]
        facts.add(inner, partial(add, fence.line), **changes)
    for sentence in sentences(layout):
        # `lint --claims` covers advice that spans several lines.
        facts.parts += [*([] if "\n" in sentence.text else [Fact(sentence)]), *_spans(sentence, min_batch_ms)]
    return facts


def _read_fence(fence: markdown.Fence, *, is_spark: bool, min_batch_ms: float | None) -> Facts:
    code = fence.code
    if fence.language == "diff" or (fence.is_python and re.search(r"^[-+]\s*\S", code, re.MULTILINE)):
        code = _after_diff(code)
    try:
        if fence.is_python or fence.language in {"", "diff", "text"} or code.startswith(">>> "):
            found = read_python(code, is_excerpt=True, is_spark=is_spark, min_batch_ms=min_batch_ms)
            # A fence without a language may contain any text, unless it contains Python.
            return found if fence.is_python or CALL.search(code) else Facts(found.parts)
        if fence.language in {"scala", "java"}:
            return read_jvm(code, is_java=fence.language == "java")
        return READERS[fence.language](code) if fence.language in READERS else Facts()
    except UnreadableError:  # pages show excerpts of definitions, which are rarely complete
        return Facts()
    except UncheckedError as error:
        return Facts(unchecked=[error.problem])


def _after_diff(code: str) -> str:
    lines = []
    for line in code.splitlines():
        is_removed = line.startswith(("-", "@@", "+++", "diff ", "index "))
        lines.append("" if is_removed else line[1:] if line.startswith(("+", " ")) else line)
    return "\n".join(lines)


def _spans(sentence: Sentence, min_batch_ms: float | None) -> Iterator[Fact]:
    """Yield the triggers in a sentence, unless the sentence advises against them."""
    spans = [(start, sentence.text[start:end].strip("`")) for start, end in markdown.code_spans(sentence.text)]
    triggers = [(start, span) for start, span in spans if TRIGGER_SPAN.search(span) and not JVM_FORM.search(span)]
    if "realTime" in sentence.text:  # code outside a code span, such as an indented block
        bare = markdown.replace_code_spans(sentence.text, lambda span: "x" * len(span))
        triggers += [(match.start(), match[0]) for match in BARE_TRIGGER.finditer(bare)]
    if triggers and not denies(sentence.text) and not denies(sentence.around) and not sentence.is_denied:
        for start, span in triggers:
            line_of = partial(_always, sentence.line_at(start))
            yield from (replace(fact, line_of=line_of) for fact in _in_trigger(span, min_batch_ms))


def _always(line: int, _: int) -> int:
    return line


@lru_cache(maxsize=1000)  # the same triggers occur many times on a page
def _in_trigger(span: str, min_batch_ms: float | None) -> list[Fact]:
    facts = read_python(_as_chain(span), is_excerpt=True, is_spark=True, min_batch_ms=min_batch_ms)
    return [replace(fact, only=("trigger-",), severity="warning") for fact in facts.parts]


def _as_chain(span: str) -> str:
    code = span.strip()
    if code.startswith("trigger("):
        return f"{FRAGMENT}.{code}"
    if re.match(r"real_?[tT]ime\s*=", code):
        return f"{FRAGMENT}.trigger({code})"
    return FRAGMENT + code if code.startswith(".") else code
