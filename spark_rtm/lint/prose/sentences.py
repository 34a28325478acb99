"""Split a page into blocks and sentences, and find the sentences that the page shows in order to reject them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import accumulate

from spark_rtm.lint.prose.certainty import REQUIRES, is_certain
from spark_rtm.lint.prose.comments import CodeText, texts_of_code
from spark_rtm.lint.prose.layout import (
    END,
    MAX_SENTENCE,
    Layout,
    is_counterexample,
    is_wrong_section,
    layout_of,
    without_comments,
)
from spark_rtm.lint.prose.marks import RIGHT_SIGN, SIGN
from spark_rtm.lint.prose.page import Sentence
from spark_rtm.lint.prose.polarity import ADVICE, NEGATION, is_plain
from spark_rtm.lint.prose.rejection import answer_of, is_announced_wrong, is_refuted, is_yes_or_no
from spark_rtm.lint.prose.tables import is_wrong_table, row_sentences
from spark_rtm.lint.prose.topics import names_topic
from spark_rtm.text import markdown

QUOTE = re.compile(r"^\s*(?:>\s?)+")
ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?")
LABEL = re.compile(r"^---|^\w+:\s|^\*\*[^*]+:\*\*\s")
SPEAKER = re.compile(r"^\W*[QA]\.\s")
CALLOUT = re.compile(
    r"^\s*(?:\[!\w+\]|[\u2139\U0001f4a1]|\W*(?:notes?|tips?|important|warnings?|info|hints?|caution|best practices?|"
    r"attention)\b)",
    re.IGNORECASE,
)
"""How a quote begins in which the page speaks itself."""
MAX_SHORT = 4
TITLE_WORDS = re.compile(
    r"\b(?:checklists?|steps?|tutorial|guide|runbook|notes?|tips?|how|operat\w+|overview|about|introduction|quick|"
    r"getting|"
    r"started|tuning|faq|practices|sizing|deploy\w*)\b",
    re.IGNORECASE,
)
CHOICE = re.compile(r"^\W*[A-Da-d](?:[.):]|\s*=)\s")


@dataclass
class _Block:
    """A paragraph, a list item or a quote."""

    kind: str
    titles: tuple[str, ...]
    entries: list[tuple[int, str]] = field(default_factory=list)
    is_hearsay: bool = False
    """Whether the block quotes somebody."""


def sentences(layout: Layout) -> Iterator[Sentence]:
    """Yield the statements of each table, and each sentence of the remaining text except headings and fences."""
    tables = markdown.tables(layout.text)
    for table in tables:
        if not is_wrong_table(layout, table):
            yield from row_sentences(table, layout.titles[table.line - 1])
    yield from _judged(list(_blocks(layout, tables)))


def _blocks(layout: Layout, tables: list[markdown.Table]) -> Iterator[_Block]:
    in_table = {line for table in tables for line in [table.line, table.line + 1, *[line for line, _ in table.rows]]}
    plain = without_comments("\n".join(markdown.prose(layout.text)))
    block: _Block | None = None
    is_quoting = is_callout = False
    for number, line in enumerate([*plain.splitlines(), ""], 1):
        quoted = QUOTE.match(line)
        text = line[quoted.end() :] if quoted else line
        kind = "quote" if quoted else "paragraph"
        is_callout = bool(quoted and (is_callout if is_quoting else CALLOUT.match(text)))
        is_quoting = bool(quoted)
        is_heading = line.lstrip().startswith("#")
        is_new = ITEM.match(text) or LABEL.match(text) or (block and (block.kind == "quote") != bool(quoted))
        if block and (not text.strip() or number in in_table or is_heading or is_new):
            yield block
            block = None
        if not text.strip() or number in in_table or is_heading:
            continue
        item = ITEM.match(text)
        if block is None:
            block = _Block("item" if item and not quoted else kind, layout.titles[number - 1])
            block.is_hearsay = is_quoting and not is_callout
        block.entries.append((number, re.sub(r"~~.*?~~", "", text[item.end() if item else 0 :])))


@dataclass
class _Context:
    """What the blocks before say about the next one: a lead-in, a question and a verdict."""

    titles: tuple[str, ...] = ()
    lead: str = ""
    question: str = ""
    is_open: bool = False
    """Whether the question still waits for its answer."""
    is_wrong: bool = False

    @classmethod
    def below(cls, titles: tuple[str, ...]) -> _Context:
        """Return the context at the beginning of a section, whose heading may be a question."""
        is_question = bool(titles) and titles[-1].rstrip(" *_").endswith("?")
        return cls(titles, question=titles[-1] if is_question else "", is_open=is_question)


def _judged(blocks: list[_Block]) -> Iterator[Sentence]:
    """Yield the sentences of all blocks, and mark those that the text around them rejects."""
    context = _Context()
    intro = _introduction(blocks)
    split = [list(_split(block)) for block in blocks]
    for number, (block, parts) in enumerate(zip(blocks, split, strict=True)):
        if block.titles != context.titles:
            context = _Context.below(block.titles)
        following = split[number + 1][0].text if number + 1 < len(split) and split[number + 1] else ""
        same_section = number + 1 < len(blocks) and blocks[number + 1].titles == block.titles
        for sentence in _of_block(block, parts, following if same_section else "", context):
            yield replace(sentence, context=(*intro, *sentence.context))
        last = parts[-1].text if parts else ""
        if last.rstrip("*_ ").endswith(":") or re.fullmatch(r"\*\*[^*]+\*\*", last):
            context.lead = last.rstrip("*_: ")
            context.is_wrong = is_announced_wrong(last)
        elif block.kind != "item":
            context.lead, context.is_wrong = "", False


def _introduction(blocks: list[_Block]) -> tuple[str, ...]:
    """Return the paragraph below the title of the page if it names real-time mode."""
    first = blocks[0] if blocks else None
    if first is None or first.kind != "paragraph" or len(first.titles) > 1:
        return ()
    text = " ".join(line for _, line in first.entries)[:MAX_SENTENCE]
    return (text,) if names_topic(text) else ()


def _of_block(block: _Block, parts: list[Sentence], following: str, context: _Context) -> Iterator[Sentence]:
    carried = ""
    texts = ["", *[part.text for part in parts], ""]
    for number, part in enumerate(parts, 1):
        text = part.text
        if text.rstrip(" *_)").endswith("?"):
            context.question, context.is_open = text, True
            continue
        around = tuple(each for each in (context.question, context.lead, carried) if each)
        lead = _lead(block, context) if block.kind == "item" else ""
        sentence = replace(part, context=(*block.titles, *around), titles=block.titles, lead=lead)
        if context.is_open and is_yes_or_no(context.question) and (answer := answer_of(context.question, text)):
            is_wrong = is_wrong_section(block.titles)
            yield replace(
                sentence, text=answer, context=(*sentence.context, text), is_rejected=is_wrong, starts=(), lead=""
            )
        is_rejected = _is_rejected(block, context, text, number) or (
            block.is_hearsay
            or is_refuted(texts[number + 1], following)
            or is_announced_wrong(texts[number - 1], is_same_block=True)
        )
        context.is_open = context.is_open and block.kind == "item"
        yield replace(sentence, is_rejected=is_rejected)
        carried = text if names_topic(text) is not None else carried


def _lead(block: _Block, context: _Context) -> str:
    """Return the text that introduces a list: a sentence, or a heading such as "Requirements"."""
    title = block.titles[-1] if block.titles and ADVICE.search(block.titles[-1]) else ""
    lead = (context.lead or title).rstrip("?*_ ")
    return lead if REQUIRES.search(lead) and not NEGATION.search(lead) and is_certain(lead) else ""


def _is_rejected(block: _Block, context: _Context, text: str, number: int) -> bool:
    """Return whether a heading, a lead-in or a mark rejects a sentence, or whether it is one of several answers."""
    is_wrong = is_wrong_section(block.titles) and not RIGHT_SIGN.search(text)
    is_unclear = block.kind == "item" and _is_unclear_item(block, context, text)
    is_choice = block.kind == "item" and context.is_open and bool(CHOICE.match(text))
    return is_wrong or context.is_wrong or is_choice or is_unclear or (number == 1 and bool(SIGN.match(text.lstrip())))


def _is_unclear_item(block: _Block, context: _Context, text: str) -> bool:
    """Return whether an item is a few words below a heading that may mean anything."""
    words = markdown.replace_code_spans(text, lambda _: "x")
    if len(words.split()) > MAX_SHORT or names_topic(words) is not None or _lead(block, context) or not block.titles:
        return False
    return not is_plain(TITLE_WORDS.sub("", block.titles[-1]))


def comments(layout: Layout) -> Iterator[Sentence]:
    """Yield the comments and docstrings in Python fences, because they can make claims just as prose can."""
    for fence in layout.fences:
        if (fence.is_python or fence.language == "notebook-cell") and not is_counterexample(layout, fence):
            above = layout.titles[fence.line - 1]
            yield from _of_code(texts_of_code(fence.code), fence.first_code_line, above)


def module_sentences(code: str) -> Iterator[Sentence]:
    """Yield the sentences in the comments and docstrings of a Python module."""
    yield from _of_code(texts_of_code(code), 1, ())


def _of_code(texts: list[CodeText], first_line: int, above: tuple[str, ...]) -> Iterator[Sentence]:
    for text in texts:
        for sentence in sentences(layout_of(text.text)):
            offset = first_line - 1 + text.line - 1
            starts = tuple((start, line + offset) for start, line in sentence.starts)
            context = (*above, *text.context, *sentence.context)
            yield replace(sentence, line=sentence.line + offset, starts=starts, context=context)


def _split(block: _Block) -> Iterator[Sentence]:
    words = [" ".join(line.split()) for _, line in block.entries]
    text = " ".join(words)
    text = SPEAKER.sub(lambda match: match[0].replace(". ", ": "), text)
    starts = [0, *accumulate(len(line) + 1 for line in words[:-1])]
    begin = 0
    for end in [*END.finditer(text), None]:
        part = text[begin : end.start() if end else None]
        first = bisect_left(starts, begin + 1) - 1
        lines = range(first, bisect_left(starts, begin + len(part), first + 1))
        places = [(max(starts[line] - begin, 0), block.entries[line][0]) for line in lines]
        yield from _pieces(part, places)
        begin = end.end() if end else 0


def _pieces(text: str, places: list[tuple[int, int]]) -> Iterator[Sentence]:
    """
    Yield a sentence, or the pieces of a sentence that is longer than `MAX_SENTENCE`.

    `places` holds the position in the text at which each line begins, and the number of that line.
    """
    if len(text) <= MAX_SENTENCE:
        yield Sentence(places[0][1], text, starts=tuple(places))
        return
    ends = [*[start for start, _ in places[1:]], len(text)]
    for (start, number), end in zip(places, ends, strict=True):
        for piece in _short_pieces(text[start:end]):
            yield Sentence(number, piece)


def _short_pieces(line: str) -> Iterator[str]:
    """Cut a line at every `MAX_SENTENCE` characters, or at the start of a code span that would be cut in two."""
    spans = markdown.code_spans(line)
    begin = number = 0
    while begin < len(line):
        end = begin + MAX_SENTENCE
        while number < len(spans) and spans[number][1] <= end:
            number += 1
        if number < len(spans) and begin < spans[number][0] < end:
            end = spans[number][0]
        yield line[begin:end]
        begin = end
