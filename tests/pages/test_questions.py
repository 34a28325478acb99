"""New users find answers one link away from SKILL.md, at the beginning of a section."""

import re

import pytest

from scripts.pack import files
from scripts.pack.checks.links import link_targets
from spark_rtm.text import markdown

ANSWER_LINES = 30
# Question: page, anchor of the section, and pattern of the answer.
QUESTIONS: dict[str, tuple[str, str, str]] = {
    "How many slots for 8 Kafka partitions, a repartition to 4 and an aggregation over 6?": (
        "cluster_and_slots",
        "worked-examples",
        r"8 \+ 4 \+ 6 = 18 slots",
    ),
    "Why is partition 3 silent?": ("cluster_and_slots", "why-is-one-partition-silent", r"fewer slots than source part"),
    "Why are rows missing?": ("debugging", "rows-are-missing", r"starved"),
    "Why are my results repeated?": ("debugging", "rows-are-repeated", r"replays"),
    "Which output mode?": ("errors_at_start", "output-mode-is-not-update", r'outputMode\("update"\)'),
    "Can I use foreachBatch?": (
        "sources_sinks_operators",
        "sinks-and-output-modes",
        r"`foreachBatch\(function\)` \| at start: not in allowlist",
    ),
    "Why does True fail?": ("errors_at_start", "invalid-trigger", r"VALUE_NOT_NON_EMPTY_STR"),
    "How long can a timer be late?": ("state", "timers", r"end of (the|its) batch"),
    "What do I do with a default checkpoint?": ("state", "checkpoints-and-state-store", r"CHECKPOINT_FORMAT_V1"),
    "Which runtime for Python stateful?": ("runtimes", "databricks", r"17\.3 LTS.*`transformWithState`"),
    "Where is p99?": ("latency", "where-is-p99", r"batch boundary|boundary"),
    "What do I change in my micro-batch job?": ("migrate", "checklist", r"4\. `foreachBatch` \| write to a topic"),
    "How does a new checkpoint continue?": ("migrate", "checkpoint", r"committed_position"),
    "Which settings does a join on Databricks need?": (
        "joins",
        "two-streams-on-databricks",
        r"streamStreamJoin\.enabled",
    ),
    "How do I join two streams on OSS?": ("joins", "two-streams-on-oss", r"def inner_join"),
    "How do I write to Lakebase?": ("postgres_sink", "which-sink", r"format\(\"postgresql\"\)|PostgresUpsertSink"),
    "Can each id be written once over a restart?": (
        "kafka_patterns",
        "duplicates",
        r"no query .* can promise that each",
    ),
    "Why does my JSON lack fields?": ("kafka_patterns", "keys-headers-and-formats", r"omits fields that are null"),
    "May a result topic be compacted?": (
        "kafka_patterns",
        "keys-headers-and-formats",
        r"compacted result topic refuses",
    ),
    "In which order do rows of two topics arrive?": ("kafka_patterns", "keys-headers-and-formats", r"overtake older"),
    "Which schema decodes registry Avro?": ("formats", "avro-with-a-schema-registry", r"\*\*writer's\*\* schema"),
    "Where does a new checkpoint start?": (
        "kafka_patterns",
        "client-options",
        r"`startingOffsets` \| source \| `latest`",
    ),
    "Does a hint win over the threshold?": ("sources_sinks_operators", "joins", r"autoBroadcastJoinThreshold=-1"),
    "What is the longest interval?": ("real_time_mode", "trigger-interval", r"106751991 days"),
    "What does Trigger.RealTime() mean in Scala?": ("real_time_mode", "trigger-interval", r"RealTime\(\)` means 5 min"),
    "How do I parse ISO-8601 times?": ("errors_in_rows", "expressions-that-cannot-fail", r"accepts ISO-8601 times"),
    "How do I measure without touching the query?": ("latency", "measure-from-outside", r"as missing"),
    "What time is it for a row?": ("latency", "how-to-measure", r"currentTimeMillis'\)` returns .* as a string"),
    "How late are Python foreach and the console?": ("foreach", "how-late-is-a-row", r"until the batch ends"),
    "How slow is a Python UDF without the allowlist?": (
        "foreach",
        "how-late-is-a-row",
        r"`udf` .* until the batch ends",
    ),
    "What is the smallest foreach writer?": ("foreach", "the-smallest-writer", r"def process\(self, row\)"),
    "How late may a row be and still count?": ("state", "watermark", r"up to 15 minutes older"),
    "How many slots for 10,000 records/s?": ("throughput", "cluster-size-for-a-record-rate", r"10,000 \| stateful \|"),
    "What grows under overload?": ("throughput", "what-happens-under-overload", r"source topic"),
    "How do I log in to Kafka?": ("security", "log-in-with-a-password", "password_login"),
    "Which rights does a query need?": ("security", "rights", "READ on the source topic, WRITE on the target topic"),
    "What do I do when the Avro schema changes?": (
        "formats",
        "change-the-schema-of-a-live-query",
        r"\*\*same checkpoint\*\*",
    ),
    "How do I notice that a query no longer answers?": ("monitoring", "what-to-watch", "realtime_canary_missing"),
}


def answer(text: str, anchor: str) -> str:
    """Return the first lines of a section."""
    [start] = [heading.line for heading in markdown.headings(text) if heading.anchor == anchor]
    return "\n".join(text.splitlines()[start - 1 : start - 1 + ANSWER_LINES])


@pytest.mark.parametrize(("page", "anchor", "pattern"), QUESTIONS.values(), ids=QUESTIONS)
def test_question_is_answered_at_the_start_of_its_section(page: str, anchor: str, pattern: str) -> None:
    """SKILL.md links to the page, and the first lines of the section contain the answer."""
    path = files.ROOT / f"references/{page}.md"

    assert path.resolve() in link_targets(files.ROOT / files.SKILL)
    assert re.search(pattern, answer(path.read_text(encoding="utf-8"), anchor)), answer(path.read_text(), anchor)


def test_answer_far_below_the_heading_is_not_found() -> None:
    """The check can fail: it does not find an answer below the first lines of a section."""
    page = "# T\n\n## Section\n" + "line\n" * ANSWER_LINES + "the answer\n"

    assert "the answer" not in answer(page, "section")
