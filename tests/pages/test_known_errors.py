"""`rtm errors` finds the cause of a pasted message; `known_errors.json` states where each message was copied from."""

import json
import re
from functools import cache
from pathlib import Path

import pytest

from scripts.pack import files
from scripts.pack.checks.evidence import claims
from scripts.pack.package_data import CONDITION, SEARCH
from spark_rtm.cli import main
from spark_rtm.commands.errors import MAX_GAP, MAX_TRIES, find, known, sections
from spark_rtm.text import markdown
from spark_rtm.text.explanations import NAME, KnownError
from tests.pages.refusals import quotes

TEXTS = json.loads(Path(__file__).with_name("known_errors.json").read_text(encoding="utf-8"))
IDS = [f"{number} {text['name']}" for number, text in enumerate(TEXTS)]
CODE = re.compile(r"`([^`]+)`")
QUOTING = re.compile("symptom|you see|similar cases|alert when|without it|condition|failure")
NO_CONDITIONS = {"STREAM_FAILED", "STREAMING_REAL_TIME_MODE"}
NO_ERRORS = {"Databricks", "value", "setting"}
"""Columns whose names in capitals are options, or conditions of an engine that no test runs."""
COMPARED = "sources_sinks_operators.md"
"""The page whose cells `test_sources_sinks_operators.py` compares with the engine's answers."""
CHANGED = [
    ("errors_kafka.md", "is out of range for partition", "is beyond the partition"),
    ("joins.md", "FAILED_READ_FILE.FILE_NOT_EXIST", "FAILED_READ_FILE.FILE_IS_GONE"),
    ("production.md", "Processing new data", "Processing available data"),
    ("debugging.md", "not present in metadata", "is not known here"),
]
PHRASES, EXCEPTIONS = Path(__file__).with_name("searches.txt").read_text(encoding="utf-8").split("\n----\n")
SEARCHES = {
    "phrases": [line.split(" = ") for line in PHRASES.splitlines() if not line.startswith("#")],
    "exceptions": [case.split("\n", 1)[::-1] for case in EXCEPTIONS.removeprefix("@@ ").split("\n@@ ")],
}
"""Pasted texts, each with the sections that explain it."""
CLASS = re.compile(r"`((?:\w+\.)*[A-Z]\w*(?:Exception|Error))`")

# Spark wraps most failures and logs further lines around them.
TRACE = """pyspark.errors.exceptions.captured.StreamingQueryException: [STREAM_FAILED] Query [id = 3f, runId = 9c]
terminated with exception: {failure} SQLSTATE: XXKST
\tat org.apache.spark.sql.execution.streaming.runtime.StreamExecution.run(StreamExecution.scala:349)
Caused by: {failure}
\t... 1 more"""
NOT_ALLOWED = "[STREAMING_REAL_TIME_MODE.OPERATOR_OR_SINK_NOT_IN_ALLOWLIST] {} not in the allowlist"
LOG = "2026-11-28 12:00:{}{} INFO org.example.Job: worker w{} has read 17 records in {} ms\n"
UNUSUAL = [
    "[STREAM_FAILED] [NO_SUCH_CONDITION.AT_ALL] whatever",
    "xSTATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLEx",
    "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE\u00e9",
    NOT_ALLOWED.format("ArrowEvalPythonExec"),
    NOT_ALLOWED.format("ForeachBatchSink"),
    "the real-time mode the real-time mode", "constructor __proto__ toString", "\0\x1b[2J", "disk full disk full",
    "".join(LOG.format(n % 6, n % 10, n, n * 7) for n in range(700)),
]  # fmt: skip


def trace_of(each: KnownError) -> str:
    message = re.sub(r"<\w+>", "MyThing", " ".join(each.messages))
    is_class = any(letter.islower() for letter in each.condition)
    failure = f"java.lang.{each.condition}: {message}" if is_class else f"[{each.condition}] {message}"
    return TRACE.format(failure=failure)


@pytest.mark.proves("pasted errors")
@pytest.mark.parametrize("text", TEXTS, ids=IDS)
def test_text_leads_to_its_cause(text: dict[str, str]) -> None:
    found = find(text["text"])

    assert found, "nothing was found"
    assert text["condition"] == found[0].condition
    explained = [each.fix.lower() for each in found if each.condition == text["condition"]]
    assert any(all(part in fix for part in text["words"].lower().split(" … ")) for fix in explained), found


def test_each_name_on_an_error_page_is_found_first() -> None:
    """A condition or class may stand in a fence, a table, a quote or a sentence."""
    texts = [
        path.read_text(encoding="utf-8") for path in files.references(files.ROOT) if path.stem.startswith("errors")
    ]
    named = {name for text in texts for name in CONDITION.findall(text) + CLASS.findall(text)} - NO_CONDITIONS

    assert len(named) > 60
    first = {name: find(name)[0] for name in named}
    assert [] == [name for name, each in first.items() if name not in (each.condition, *each.names, *each.messages)]


@pytest.mark.parametrize("kind", SEARCHES)
def test_search_leads_to_its_section(kind: str) -> None:
    """At most one text of ten leads nowhere or to a wrong section, and at most one of thirty to a wrong section."""
    wrong: list[tuple[str, str]] = []
    nowhere: list[tuple[str, str]] = []
    for text, wanted in SEARCHES[kind]:
        found = find(text)
        place = found[0].page.removeprefix("references/") if found else "none"
        if place not in wanted.split():
            (wrong if found else nowhere).append((text, place))

    assert len(SEARCHES[kind]) >= 100
    assert 30 * len(wrong) <= len(SEARCHES[kind]), wrong
    assert 10 * len(wrong + nowhere) <= len(SEARCHES[kind]), nowhere


def test_each_keyword_and_family_has_a_section() -> None:
    search = json.loads((files.ROOT / SEARCH).read_text(encoding="utf-8"))
    named = {*search["keywords"], *(family["page"] for family in search["families"])}

    assert set() == named - {section.page.removeprefix("references/") for section in sections()}


def test_exception_is_found_in_the_middle_of_a_long_log() -> None:
    log = "".join(LOG.format(n % 6, n % 10, n, n * 7) for n in range(8000))

    found = find(f"{log}Caused by: org.apache.kafka.common.errors.RecordTooLargeException: 2 MB\n{log}")
    assert ["RecordTooLargeException"] == [each.condition for each in found]


def test_message_is_compared_at_a_bounded_number_of_places() -> None:
    """Otherwise, the work would grow with the square of the length of the text."""
    beginnings = "Previous batch " * (MAX_TRIES + 1)
    assert find(f"{beginnings}4 not found in offset log")
    assert not find(f"Previous batch 4 not found in offset log {'x' * MAX_GAP} {beginnings}")


def test_trace_of_each_error_leads_to_its_section() -> None:
    wrong = []
    for each in (one for one in known() if not one.family and (one.messages or NAME.fullmatch(one.condition))):
        found = find(trace_of(each))
        if each not in found or {one.condition for one in found} != {each.condition}:
            wrong.append((each, found))

    assert [] == wrong


@pytest.mark.parametrize(
    ("operator", "page"),
    [
        ("ArrowEvalPythonExec", "references/errors_in_rows.md#python-udf"),
        ("ForeachBatchSink", "references/errors_at_start.md#sink-not-in-the-allowlist"),
    ],
)
def test_class_in_the_message_decides_between_sections(operator: str, page: str) -> None:
    assert page == find(NOT_ALLOWED.format(operator))[0].page


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("OffsetOutOfRangeException", True),
        ("kafka.OffsetOutOfRangeException:", True),
        ("OffsetOutOfRangeExceptionHandler", False),
        ("OffsetOutOfRangeExceptionHandler OffsetOutOfRangeException", True),
        ("MyOffsetOutOfRangeException", False),
    ],
)
def test_name_of_an_error_is_a_whole_word(text: str, is_found: bool) -> None:
    assert is_found == bool(find(text))


def test_remedy_is_text_without_marks(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["errors", "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE"])

    shown = capsys.readouterr().out
    assert shown.startswith("STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE (OSS 4.3.0)\n  The grouping columns changed.")
    assert "references/errors.md#checkpoint-and-state" in shown
    assert [] == [each.condition for each in known() if re.search(r"`|\]\(|\]\[", each.fix)]


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("qwertz asdfgh", "this text"),
        ("Caused by: a.b.CException: no\n\tat a.b", "a.b.CException: no at a.b"),
        ("[NO_SUCH.CONDITION] x", "NO_SUCH.CONDITION] x"),
    ],
)
def test_unknown_text_is_named_and_has_status_one(capsys: pytest.CaptureFixture[str], text: str, subject: str) -> None:
    assert 1 == main(["errors", text])
    assert f"no page explains {subject}; read references/debugging.md\n" == capsys.readouterr().out


def is_quoted(header: str, text: str) -> bool:
    is_sentence = len(text.split()) > 2 and not re.search(r"[=(){}<>*$]|--", text)
    is_name = NAME.fullmatch(text) is not None and header not in NO_ERRORS
    return "message" in header or is_name or (is_sentence and QUOTING.search(header) is not None)


@cache
def proofs() -> str:
    pages = files.references(files.ROOT)
    texts = [quote for page in pages for quote in quotes(page)]
    texts += [f"{one.info}\n{one.code}" for page in pages for one in markdown.fences(page.read_text("utf-8"))]
    paths = [path for folder in ("tests", "spark_rtm/realtime") for path in (files.ROOT / folder).rglob("*.*")]
    suffixes = {".py", ".scala", ".json"}
    texts += [path.read_text("utf-8") for path in paths if path.suffix in suffixes and path.name != Path(__file__).name]
    return "\n".join(texts).replace("\\", "")


def unquoted(page: str) -> tuple[int, list[str]]:
    """Return the number of quoted messages in rows that cite a test, and those that no test contains."""
    cited = {claim.line for claim in claims(page) if any("tests/" in target for target in claim.targets)}
    # A test that reads the rows of a table compares their messages.
    tables = [table for table in markdown.tables(page) if f'header[0] == "{table.header[0]}"' not in proofs()]
    rows = [(table.header, cells) for table in tables for line, cells in table.rows if line in cited]
    spans = [(head, text) for row in rows for head, cell in zip(*row, strict=True) for text in CODE.findall(cell)]
    quoted = [text for head, text in spans if is_quoted(head, text)]
    return len(quoted), [text for text in quoted if not any(part in proofs() for part in parts(text))]


def parts(message: str) -> list[str]:
    return [part.strip() for part in re.split(r"[…:]|<\w+>", message) if len(part.strip()) > 8] or [message]


def test_quoted_message_of_a_row_occurs_in_a_test() -> None:
    """A recorded exception or a fence is proof, too; `validate` checks that the cited test has a name of the row."""
    pages = [path for path in files.references(files.ROOT) if path.name != COMPARED]
    found = {path.name: unquoted(path.read_text(encoding="utf-8")) for path in pages}

    assert {} == {name: missing for name, (_, missing) in found.items() if missing}
    assert sum(count for count, _ in found.values()) > 90


def test_message_that_no_test_contains_is_found() -> None:
    for page, right, wrong in CHANGED:
        text = (files.ROOT / "references" / page).read_text(encoding="utf-8")
        assert [wrong] == unquoted(text.replace(f"`{right}`", f"`{wrong}`", 1))[1]
