"""Split prose into sentences and table cells, and list those about real-time mode, with a rule of SKILL.md for each."""

import re
from collections.abc import Iterator

from spark_rtm.lint.facts import MODE, Sentence
from spark_rtm.lint.files.layout import (
    END,
    MAX_SENTENCE,
    MAX_TITLE,
    REFERS_BACK,
    Layout,
    layout_of,
    without_comments,
    wrong_title,
)
from spark_rtm.lint.marks import EXPECT
from spark_rtm.text import markdown
from spark_rtm.text.finding import printable

OTHER_MODE = re.compile(
    r"\b(?:micro-?batch|batch|warehouses?|dashboards?|continuous\s+(?:processing|mode|trigger)|availableNow|"
    r"processingTime|flink|kafka\s+streams|other\s+(?:modes|clusters)|everything\s+else)\b",
    re.IGNORECASE,
)
SPARK = re.compile(
    r"spark|databricks|lakeflow|streaming|writeStream|readStream|\btrigger\(|photon|\bdelta\b|micro-batch",
    re.IGNORECASE,
)
FIX = re.compile(
    r"\b(?:fix(?:es)?|remed(?:y|ies)|solutions?|resolution|instead|what to do|after|do this)\b", re.IGNORECASE
)
"""Pattern for the header of a column that corrects a table's other columns."""
ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s")
COMMENT = re.compile(r"(?:^|\s)(?:#|//|--)\s+(\S.*)$")
BREAK = re.compile(r"\s*(?:#{1,6}\s|[|]|$|---+\s*$|===+\s*$)")
QUOTE = re.compile(r"^(?:\s*>)+ ?")
SUBJECTS = {
    "Databricks: no Photon, autoscaling, spot or serverless jobs": r"photon|auto-?scal|\bspot\b|preemptible|serverless",
    "Databricks: Runtime 16.4 LTS or later, 18 LTS advised": r"\b(?:DBR|runtime)\b|\b\d\d\.\d\b|\bLTS\b",
    'both: .trigger(realTime="5 minutes")': r"\btrigger|realTime\s*=|processingTime|availableNow|continuous",
    "both: the interval is the time between commits, not the latency": r"\binterval\b|every \d+|\bcommit",
    "both: outputMode update": r"output ?mode|\bappend\b|\bcomplete mode\b",
    "both: no Delta, no files, no foreachBatch": r"\bdelta\b|foreachBatch|parquet|\bfiles?\b|\btables?\b|\bsinks?\b",
    "OSS: source Kafka": r"\bsources?\b|kinesis|event hubs|\brate\b|\bpulsar\b",
    "OSS: no Python on the data path": r"\budfs?\b|pandas|python",
    "both: free slots >= tasks of all stages": r"\bslots?\b|\bcores?\b|partitions",
    "both: static tables only with broadcast(), union before state": r"\bjoins?\b|\bunion\b",
    "both: timers and state": r"\btimers?\b|\bstate(?:ful)?\b|transformWithState|watermark",
    "both: sinks upsert by id and version, or tolerate duplicates": r"exactly.once|duplicat|at.least.once|idempot",
    "both: latency is append time minus append time": r"latenc|milliseconds?|\bms\b|sub-?second|\bp99\b",
}
"""The rules in SKILL.md, each with a pattern for the rule's subject."""
OTHER = "no rule of SKILL.md applies: compare the sentence with the page that SKILL.md links to"


def sentences(layout: Layout) -> Iterator[Sentence]:
    """Yield sentences and table cells about Spark, except below headings such as "Mistakes"."""
    if not (MODE.search(layout.text) and SPARK.search(layout.text)):
        return
    text = without_comments(layout.text)
    yield from _cells(layout, text)
    in_fence = {number for fence in layout.fences for number in range(fence.line, fence.end_line + 1)}
    lines = [QUOTE.sub("", line) for line in text.splitlines()]
    start = 0
    for number in range(len(lines) + 1):
        is_end = number == len(lines) or number + 1 in in_fence or BREAK.match(lines[number])
        if is_end or ITEM.match(lines[number]):
            yield from _of_paragraph(layout, lines[start:number], start + 1)
            start = number + 1 if is_end else number


def comments(layout: Layout, fence: markdown.Fence) -> Iterator[Sentence]:
    """Yield the comments in a code block. A comment that mentions a mode also applies to the comments below it."""
    nearest = ""
    for number, line in enumerate(fence.code.splitlines(), fence.first_code_line):
        if match := COMMENT.search(line):
            text = EXPECT.sub("", match[1])
            nearest = text if MODE.search(text) or OTHER_MODE.search(text) else nearest
            yield Sentence(number, text, _is_about((text, nearest), layout.titles[fence.line - 1]))


def _of_paragraph(layout: Layout, lines: list[str], first: int) -> Iterator[Sentence]:
    titles = layout.titles[first - 1] if lines else ()
    if not lines or wrong_title(titles) is not None:
        return
    paragraph, position, line = "\n".join(lines), 0, first
    texts = [text for text in END.split(paragraph) if text.strip()]
    for text, following in zip(texts, [*texts[1:], ""], strict=True):
        start = paragraph.index(text, position)
        line += paragraph.count("\n", position, start)
        around = following if REFERS_BACK.match(following) else ""
        yield Sentence(line, text, _is_about((text,), titles), _is_about((), titles), around=around)
        line, position = line + text.count("\n"), start + len(text)


def _cells(layout: Layout, text: str) -> Iterator[Sentence]:
    for table in markdown.tables(text):
        titles = layout.titles[table.line - 1]
        if wrong_title(titles) is not None:
            continue
        has_fixes = any(map(FIX.search, table.header))
        for line, cells in table.rows:
            # Each cell is checked together with its row, so checking a long row would take quadratic time.
            around = " | ".join(cells)[:MAX_SENTENCE]
            first = cells[0][:MAX_TITLE]
            row = markdown.replace_code_spans(first, lambda _: "x")
            for number, cell in enumerate(cells):
                column = table.header[number] if number < len(table.header) else ""
                if has_fixes and not FIX.search(column):
                    column += " (problem)"
                label = f"{row}: {cell}" if number else cell
                is_about, is_below = _is_about((cell, column, first), titles), _is_about((), titles)
                yield Sentence(line, label, is_about, is_below, column, around)


def _is_about(texts: tuple[str, ...], titles: tuple[str, ...]) -> bool:
    for text in (*texts, *reversed(titles)):
        if MODE.search(text):
            return True
        if OTHER_MODE.search(text):
            return False
    return False


def claims_in(text: str, name: str) -> list[str]:
    """Return a text line for each of a page's sentences about real-time mode."""
    lines = []
    for sentence in sorted(sentences(layout_of(text)), key=lambda one: one.line):
        if sentence.is_about or sentence.is_below:  # a page about real-time mode also describes other modes
            words = " ".join(sentence.text.split())
            rules = [rule for rule, pattern in SUBJECTS.items() if re.search(pattern, words, re.IGNORECASE)]
            lines.append(printable(f"{name}:{sentence.line}: {words[:300]} [{'; '.join(rules) or OTHER}]"))
    return lines
