"""
Render the data files of `spark_rtm` and the chart of the README.

The data comes from the pages and measurements, which the wheel does not contain. An explained error is one of these:

- a fence with `{raises="CONDITION"}` below the quoted message
- a row of a table with a column `message` or `condition` on an error page
- a condition or class in other prose of an error page, which is quoted above its explanation or named in a sentence
- a row of a table of symptoms or changes on another page
- a row of the table of conditions that exist only on Databricks
- a family in `tables/error_search.json`: conditions and classes that a section explains without naming them

A description of a problem is compared with the titles, the texts and the keywords of the sections of all pages. The
keywords in `error_search.json` are words that people use, but the page does not.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from scripts.pack import files
from scripts.pack.tables import overview
from spark_rtm.commands import capacity
from spark_rtm.text import markdown
from spark_rtm.text.explanations import NAME, KnownError, Section, stems

DATABRICKS_PAGE = "references/errors_on_databricks.md"
FAMILY = "STREAMING_REAL_TIME_MODE"
SEARCH = "scripts/pack/tables/error_search.json"
OSS, DATABRICKS = "OSS 4.3.0", "Databricks, according to its documentation"
QUOTED = re.compile(r"^> `+ ?(?P<message>.+?) ?`+$")
CONDITION = re.compile(r"`((?!PYSPARK_)[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+(?:\.[A-Z0-9_]+)*)`")
_LINK = r"\[[^\]]+\](?:\((?:\.\./(?:tests|benchmarks)|http)[^()]*\)|\[[^\]]*\])?"
EVIDENCE = re.compile(rf" \({_LINK}(?:, (?:{_LINK}|(?:read|page of) [\d-]+))*\)(?!\()")
"""Pattern for parentheses that contain only links to tests and sources."""
CLASS = re.compile(r"`((?:\w+\.)*[A-Z]\w*(?:Exception|Error))`")
SYMPTOMS = ("you see", "change", "growing phase")
"""The titles of the first column in tables of symptoms or changes, which contain no messages."""
MESSAGES = ("message", "symptom")
"""The first words in the titles of columns that contain messages."""
FIXES = ("fix", "what to do", "do", "remedy", "cause and fix", "cause and remedy")


def known_errors(root: Path) -> list[KnownError]:
    """
    Return all explained errors, with the error pages first.

    Other pages add only failing code blocks and messages that no earlier page explains.
    """
    result: list[KnownError] = []
    for path in sorted(files.references(root), key=lambda path: not path.stem.startswith("errors")):
        is_error_page = path.stem.startswith("errors")
        known = {name for entry in result for name in (entry.condition, entry.condition.rpartition(".")[2])}
        explained = [entry for entry in _provoked(path) if entry.fix]
        result += [entry for entry in explained if is_error_page or entry.condition not in known]
        quoted = " ".join(message for entry in result for message in entry.messages)
        result += [entry for entry in _listed(path) if is_error_page or not _is_known(entry, known, quoted)]
        result += [] if is_error_page else _symptoms(path)
    result += _on_databricks(root / DATABRICKS_PAGE)
    known = {name for entry in result for name in (entry.condition, *entry.messages, *entry.names)}
    for path in (path for path in files.references(root) if path.stem.startswith("errors")):
        result += [entry for entry in _named(path) if entry.condition not in known]
    more = _search(root)["messages"]
    result = [replace(entry, messages=(*entry.messages, *more.get(entry.condition, ()))) for entry in result]
    return [*result, *families(root)]


def _is_known(entry: KnownError, known: set[str], quoted: str) -> bool:
    return entry.condition in known or any(message.rpartition(": ")[2] in quoted for message in entry.messages)


def errors_json(root: Path) -> str:
    """Return the errors, sections and synonyms as JSON for `rtm errors`, with one error or section per line."""
    parts = (("errors", plain_errors(root)), ("sections", sections(root)))
    texts = [(name, ",\n".join(json.dumps(asdict(each), ensure_ascii=False) for each in part)) for name, part in parts]
    content = [f'"{name}": [\n{text}\n]' for name, text in texts]
    return "{" + ", ".join([*content, f'"synonyms": {json.dumps(synonyms(root))}']) + "}\n"


def synonyms(root: Path) -> dict[str, list[str]]:
    """Return the other stems of each group that contains a stem."""
    found: dict[str, list[str]] = {}
    for group in ([*dict.fromkeys(stems(words))] for words in _search(root)["synonyms"]):
        for stem in group:
            found.setdefault(stem, []).extend(other for other in group if other != stem)
    return {stem: sorted(set(others)) for stem, others in sorted(found.items())}


def _search(root: Path) -> Any:
    path = root / SEARCH
    return (
        json.loads(path.read_text(encoding="utf-8"))
        if path.is_file()
        else {"families": [], "messages": {}, "synonyms": [], "keywords": {}}
    )


def plain_errors(root: Path) -> list[KnownError]:
    """Return all explained errors, with each fix as plain text."""
    return [replace(each, fix=" ".join(plain(each.fix, each.page).split())) for each in known_errors(root)]


def families(root: Path) -> Iterator[KnownError]:
    """Yield the families of errors that a section explains without naming them."""
    titles = {section.page: section.title for section in sections(root)}
    for each in _search(root)["families"]:
        page = f"references/{each['page']}"
        messages = tuple(each.get("messages", ()))
        yield KnownError(each["title"], OSS, titles.get(page, ""), page, messages, each["fix"], each["pattern"])


def sections(root: Path) -> list[Section]:
    """Return the sections of all pages."""
    keywords = _search(root)["keywords"]
    return [section for path in files.references(root) for section in _sections(path, keywords)]


def _sections(path: Path, keywords: dict[str, str]) -> Iterator[Section]:
    text = path.read_text(encoding="utf-8")
    lines, headings = markdown.prose(text), markdown.headings(text)
    cells = {line: row for table in markdown.tables(text) for line, row in table.rows}
    skipped = re.compile(r"<!--|Sections:|\[[^\]]+\]: |\| ?--")
    for heading, following in zip(headings, [*headings[1:], None], strict=True):
        numbers = range(heading.line + 1, following.line if following else len(lines) + 1)
        body = [number for number in numbers if lines[number - 1] and not skipped.match(lines[number - 1])]
        place = f"references/{path.name}" + (f"#{heading.anchor}" if heading.level > 1 else "")
        prose = [lines[number - 1] for number in body if number not in cells]
        rows = [cells[number] for number in body if number in cells]
        words = keywords.get(place.removeprefix("references/"), "")
        head = Counter(dict.fromkeys(stems(words), 2)) + Counter(stems(words))
        head += Counter(stems(headings[0].title)) + Counter(stems(heading.title) * 4)
        count = Counter(stem for row in rows for stem in stems(plain(" ".join(row[:1] + row[:-1]), place)))
        count += Counter(stem for line in prose for stem in stems(plain(line, place)))
        lead = next((line for line in prose if line[0] not in ">|*-#"), "")
        phrases = [sorted(set(stems(phrase))) for phrase in (heading.title, *words.split(", "))]
        lead = " ".join(plain(lead, place).split())
        yield Section(heading.title, place, lead, dict(sorted(head.items())), phrases, dict(sorted(count.items())))


def plain(text: str, page: str) -> str:
    """Return Markdown as plain text. A link becomes its text, followed by its target in parentheses."""
    page = page.partition("#")[0]

    def place(link: re.Match[str]) -> str:
        target = link["target"]
        if target.startswith("#"):
            target = page + target
        elif not target.startswith(("http", "../")):
            target = f"references/{target}"
        return f"{link['text']} ({target.removeprefix('../')})"

    text = EVIDENCE.sub("", text)
    text = re.sub(r"\[(?P<text>[^\]]+)\]\((?P<target>[^)\s]+)[^)]*\)", place, text)
    return re.sub(r"\[([^\]]+)\]\[[^\]]*\]|(?<![\w`])\*([^*]+)\*|`+ ?([^`]+?) ?`+", r"\1\2\3", text)


def _provoked(path: Path) -> Iterator[KnownError]:
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    for fence in markdown.fences(text):
        if condition := fence.options.get("raises"):
            section = _section(text, fence.line)
            quotes = [match["message"] for line in lines[section.line : fence.line] if (match := QUOTED.match(line))]
            fix = _after(lines, fence.end_line)
            yield KnownError(condition, OSS, section.title, _place(path, section), tuple(quotes[-1:]), fix)


def _listed(path: Path) -> Iterator[KnownError]:
    """Yield an error for each row of the tables that have a column for messages and one for fixes."""
    text = path.read_text(encoding="utf-8")
    is_error_page = path.stem.startswith("errors")
    for table in markdown.tables(text):
        names = [name.lower() for name in table.header]
        fixes = [number for number, name in enumerate(names) if name in FIXES]
        is_named = [name.startswith(MESSAGES) or (is_error_page and name == "condition") for name in names]
        column = is_named.index(True) if any(is_named) else None
        if column is None or not fixes:
            continue
        section = _section(text, table.line)
        causes = [number for number, name in enumerate(names) if name.startswith("cause") and number not in fixes]
        others = [number for number, name in enumerate(names) if name == "similar cases"]
        for _, cells in table.rows:
            quotes = [quote.replace("[…]", "").rstrip("…: ") for quote in re.findall(r"`([^`]+)`", cells[column])]
            name = next((quote for quote in quotes if NAME.fullmatch(quote)), "")
            if not is_error_page:  # other pages also quote settings and values
                quotes = [quote for quote in quotes if quote == name or " " in quote]
            if not (quotes or is_error_page):
                continue
            conditions = CONDITION.findall(" ".join(cells[number] for number in causes)) * is_error_page
            messages = tuple(dict.fromkeys(quote for quote in [*quotes, *conditions] if quote != name))
            texts = filter(None, (cells[number] for number in [*causes, *fixes, *others]))
            fix = "\n\n".join(f"{text[:1].upper()}{text[1:]}." for text in texts)
            condition = name or (messages or (section.title,))[0]
            yield KnownError(condition, _engine(path), section.title, _place(path, section), messages, fix)


def _symptoms(path: Path) -> Iterator[KnownError]:
    """Yield an error for each row of the tables of symptoms and of the tables of code changes."""
    text = path.read_text(encoding="utf-8")
    for table in markdown.tables(text):
        if table.header[0] in SYMPTOMS:
            section = _section(text, table.line)
            place = _place(path, section)
            for _, cells in table.rows:
                parts = zip(table.header[1:], cells[1:], strict=False)
                fix = " ".join(f"{name.capitalize()}: {cell}." for name, cell in parts if cell and name != "evidence")
                yield KnownError(plain(cells[0], place), OSS, section.title, place, (), fix)


def _on_databricks(path: Path) -> Iterator[KnownError]:
    for _, (condition, provoked, fix, _evidence) in markdown.tables(path.read_text(encoding="utf-8"))[0].rows:
        name, text = f"{FAMILY}.{condition.strip('`')}", f"Cause: {provoked}.\n\nFix: {fix}."
        yield KnownError(name, DATABRICKS, "Errors on Databricks", DATABRICKS_PAGE, (), text)


def _named(path: Path) -> Iterator[KnownError]:
    """Yield the conditions in prose, each with the text below its quote or the sentence that contains it."""
    text = path.read_text(encoding="utf-8")
    lines, engine = text.splitlines(), _engine(path)
    inside = {number for fence in markdown.fences(text) for number in range(fence.line, fence.end_line + 1)}
    for number, line in enumerate(lines, 1):
        if number in inside or line.startswith(("|", "#", "- [", "*")):
            continue
        quote = QUOTED.match(line)
        section = _section(text, number)
        for name in dict.fromkeys(CONDITION.findall(line) + CLASS.findall(line)):
            if fix := _after(lines, number) if quote else line:
                yield KnownError(name, engine, section.title, _place(path, section), (), fix.strip())


def _engine(path: Path) -> str:
    return DATABRICKS if path.name == Path(DATABRICKS_PAGE).name else OSS


def _place(path: Path, section: markdown.Heading) -> str:
    return f"references/{path.name}#{section.anchor}"


def _section(text: str, line: int) -> markdown.Heading:
    return [heading for heading in markdown.headings(text) if heading.line < line][-1]


def _after(lines: list[str], start: int) -> str:
    """Return the prose between a fence and the next block of another kind."""
    other = re.compile(r"```|#|\||- \[|<!--|> |\[[^\]]+\]: ")
    end = next((number for number in range(start, len(lines)) if other.match(lines[number])), len(lines))
    return "\n".join(lines[start:end])


def cost_model(root: Path) -> str:
    """Return the cost model of the published runs as JSON."""
    content = json.loads((root / "references/measured/growth.json").read_text(encoding="utf-8"))
    return json.dumps(capacity.model_content(content), indent=1) + "\n"


IN_A_PROJECT = {
    "name: ad-attribution": "name: {name}",
    "sync:\n  paths: [..]  # the job imports the packages beside this folder\n": "",
    "default: 6  # 24 slots for 22 tasks": "default: 1  # 4 slots for the 2 partitions of the source",
    "./real_time_job.py": "./job.py",
    "libraries: [{pypi": "libraries: [{whl: ./vendor/{wheel}}, {pypi",
}
"""Parts of the bundle of this repository, and the text that replaces them in a project of `rtm init`."""


def bundle_of_a_project(root: Path) -> str:
    """Return the bundle for `rtm init --databricks`. Raise ValueError if this repository's bundle lacks a part."""
    text = (root / "databricks/databricks.yml").read_text(encoding="utf-8")
    for old, new in IN_A_PROJECT.items():
        if text.count(old) != 1:
            raise ValueError(f"databricks.yml does not contain {old!r} exactly once; correct IN_A_PROJECT")
        text = text.replace(old, new)
    return text


RENDERERS: dict[str, Callable[[Path], str]] = {
    "spark_rtm/commands/capacity.json": cost_model,
    "spark_rtm/commands/errors.json": errors_json,
    "spark_rtm/commands/template/databricks.yml": bundle_of_a_project,
    "spark_rtm/commands/template/start_here.txt": lambda root: (root / "databricks/start_here.py").read_text("utf-8"),
    overview.NAME: overview.chart,
}
