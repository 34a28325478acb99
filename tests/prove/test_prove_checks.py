import json
import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_rtm.prove.engine.bench import in_time
from spark_rtm.prove.job.target import Target, load
from spark_rtm.prove.records.decoding import decoding
from spark_rtm.prove.records.samples import made_samples, read_samples
from spark_rtm.prove.subject import subject
from spark_rtm.prove.verdicts.verdict import GOOD, UNCHECKED, WRONG
from tests.prove.judge import Judge

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(240)]

LISTS = """\
from pyspark.sql import functions as F


def listed(clicks):
    lists = clicks.groupBy("key").agg(F.collect_list("value").alias("all"))
    return lists.select("key", F.to_json(F.struct("all")).alias("value"))
"""
CLEANED = """\
from pyspark.sql import functions as F


def cleaned(texts):
    text = F.from_json(F.col("value").cast("string"), "text string, note string").alias("t")
    ends = F.regexp_replace("t.text", r"\\s+$", "").alias("text")
    note = F.regexp_extract("t.note", "(.*?)*x", 1).alias("note")
    return texts.select(text).select(F.to_json(F.struct(ends, note)).alias("value"))
"""
SEEN = """\
import json

from pyspark.sql import Row
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor

from spark_rtm.realtime.python_state import transform_with_state


class Seen(StatefulProcessor):
    def init(self, handle):
        self._handle, self._seen = handle, handle.getValueState("seen", "n long", TTL)

    def handleInputRows(self, key, rows, timerValues):
        self._seen.update((1,))
        TIMER
        yield from (Row(value=json.dumps(key)) for _ in rows)

    def close(self):
        pass


def seen(clicks):
    keys = clicks.select(F.col("key").cast("string"))
    return transform_with_state(keys, ["key"], Seen(), "value string")
"""
PROCESSORS = [
    ("None", "", WRONG, "rows of state never expire, because a state variable has no TTL and no timer is set"),
    ("60_000", "", GOOD, "each state variable has a TTL"),
    ("None", "self._handle.registerTimer(10**13)", UNCHECKED, "the processor sets timers"),
]
UPPER = """\
from pyspark.sql import functions as F


def upper(words):
    return words.select("key", F.upper(F.col("value").cast("string")).alias("value"))
"""


@pytest.mark.parametrize(("ttl", "timer", "status", "evidence"), PROCESSORS, ids=["endless", "TTL", "timer"])
def test_state_of_a_processor_ends_by_its_own_rules(
    judge: Judge, ttl: str, timer: str, status: str, evidence: str
) -> None:
    state = judge.one(judge.load(SEEN.replace("TTL", ttl).replace("TIMER", timer), "seen"), "state")

    assert status == state.status, state.text
    assert evidence in state.evidence
    assert state.line == (25 if status == WRONG else 0)


def test_state_that_the_watermark_removes_is_good_for_accepted_records(judge: Judge) -> None:
    """A login produces no result before the tenth failure; a rejected record does, and forms its own group."""
    state = judge.one(load("examples/alerts/logins_to_spikes.py:logins_to_spikes"), "state")

    assert GOOD == state.status, state.text
    assert "rows for the same keys; the watermark removed" in state.evidence
    assert "grows" not in state.evidence


def test_rows_of_state_that_grow_under_the_same_keys_are_named(judge: Judge) -> None:
    state = judge.one(judge.load(LISTS, "listed"), "state")

    assert (WRONG, 5) == (state.status, state.line), state.text
    assert "1 rows of state never expire, because the query has no watermark" in state.evidence
    assert "each row grows with each record" in state.evidence
    assert "collect_list" in state.fix


def test_output_of_the_samples_is_compared_with_the_file(judge: Judge, tmp_path: Path) -> None:
    """The order of the lines and the form of their JSON do not matter."""
    samples, expect = tmp_path / "samples.jsonl", tmp_path / "expect.jsonl"
    samples.write_text('"a"\n{"key": "k", "value": "\\"b\\""}\n')
    expect.write_text('{"key": "k", "value": "\\"B\\""}\n"C"\n')

    found = {"samples": {"words": read_samples(samples)}, "expect": expect}
    verdict = judge.one(judge.load(UPPER, "upper"), "expect", **found)

    assert WRONG == verdict.status
    assert '1 expected records are missing (first: "C"); 1 others were written (first: "A")' in verdict.evidence


def test_stream_may_have_the_name_rows(judge: Judge) -> None:
    """The topic of the evaluated records had the same name, so the query read them too."""
    flow = judge.one(judge.load(UPPER.replace("words", "rows"), "upper"), "flow")

    assert GOOD == flow.status, flow.text


def test_records_are_made_from_the_schema_in_the_plan(spark: SparkSession) -> None:
    schema = (
        "id string, kind string, amount double, ts long, at timestamp, tags array<string>, place struct<city string>, "
        "length_ms long, level string"
    )
    value = F.from_json(F.col("value").cast("string"), schema)
    parsed = spark.createDataFrame([("{}",)], "value string").select(value.alias("event"))
    rows = parsed.where(F.col("event.kind").isin("click", "view")).select(F.to_json("event").alias("value"), "event")
    is_bad = ~F.col("event.level").isin("INFO", "WARN") | F.get_json_object("value", "$.unread").isNotNull()
    rows = rows.select("value", F.when(is_bad, "rejected").alias("topic"))

    first, second = (json.loads(sample.value or b"") for sample in made_samples(rows))

    assert ("a1", 1, ["a1"], {"city": "a1"}) == (first["id"], first["amount"], first["tags"], first["place"])
    assert "a2" == second["id"]
    assert ("click", "click", "INFO") == (first["kind"], second["kind"], first["level"])
    assert first["ts"] > 10**12
    assert 1 == first["length_ms"]
    assert first["at"].startswith("20")


ROUTED = """\
from pyspark.sql import functions as F


def routed(orders):
    order = F.from_json(F.col("value").cast("string"), "id string, n long").alias("o")
    is_good = F.coalesce(F.col("o.n") > 5, F.lit(False))
    value = F.when(is_good, F.to_json("o")).otherwise(F.col("value").cast("string"))
    topic = F.when(is_good, "good").otherwise("bad").alias("topic")
    return orders.select("value", order).select(value.alias("value"), topic)
"""


def test_records_that_a_query_rejects_are_not_good_samples(judge: Judge) -> None:
    """Otherwise, its reject topic would count as its result topic, and broken records as good ones."""
    loaded = judge.load(ROUTED, "routed")
    assert isinstance(loaded, Target)

    with subject(judge.bench, loaded, {}, 1) as made:
        found = [json.loads(sample.value or b"")["n"] for sample in made.with_results().samples]

    assert min(found) > 5


def test_slow_expressions_and_broken_records_that_pass_are_named(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spark_rtm.prove.checks.slow.TOTAL_SECONDS", 180.0)  # on a busy machine

    found = [verdict for verdict in judge(judge.load(CLEANED, "cleaned"), "input") if verdict.check == "input"]

    assert [WRONG] * 3 == [verdict.status for verdict in found], found
    by_line = {verdict.line: verdict for verdict in found}
    assert "80,000 characters (   ...) in text takes " in by_line[6].evidence
    control = re.search(r" in regexp_replace\(text, '.*'\), a control record takes (\S+) s", by_line[6].evidence)
    assert control
    assert float(control[1]) < 10
    assert "limit the length" in by_line[6].fix
    assert "StackOverflowError: one record with " in by_line[7].evidence
    assert "in note overflows the stack in regexp_extract(note, '(.*?)*x') and ends the exec" in by_line[7].evidence
    assert " 0 rejected with their bytes, 0 dropped silently, " in found[-1].evidence
    assert "are broken: a null value (null), no text ({" in found[-1].evidence


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("from_csv(value, 'a string, n int', map('sep', '|')).n", ("csv", "struct<a:string,n:int>", "|")),
        ("try_cast(split(value, '\\\\|')[1] as int)", ("csv", "struct<column 1:string,column 2:bigint>", "|")),
        ("cast(null as array<int>)", ("", "struct<>", ",")),
        ("get_json_object(value, '$.place.city')", ("json", "struct<place:struct<city:string>>", ",")),
        ("from_json(value, 'map<string, string>')", ("other", "struct<>", ",")),
        ("try_cast(value as int)", ("other", "struct<>", ",")),
        ("upper(value)", ("", "struct<>", ",")),
    ],
)
def test_fields_are_read_from_the_plan(expression: str, expected: tuple[str, str, str], spark: SparkSession) -> None:
    values = spark.createDataFrame([("{}",)], "value string")

    found = decoding(values.select(F.expr(expression)))

    assert expected == (found.format, found.schema.simpleString(), found.separator)


def test_evaluation_that_takes_too_long_is_left_behind(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark cannot interrupt a regular expression, but `prove` continues."""
    monkeypatch.setattr("spark_rtm.prove.engine.bench.CANCEL_SECONDS", 0.1)
    spaces = F.concat(F.repeat(F.lit(" "), 40_000), F.lit("!"))
    rows = spark.range(1).select(F.regexp_replace(spaces, r"\s+$", ""))

    with pytest.raises(TimeoutError, match="look for a slow expression"):
        in_time(rows, rows.collect, 0.2)
    assert [] == in_time(rows, rows.limit(0).collect, 60)
